"""Who waits for one server: those who queue on it, and those whose models have a place there once there is room."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from scheduler.core.admission.closed import places_of
from scheduler.core.snapshot import ClusterSnapshot
from scheduler.core.types import Waiter


@dataclass(frozen=True, slots=True, kw_only=True)
class InQueue:
    """One who waits for a server. `elsewhere` are the other servers that it may come to instead.

    `is_cleared`: it is sent away when an operator clears the queue, for it queues here or has no other place.
    """

    waiter: Waiter
    elsewhere: tuple[str, ...]
    is_cleared: bool


def queue_of(*, snapshot: ClusterSnapshot, waiters: Iterable[Waiter], server: str) -> Iterator[InQueue]:
    """List who waits for a server, as they come. Who was granted a place there does not wait any more."""
    known: dict[object, tuple[str, ...]] = {}
    for waiter in waiters:
        if not waiter.is_waiting:
            continue
        if waiter.server is not None:
            if waiter.server == server:
                yield InQueue(waiter=waiter, elsewhere=(), is_cleared=True)
            continue
        alike = (waiter.candidates, waiter.tolerance, waiter.prompt_tokens)
        if alike not in known:  # looked up once for those who wait alike
            known[alike] = tuple(place.name for place in places_of(snapshot=snapshot, waiter=waiter))
        places = known[alike]
        if server in places:
            elsewhere = tuple(name for name in places if name != server)
            yield InQueue(waiter=waiter, elsewhere=elsewhere, is_cleared=not elsewhere)
