"""Who keeps calls from a server, in the books: operators, and the system in doubt."""

from dataclasses import replace

from scheduler.core.gate import Admission, AdmissionBy, AdmissionState, QuarantineCause, States
from scheduler.ports import UnknownServer
from tests.fakes.memory_books import Books


def admission_set(
    books: Books,
    server: str,
    new: Admission,
    *,
    when: States,
    since: float | None,
    trial: bool,
) -> bool:
    """Let calls be placed on a server, or keep them away; say whether that changed anything."""
    record = books.rows.servers.get(server)
    if record is None:
        raise UnknownServer(server)
    old = record.admission
    is_same = (new.state, new.reason, new.cause) == (old.state, old.reason, old.cause)
    is_other = bool(when and old.state not in when) or since not in (None, old.since)
    if _is_operators(old, new) or is_same or is_other:
        return False
    books.put("server", server, replace(record, admission=new))
    if trial:
        circuit = record.learned.circuit
        opened_at = books.now if circuit.opened_at is None else circuit.opened_at
        openings = max(circuit.openings, 1)
        books.put_circuit(server, openings=openings, opened_at=opened_at, rests_until=books.now)
    if new.state is AdmissionState.QUARANTINED:
        _take_back_unsent(books, server)
    _tell(books, server, new)
    books.finish()
    return True


def doubt(books: Books, server: str, cause: QuarantineCause) -> None:
    """Take a server out because nobody knows whether its engine still works, where its operator wants that."""
    record = books.rows.servers.get(server)
    new = Admission(state=AdmissionState.QUARANTINED, since=books.now, by=AdmissionBy.SYSTEM, cause=cause)
    if record is None or not record.config.quarantine_on_ambiguous or _is_operators(record.admission, new):
        return
    if record.admission != new:
        books.put("server", server, replace(record, admission=new))
        _take_back_unsent(books, server)
        _tell(books, server, new)


def _is_operators(old: Admission, new: Admission) -> bool:
    return new.by is AdmissionBy.SYSTEM and not old.is_open and old.by is AdmissionBy.OPERATOR


def _take_back_unsent(books: Books, server: str) -> None:
    for ticket in sorted(books.rows.tickets_on(server), key=lambda ticket: ticket.id):
        if ticket.waiter is not None:
            books.revoke(ticket, "quarantined")


def _tell(books: Books, server: str, new: Admission) -> None:
    event = {"server": server, "state": new.state, "reason": new.reason, "by": new.by, "cause": new.cause}
    books.emit("admission", event)
