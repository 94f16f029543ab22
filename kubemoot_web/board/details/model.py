"""One model: where it is, where it would fit and where never, who may use it, how it was used."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from kubemoot_web.board.details.call_rows import CallRow, rows_of
from kubemoot_web.board.details.models import size_of
from kubemoot_web.board.ids import dom_id
from kubemoot_web.board.marks import Mark, palette_of
from kubemoot_web.board.times import Moment, moment
from scheduler.core import messages
from scheduler.core.call_history import CallRecord
from scheduler.core.calls import AgentUse
from scheduler.core.messages.rooms import room_sentence, room_word
from scheduler.core.replica import Replica
from scheduler.core.rooms import NEVER, POSSIBLE, Room, RoomKind, rooms_for
from scheduler.core.snapshot import ClusterSnapshot
from scheduler.core.types import Candidate

HOURS = 24
HOUR_S = 3600
WHOLE = 100
NAMED_HOURS = 6
TONES = {
    RoomKind.RESIDENT: "good",
    RoomKind.LOADING: "busy",
    RoomKind.FREE: "good",
    RoomKind.AFTER_UNLOAD: "good",
    RoomKind.IN_USE: "warn",
    RoomKind.DRAINING: "warn",
    RoomKind.RESTS: "bad",
    RoomKind.CLOSED: "bad",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Registration:
    """What operators said of a model: the union of its Model objects' labels, and where they bind it to."""

    names: Sequence[str] = ()
    labels: Mapping[str, str] | None = None
    servers: frozenset[str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """What one server says to the model. `slots` where it is in memory, `until` where it rests."""

    id: str
    server: str
    word: str
    tone: str
    says: str
    slots: str
    until: Moment | None
    need_share: int | None
    free_share: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Hour:
    """How many calls came in within an hour, as a number and as a bar of `share` hundredths."""

    at: Moment | None
    words: str
    count: int
    share: int
    top: int
    x: str
    is_named: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    """An agent that may use the model, in these phases."""

    agent: str
    crew: str
    uses: tuple[AgentUse, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSheet:
    """Everything about one model. `chances` counts the servers that have it or could take it, `never` lists the others
    that cannot as things are registered.
    """

    name: str
    mark: Mark
    size: str
    registration: Registration
    labels: tuple[tuple[str, str], ...]
    waiting: int
    selected: int
    places: tuple[Where, ...]
    never: tuple[Where, ...]
    servers: int
    chances: int
    hours: tuple[Hour, ...]
    total: int
    users: tuple[User, ...]
    calls: tuple[CallRow, ...]


def begin_of_hours(now: float) -> float:
    """Give the beginning of the first hour that is shown."""
    return now // HOUR_S * HOUR_S - (HOURS - 1) * HOUR_S


def model_sheet_of(
    *,
    replica: Replica,
    name: str,
    registration: Registration,
    by_hour: Mapping[float, int],
    calls: Sequence[CallRecord],
    keys: Mapping[str, str],
    uses: Sequence[AgentUse],
    now: float,
) -> ModelSheet | None:
    """Show a model that anybody has heard of; None for any other name. `keys` are the names of its calls' keys."""
    snapshot = replica.snapshot(now=now)
    palette = palette_of(replica)
    on_disk = any(name in (record.seen.models or ()) for record in replica.servers.values())
    in_memory = any(True for _ in snapshot.holding(name))
    demand = snapshot.demand_of(name)
    is_known = registration.names or in_memory or on_disk or calls or uses or demand.waiting
    if not is_known:
        return None
    rooms = rooms_for(snapshot=snapshot, candidate=Candidate(model=name, score=0, servers=registration.servers))
    hours = _hours(by_hour, now=now)
    return ModelSheet(
        name=name,
        mark=palette.mark(name),
        size=size_of(snapshot, name),
        registration=registration,
        labels=tuple(sorted((registration.labels or {}).items())),
        waiting=len(demand.waiting),
        selected=len(demand.intents),
        places=tuple(
            _where(replica=replica, snapshot=snapshot, room=room, model=name)
            for room in rooms
            if room.kind not in NEVER
        ),
        never=tuple(
            _where(replica=replica, snapshot=snapshot, room=room, model=name) for room in rooms if room.kind in NEVER
        ),
        servers=len(rooms),
        chances=sum(room.kind in POSSIBLE for room in rooms),
        hours=hours,
        total=sum(hour.count for hour in hours),
        users=tuple(
            User(agent=agent, crew=crew, uses=tuple(group))
            for (agent, crew), group in groupby(uses, key=lambda use: (use.agent, use.crew))
        ),
        calls=rows_of(calls=calls, keys=keys, palette=palette, now=now),
    )


def _where(*, replica: Replica, snapshot: ClusterSnapshot, room: Room, model: str) -> Where:
    server = snapshot.servers[room.server]
    until = replica.servers[room.server].learned.blocked_until.get(model)
    tickets = server.tickets_of.get(model, ())
    is_here = room.kind is RoomKind.RESIDENT
    whole = None if room.usable_mib is None else max(room.usable_mib, room.need_mib or 0)
    return Where(
        id=dom_id("where", room.server),
        server=room.server,
        word=room_word(kind=room.kind),
        tone=TONES.get(room.kind, ""),
        says=room_sentence(room=room, model=model),
        slots=messages.slots_used(used=len(tickets), slots=server.slots) if is_here else "",
        until=moment(until) if room.kind is RoomKind.RESTS else None,
        need_share=_share(room.need_mib, whole),
        free_share=_share(room.free_mib, whole),
    )


def _share(mib: int | None, whole: int | None) -> int | None:
    if mib is None or not whole:
        return None
    return max(0, min(WHOLE, round(WHOLE * mib / whole)))


def _hours(by_hour: Mapping[float, int], *, now: float) -> tuple[Hour, ...]:
    begin = begin_of_hours(now)
    starts = [begin + HOUR_S * number for number in range(HOURS)]
    most = max((by_hour.get(start, 0) for start in starts), default=0) or 1
    return tuple(
        _hour(start=start, number=number, count=by_hour.get(start, 0), most=most) for number, start in enumerate(starts)
    )


def _hour(*, start: float, number: int, count: int, most: int) -> Hour:
    share = max(round(WHOLE * count / most), 2) if count else 0
    return Hour(
        at=moment(start),
        words=f"{int(start // HOUR_S % HOURS):02}:00",
        count=count,
        share=share,
        top=WHOLE - share,
        x=f"{WHOLE * number / HOURS:.2f}%",
        is_named=number % NAMED_HOURS == 0,
    )
