"""Which servers take no calls although they are there, and who waits for just these."""

from collections.abc import Iterator
from dataclasses import dataclass

from scheduler.core.admission.ambiguity import work_ends_within_s
from scheduler.core.decisions import Reason
from scheduler.core.gate import AMBIGUOUS, AdmissionBy, AdmissionState, Circuit
from scheduler.core.ledger import ServerRecord
from scheduler.core.messages import admission as messages
from scheduler.core.placement import fit
from scheduler.core.snapshot import ClusterSnapshot, Server
from scheduler.core.types import Candidate, TicketState, Waiter


@dataclass(frozen=True, slots=True, kw_only=True)
class Closed:
    """Why a server takes no calls: `kind`, since when, until when where that is known, and why in words."""

    kind: str
    since: float
    until: float | None
    sentence: str


def closed_by(*, record: ServerRecord, server: Server, now: float) -> Closed | None:
    """Say what keeps calls from a server, its health aside; None where nothing does.

    `kind` is the state of its admission, `drained` once nothing runs there any more, or `circuit`.
    """
    said = record.admission
    running = len(running_on(server))
    match said.state:
        case AdmissionState.OPEN:
            return _resting(circuit=record.learned.circuit, now=now)
        case AdmissionState.PAUSED:
            kind, sentence = said.state.value, messages.paused(reason=said.reason)
        case AdmissionState.DRAINING:
            kind = said.state.value if running else "drained"
            sentence = messages.draining(reason=said.reason, running=running)
        case AdmissionState.QUARANTINED if said.cause in AMBIGUOUS:
            return _in_doubt(record=record, is_running=bool(running), now=now)
        case AdmissionState.QUARANTINED:
            is_operators = said.by is AdmissionBy.OPERATOR
            kind, sentence = said.state.value, messages.quarantined(reason=said.reason, by_operator=is_operators)
    return Closed(kind=kind, since=said.since, until=None, sentence=sentence)


def _in_doubt(*, record: ServerRecord, is_running: bool, now: float) -> Closed:
    said, rest_s = record.admission, work_ends_within_s(record.config)
    assert said.cause is not None
    ends_at = said.since + rest_s
    return Closed(
        kind=said.state.value,
        since=said.since,
        until=ends_at if now < ends_at and not is_running else None,
        sentence=messages.in_doubt(cause=said.cause, rest_s=rest_s),
    )


def running_on(server: Server) -> tuple[str, ...]:
    """Name what keeps a server from being drained: calls, and loads without any. A place held for a call does not."""
    calls = tuple(ticket for ticket in server.tickets if ticket.state is not TicketState.PLANNED)
    models = {ticket.model for ticket in calls}
    return (*(ticket.id for ticket in calls), *(load.model for load in server.loads if load.model not in models))


def _resting(*, circuit: Circuit, now: float) -> Closed | None:
    if circuit.rests_until is None or circuit.opened_at is None:
        return None
    failures = circuit.failures
    if now < circuit.rests_until:
        sentence = messages.circuit_rests(failures=failures, status=circuit.status)
        return Closed(kind="circuit", since=circuit.opened_at, until=circuit.rests_until, sentence=sentence)
    sentence = messages.circuit_tried(failures=failures)
    return Closed(kind="circuit", since=circuit.opened_at, until=None, sentence=sentence)


def closed_places(*, snapshot: ClusterSnapshot, waiter: Waiter) -> tuple[str, ...]:
    """Name the servers that a waiter's models could run on, where none of them takes calls now; else nobody."""
    places = places_of(snapshot=snapshot, waiter=waiter)
    return () if any(server.is_open for server in places) else tuple(server.name for server in places)


def places_of(*, snapshot: ClusterSnapshot, waiter: Waiter) -> tuple[Server, ...]:
    """List the servers, open or not, that have or could ever hold one of a waiter's models, with its prompt."""
    names = {server.name: server for server, _ in _places(snapshot=snapshot, waiter=waiter)}
    return tuple(names.values())


def why_not_placed(*, snapshot: ClusterSnapshot, waiter: Waiter) -> Reason:
    """Say why a wait ends without a place: its servers are busy, none of them takes a call for its models now, or those
    that do would have to load one of a size that nobody knows.
    """
    places = tuple(_places(snapshot=snapshot, waiter=waiter))
    takes = [
        (server, each) for server, each in places if server.is_open and not _rests(server=server, model=each.model)
    ]
    if not takes:
        return Reason.GPU_CLOSED if places else Reason.GPU_BUSY
    is_unsized = all(_is_unsized(snapshot=snapshot, server=server, model=each.model) for server, each in takes)
    return Reason.SIZE_UNKNOWN if is_unsized else Reason.GPU_BUSY


def _places(*, snapshot: ClusterSnapshot, waiter: Waiter) -> Iterator[tuple[Server, Candidate]]:
    request = waiter.request()
    for server in snapshot.servers.values():
        for candidate in request.acceptable:
            if server.fits_prompt(model=candidate.model, prompt_tokens=request.prompt_tokens) and fit.is_place(
                snapshot=snapshot, server=server, candidate=candidate
            ):
                yield server, candidate


def _is_unsized(*, snapshot: ClusterSnapshot, server: Server, model: str) -> bool:
    """Say whether a model would have to be loaded on a server, and cannot be, because its size is not known."""
    is_here = model in server.warm or model in server.loading
    return not is_here and snapshot.footprint(server=server, model=model) is None


def _rests(*, server: Server, model: str) -> bool:
    """Say whether a model has no copy on a server, and its loads rest there because they failed."""
    return model in server.blocked and model not in server.warm and model not in server.loading
