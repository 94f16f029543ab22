"""Who leaves the line when an operator clears the queue of a server."""

from collections.abc import Iterable, Iterator

from scheduler.core.admission.closed import places_of
from scheduler.core.decisions import Reason
from scheduler.core.ledger import StandAsideChange
from scheduler.core.snapshot import ClusterSnapshot
from scheduler.core.types import Waiter


def cleared(*, snapshot: ClusterSnapshot, waiters: Iterable[Waiter], server: str) -> Iterator[StandAsideChange]:
    """End the waits of those who queue on a server, and of those who have no place but that server.

    Who was granted a place there does not wait any more: its call goes on. Who could run elsewhere waits on.
    """
    alone: dict[object, bool] = {}
    for waiter in waiters:
        if waiter.is_waiting and (waiter.server == server or _is_alone(snapshot, waiter, server, alone)):
            model = waiter.model or waiter.candidates[0].model
            yield StandAsideChange(waiter=waiter.id, reason=Reason.QUEUE_CLEARED.value, model=model)


def _is_alone(snapshot: ClusterSnapshot, waiter: Waiter, server: str, known: dict[object, bool]) -> bool:
    """Say whether a server is a waiter's only place; looked up once for those who wait alike."""
    alike = (waiter.candidates, waiter.tolerance, waiter.prompt_tokens)
    if alike not in known:
        names = [place.name for place in places_of(snapshot=snapshot, waiter=waiter)]
        known[alike] = names == [server]
    return known[alike]
