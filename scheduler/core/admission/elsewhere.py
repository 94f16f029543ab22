"""Where else a call may run, once servers have failed it."""

from collections.abc import Collection, Sequence
from dataclasses import replace

from scheduler.core.admission.closed import places_of
from scheduler.core.snapshot import ClusterSnapshot
from scheduler.core.types import Candidate, Waiter


def is_elsewhere(*, snapshot: ClusterSnapshot, waiter: Waiter, failed: Collection[str]) -> bool:
    """Say whether any other server that takes calls has, or could hold, a model that the call accepts."""
    places = places_of(snapshot=snapshot, waiter=waiter)
    return any(server.is_open and server.name not in failed for server in places)


def kept_from(
    *, candidates: Sequence[Candidate], servers: Collection[str], failed: Collection[str]
) -> tuple[Candidate, ...]:
    """Bind candidates to the servers that have not failed."""
    good = frozenset(servers) - frozenset(failed)
    return tuple(
        replace(candidate, servers=good if candidate.servers is None else candidate.servers - frozenset(failed))
        for candidate in candidates
    )
