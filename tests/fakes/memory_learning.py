"""What a call's end teaches about its server, in the books."""

from dataclasses import replace

from scheduler.core.gate import Circuit
from scheduler.core.ledger import Lesson, Outcome
from scheduler.core.types import Ticket, TicketState
from tests.fakes.memory_books import Books, ease


def learn(books: Books, ticket: Ticket, *, outcome: Outcome, was_trial: bool) -> float | None:
    """Learn from how a call went; give how long it ran, when it did."""
    record = books.rows.servers.get(ticket.server)
    if record is None or ticket.state is not TicketState.ACTIVE:
        return None
    active_s = max(books.now - ticket.started_at, 0)
    if outcome.lesson is Lesson.NEITHER:
        return active_s
    learned, went_well = record.learned, outcome.lesson is Lesson.WELL
    usual = books.config.usual_call_s if learned.call_s is None else learned.call_s
    circuit = learned.circuit
    if went_well:
        if circuit.rests_until is not None:
            books.emit("circuit_closed", {"server": ticket.server, "opened_at": circuit.opened_at})
        circuit = Circuit()
    else:
        circuit = _failed(books, ticket.server, circuit, outcome.status, was_trial=was_trial)
    learned = replace(
        learned,
        call_s=ease(usual, active_s) if went_well else learned.call_s,
        success_rate=ease(1 if learned.success_rate is None else learned.success_rate, 1 if went_well else 0),
        circuit=circuit,
        answered_at=books.now if went_well else learned.answered_at,
    )
    books.put("server", ticket.server, replace(record, learned=learned))
    return active_s


def _failed(books: Books, server: str, circuit: Circuit, status: int | None, *, was_trial: bool) -> Circuit:
    if circuit.rests_until is not None and not was_trial:
        return circuit
    failed = replace(circuit, failures=circuit.failures + 1, status=status)
    if not was_trial and failed.failures < books.config.circuit_failures:
        return failed
    rest_s = min(books.config.circuit_rest_s * 2**circuit.openings, books.config.circuit_rest_max_s)
    opened_at = books.now if circuit.opened_at is None else circuit.opened_at
    rests_until = books.now + rest_s
    event = {"server": server, "failures": failed.failures, "status": status, "rests_until": rests_until}
    books.emit("circuit_opened", event)
    return replace(failed, openings=circuit.openings + 1, opened_at=opened_at, rests_until=rests_until)
