"""Who waits for one server: those who queue on it, and those whose models have a place there once there is room."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
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
    for waiter, places in _with_places(snapshot, waiters):
        if server in places:
            yield _in_queue(waiter, places, server)


def queues_of(*, snapshot: ClusterSnapshot, waiters: Iterable[Waiter]) -> Mapping[str, Sequence[InQueue]]:
    """List who waits for each server; a waiter stands in the queue of every one that it may come to."""
    queues: dict[str, list[InQueue]] = {name: [] for name in snapshot.servers}
    for waiter, places in _with_places(snapshot, waiters):
        for server in places:
            queues[server].append(_in_queue(waiter, places, server))
    return queues


def _in_queue(waiter: Waiter, places: Sequence[str], server: str) -> InQueue:
    elsewhere = tuple(name for name in places if name != server)
    return InQueue(waiter=waiter, elsewhere=elsewhere, is_cleared=not elsewhere)


def _with_places(snapshot: ClusterSnapshot, waiters: Iterable[Waiter]) -> Iterator[tuple[Waiter, Sequence[str]]]:
    """Name the servers that each waiter may come to: the one that it queues on, else all that could give it a place."""
    known: dict[object, tuple[str, ...]] = {}
    for waiter in waiters:
        if not waiter.is_waiting:
            continue
        if waiter.server is not None:
            yield waiter, (waiter.server,) if waiter.server in snapshot.servers else ()
            continue
        alike = (waiter.candidates, waiter.tolerance, waiter.prompt_tokens)
        if alike not in known:  # looked up once for those who wait alike
            known[alike] = tuple(place.name for place in places_of(snapshot=snapshot, waiter=waiter))
        yield waiter, known[alike]
