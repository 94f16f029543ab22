"""What would help somebody who waits: changes that a person could make, from the facts of the moment."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from scheduler.core.placement.caps import is_below_own_cap, is_group_full
from scheduler.core.rooms import Room, RoomKind, rooms_for
from scheduler.core.snapshot import ClusterSnapshot, Server
from scheduler.core.types import CallRequest, Priority, Waiter

SHOWN = 3
"""How many ways out are named. The best come first."""
BROKEN = {RoomKind.RESTS, RoomKind.CLOSED}
HAS = {RoomKind.RESIDENT, RoomKind.LOADING}
HAS_ROOM = {RoomKind.FREE, RoomKind.AFTER_UNLOAD}


@dataclass(frozen=True, slots=True, kw_only=True)
class MoreSlots:
    """Every slot of the copy is taken."""

    server: str
    model: str
    slots: int


@dataclass(frozen=True, slots=True, kw_only=True)
class HigherCap:
    """The server's own limit on calls holds, not the copy's slots. `is_reserve`: what it keeps for people alone."""

    server: str
    cap: int
    is_reserve: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class HigherGroupCap:
    """The cap that a server shares with the others of its resource group holds."""

    server: str
    group: str
    cap: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MoreMemory:
    """A server comes nearest to holding the model. Without a server, none could: it needs that much."""

    model: str
    need_mib: int
    server: str = ""
    lacks_mib: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerBack:
    """A server could take the model, were it ready."""

    server: str
    model: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadWorks:
    """The last load of the model on a server failed, and rests."""

    server: str
    model: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Pull:
    """A server has the memory, but not the model on disk."""

    server: str
    model: str
    usable_mib: int


@dataclass(frozen=True, slots=True, kw_only=True)
class KnowSize:
    """Nobody knows how large the model is, so nothing is loaded."""

    model: str


@dataclass(frozen=True, slots=True, kw_only=True)
class KnowMemory:
    """Nobody said how much memory a server has, so nothing is ever loaded there."""

    server: str
    model: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LongerLimit:
    """Its limit ends before its estimate does."""

    agent: str
    short_s: float


Caps = HigherCap | HigherGroupCap
Help = MoreSlots | Caps | MoreMemory | ServerBack | LoadWorks | Pull | KnowSize | KnowMemory | LongerLimit


def ways_out(*, snapshot: ClusterSnapshot, waiter: Waiter, rooms: Sequence[Room]) -> tuple[Help, ...]:
    """Name what would help a waiter, best first; nothing for one that has its place or was not decided yet.

    `rooms` is what the servers say to the model it waits for.

    1. The copy it queues on: another slot, or a higher cap where that of the server or its resource group holds.
    2. Another place for the model: a server with room where only a cap holds, one whose memory only has to be told, one
       that comes back, a load that works, more memory where the least is missing, the model on one more disk.
    """
    if not waiter.model or not waiter.needs_model:
        return ()
    found: list[Help] = []
    server = snapshot.servers.get(waiter.server or "")
    request = waiter.request()
    if server is not None:
        found.extend(_slot_help(snapshot=snapshot, server=server, model=waiter.model, request=request))
    roomy = (snapshot.servers[room.server] for room in rooms if room.kind in HAS_ROOM)
    capped = next(filter(None, (_caps(snapshot=snapshot, server=each, request=request) for each in roomy)), ())
    found.extend(way for way in capped if way not in found)
    found.extend(_room_help(snapshot=snapshot, rooms=rooms, model=waiter.model, others_than=waiter.server))
    return tuple(found[:SHOWN])


def ways_for(*, snapshot: ClusterSnapshot, waiter: Waiter) -> tuple[Help, ...]:
    """Name what would help one waiter, after asking every server."""
    candidate = next((c for c in waiter.candidates if c.model == waiter.model), None)
    if candidate is None:
        return ()
    return ways_out(snapshot=snapshot, waiter=waiter, rooms=rooms_for(snapshot=snapshot, candidate=candidate))


def longer_limit(*, waiter: Waiter, eta_s: float | None, now: float) -> LongerLimit | None:
    """Say that a waiter's time ends before its estimate does, and by how much; None where it does not."""
    left_s = max(waiter.limit_at - now, 0.0)
    if eta_s is None or eta_s <= left_s or not waiter.is_waiting:
        return None
    return LongerLimit(agent=waiter.agent, short_s=eta_s - left_s)


def _slot_help(
    *, snapshot: ClusterSnapshot, server: Server, model: str, request: CallRequest
) -> tuple[MoreSlots | Caps, ...]:
    caps = _caps(snapshot=snapshot, server=server, request=request)
    taken = len(server.counted(request, server.tickets_of.get(model, ())))
    if taken < server.slots and caps:
        return caps
    of_group = tuple(way for way in caps if isinstance(way, HigherGroupCap))
    return (MoreSlots(server=server.name, model=model, slots=server.slots), *of_group)


def _caps(*, snapshot: ClusterSnapshot, server: Server, request: CallRequest) -> tuple[Caps, ...]:
    """Name the limits on calls that hold there."""
    found: list[Caps] = []
    if not is_below_own_cap(server=server, request=request):
        is_reserve = _is_reserve(server, request)
        found.append(HigherCap(server=server.name, cap=server.max_concurrent or 0, is_reserve=is_reserve))
    group = server.resource_group
    if group is not None and is_group_full(snapshot=snapshot, server=server, request=request):
        found.append(HigherGroupCap(server=server.name, group=group.name, cap=group.max_concurrent))
    return tuple(found)


def _is_reserve(server: Server, request: CallRequest) -> bool:
    """Say whether a background call would have its place, were it somebody's who sits and waits."""
    if request.priority != Priority.BACKGROUND:
        return False
    return is_below_own_cap(server=server, request=replace(request, priority=Priority.INTERACTIVE))


def _is_shut_in(*, snapshot: ClusterSnapshot, room: Room) -> bool:
    """Say whether a server has the model, or soon will, and takes no calls."""
    return room.kind in HAS and not snapshot.servers[room.server].is_open


def _room_help(*, snapshot: ClusterSnapshot, rooms: Sequence[Room], model: str, others_than: str | None) -> list[Help]:
    others = [room for room in rooms if room.server != others_than]
    kinds = {room.kind for room in rooms}
    need = next((room.need_mib for room in rooms if room.need_mib is not None), None)
    if need is None:
        return [KnowSize(model=model)] if RoomKind.SIZE_UNKNOWN in kinds else []
    found: list[Help] = []
    untold = next((room for room in others if room.kind is RoomKind.MEMORY_UNKNOWN), None)
    if untold is not None:
        found.append(KnowMemory(server=untold.server, model=model))
    broken = next((room for room in others if room.kind in BROKEN or _is_shut_in(snapshot=snapshot, room=room)), None)
    if broken is not None:
        fix = LoadWorks if broken.kind is RoomKind.RESTS else ServerBack
        found.append(fix(server=broken.server, model=model))
    near = next((room for room in others if room.kind is RoomKind.IN_USE and room.lacks_mib), None)
    if near is not None:
        found.append(MoreMemory(model=model, need_mib=need, server=near.server, lacks_mib=near.lacks_mib or 0))
    elif not found:
        found.append(MoreMemory(model=model, need_mib=need))
    pull = max(
        (room for room in others if room.kind is RoomKind.NOT_ON_DISK and (room.usable_mib or 0) >= need),
        key=lambda room: (room.free_mib or 0, room.server),
        default=None,
    )
    if pull is not None:
        found.append(Pull(server=pull.server, model=model, usable_mib=pull.usable_mib or 0))
    return found
