"""Who leaves the line when an operator clears the queue of a server."""

from collections.abc import Iterable, Iterator

from scheduler.core.admission.queue import queue_of
from scheduler.core.decisions import Reason
from scheduler.core.ledger import StandAsideChange
from scheduler.core.snapshot import ClusterSnapshot
from scheduler.core.types import Waiter


def cleared(*, snapshot: ClusterSnapshot, waiters: Iterable[Waiter], server: str) -> Iterator[StandAsideChange]:
    """End the waits of those who queue on a server, and of those who have no place but that server.

    Who was granted a place there does not wait any more: its call goes on. Who could run elsewhere waits on.
    """
    for found in queue_of(snapshot=snapshot, waiters=waiters, server=server):
        if found.is_cleared:
            waiter = found.waiter
            model = waiter.model or waiter.candidates[0].model
            yield StandAsideChange(waiter=waiter.id, reason=Reason.QUEUE_CLEARED.value, model=model)
