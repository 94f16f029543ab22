"""Which servers take no calls although they are there, and who waits for just these."""

from dataclasses import dataclass

from scheduler.core.ledger import ServerRecord
from scheduler.core.messages.admission import circuit_rests, circuit_tried
from scheduler.core.placement import fit
from scheduler.core.snapshot import ClusterSnapshot
from scheduler.core.types import Waiter


@dataclass(frozen=True, slots=True, kw_only=True)
class Closed:
    """Why a server takes no calls: `kind`, since when, until when where that is known, and why in words."""

    kind: str
    since: float
    until: float | None
    sentence: str


def closed_by(*, record: ServerRecord, now: float) -> Closed | None:
    """Say what keeps calls from a server, its health aside; None where nothing does."""
    circuit = record.learned.circuit
    if circuit.rests_until is None or circuit.opened_at is None:
        return None
    failures, rests_s = circuit.failures, circuit.rests_until - now
    if rests_s > 0:
        sentence = circuit_rests(failures=failures, status=circuit.status, rests_s=rests_s)
        return Closed(kind="circuit", since=circuit.opened_at, until=circuit.rests_until, sentence=sentence)
    return Closed(kind="circuit", since=circuit.opened_at, until=None, sentence=circuit_tried(failures=failures))


def closed_places(*, snapshot: ClusterSnapshot, waiter: Waiter) -> tuple[str, ...]:
    """Name the servers that a waiter's models could run on, where none of them takes calls now; else nobody."""
    request = waiter.request()
    places = [
        server
        for server in snapshot.servers.values()
        if any(
            server.fits_prompt(model=candidate.model, prompt_tokens=request.prompt_tokens)
            and fit.is_place(snapshot=snapshot, server=server, candidate=candidate)
            for candidate in request.acceptable
        )
    ]
    return () if any(server.is_open for server in places) else tuple(server.name for server in places)
