"""Where a model has room: what each server says to a model now, and what would have to change there.

It asks the same filters as the decision does, for nobody in particular: no call, no prompt, no drain of one's own.
"""

from dataclasses import dataclass
from enum import IntEnum

from scheduler.core.placement import fit
from scheduler.core.placement.eviction import fewest_least_needed, idle_victims
from scheduler.core.snapshot import ClusterSnapshot, Server
from scheduler.core.types import CallRequest, Candidate


class RoomKind(IntEnum):
    """What a server says to a model, the best answer first."""

    RESIDENT = 0
    LOADING = 1
    FREE = 2
    AFTER_UNLOAD = 3
    IN_USE = 4
    DRAINING = 5
    RESTS = 6
    CLOSED = 7
    SIZE_UNKNOWN = 8
    MEMORY_UNKNOWN = 9
    NOT_ON_DISK = 10
    TOO_LARGE = 11
    BOUND_ELSEWHERE = 12
    CANNOT_LOAD = 13


POSSIBLE = frozenset({RoomKind.RESIDENT, RoomKind.LOADING, RoomKind.FREE, RoomKind.AFTER_UNLOAD, RoomKind.IN_USE})
"""The answers of a server that works and could hold the model, now or as soon as calls there have ended."""

NEVER = frozenset({RoomKind.NOT_ON_DISK, RoomKind.TOO_LARGE, RoomKind.BOUND_ELSEWHERE, RoomKind.CANNOT_LOAD})
"""The answers that stay what they are until somebody changes something."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """What one server says to one model, with the numbers behind it. None is what nobody knows.

    `unloads` are the models that would have to go; those of `RoomKind.IN_USE` are used or waited for.
    """

    server: str
    kind: RoomKind
    need_mib: int | None
    free_mib: int | None
    usable_mib: int | None
    unloads: tuple[str, ...] = ()

    @property
    def lacks_mib(self) -> int | None:
        """Say how much memory is missing now."""
        if self.need_mib is None or self.free_mib is None:
            return None
        return max(self.need_mib - self.free_mib, 0)


def room_on(*, snapshot: ClusterSnapshot, server: Server, candidate: Candidate) -> Room:
    """Ask a server what it says to a model.

    1. It has it, or is loading it.
    2. It never will, as things are registered.
    3. It may not now, whatever the memory.
    4. It has the memory: free, held by models that may go, or held by models that may not.
    """
    model = candidate.model
    kind, unloads = _kind(snapshot=snapshot, server=server, candidate=candidate)
    return Room(
        server=server.name,
        kind=kind,
        need_mib=snapshot.footprint(server=server, model=model),
        free_mib=snapshot.free_mib(server),
        usable_mib=server.usable_mib,
        unloads=unloads,
    )


def rooms_for(*, snapshot: ClusterSnapshot, candidate: Candidate) -> tuple[Room, ...]:
    """Ask every server, the best answer first."""
    rooms = [room_on(snapshot=snapshot, server=server, candidate=candidate) for server in snapshot.servers.values()]
    return tuple(sorted(rooms, key=lambda room: (room.kind, room.lacks_mib or 0, room.server)))


def _kind(*, snapshot: ClusterSnapshot, server: Server, candidate: Candidate) -> tuple[RoomKind, tuple[str, ...]]:
    model = candidate.model
    # 1.
    if model in server.warm:
        return RoomKind.RESIDENT, ()
    if model in server.loading:
        return RoomKind.LOADING, ()
    # 2. and 3.
    closed = _never(snapshot=snapshot, server=server, candidate=candidate) or _not_now(server=server, model=model)
    if closed is not None:
        return closed, ()
    # 4.
    need, free = snapshot.footprint(server=server, model=model), snapshot.free_mib(server)
    if need is None or free is None:
        return RoomKind.SIZE_UNKNOWN, ()
    if need <= free:
        return RoomKind.FREE, ()
    return _unloading(snapshot=snapshot, server=server, candidate=candidate, room_mib=need - free)


def _never(*, snapshot: ClusterSnapshot, server: Server, candidate: Candidate) -> RoomKind | None:
    if not candidate.may_run_on(server.name):
        return RoomKind.BOUND_ELSEWHERE
    if not server.can_load:
        return RoomKind.CANNOT_LOAD
    need = snapshot.footprint(server=server, model=candidate.model)
    if need is not None and server.usable_mib is not None and need > server.usable_mib:
        return RoomKind.TOO_LARGE
    if not fit.may_hold(server=server, candidate=candidate):
        return RoomKind.NOT_ON_DISK
    return RoomKind.MEMORY_UNKNOWN if server.usable_mib is None else None


def _not_now(*, server: Server, model: str) -> RoomKind | None:
    if not server.is_open:
        return RoomKind.CLOSED
    if model in server.blocked:
        return RoomKind.RESTS
    if server.drain is not None and server.drain.model != model:
        return RoomKind.DRAINING
    return RoomKind.IN_USE if model in server.leaving or model in server.lost else None


def _unloading(
    *, snapshot: ClusterSnapshot, server: Server, candidate: Candidate, room_mib: int
) -> tuple[RoomKind, tuple[str, ...]]:
    request = CallRequest(agent="", candidates=(candidate,))
    idle = idle_victims(snapshot=snapshot, server=server, request=request, granted=frozenset())
    victims = fewest_least_needed(victims=idle, room_mib=room_mib)
    if victims is not None:
        return RoomKind.AFTER_UNLOAD, tuple(victim.model for victim in victims)
    may_go = {victim.model for victim in idle}
    copies = (*(copy.model for copy in server.warm_copies), *server.loading)
    return RoomKind.IN_USE, tuple(copy for copy in copies if copy not in may_go)
