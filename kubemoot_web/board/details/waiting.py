"""The waiting page: the whole line, and for each who waits what would help."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kubemoot_web.board.line import Waiting, waiting_in_order, waiting_row
from kubemoot_web.board.marks import Mark, Palette, palette_of
from kubemoot_web.board.times import Moment, moment
from scheduler.core import messages
from scheduler.core.config import SchedulerConfig
from scheduler.core.helping import longer_limit, ways_out
from scheduler.core.messages.helping import helps
from scheduler.core.replica import Replica
from scheduler.core.rooms import Room, rooms_for
from scheduler.core.snapshot import ClusterSnapshot
from scheduler.core.standing import Standing
from scheduler.core.types import Candidate, Waiter

LONGEST = 50
"""How many waiters are shown. The number of the others is."""
WHOLE = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Helped:
    """One call that waits: as on the board, with what would help, and with how much longer its limit would have to be.

    `is_as_above`: the same would help as for the one before it.
    """

    row: Waiting
    ways: tuple[str, ...]
    is_as_above: bool
    limit: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """A model that calls wait for: how many, as a bar too, and since when the first does."""

    mark: Mark
    count: int
    share: int
    since: Moment | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Drained:
    """A server that is emptied for somebody."""

    server: str
    says: str
    since: Moment | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingRoom:
    """Everybody who waits."""

    count: int
    says: str
    helped: tuple[Helped, ...]
    more: str
    wishes: tuple[Wish, ...]
    drains: tuple[Drained, ...]
    empty: str


def waiting_room_of(*, replica: Replica, config: SchedulerConfig, now: float) -> WaitingRoom:
    """Show the line: first whose model is loading already, then the others in their order."""
    snapshot = replica.snapshot(now=now)
    palette = palette_of(replica)
    shown, count = waiting_in_order(replica=replica, snapshot=snapshot, config=config, limit=LONGEST)
    rooms: dict[Candidate, tuple[Room, ...]] = {}
    helped: list[Helped] = []
    for standing in shown:
        row = waiting_row(replica=replica, snapshot=snapshot, standing=standing, config=config, palette=palette)
        before = helped[-1].ways if helped else ()
        helped.append(helped_of(snapshot=snapshot, standing=standing, row=row, rooms=rooms, before=before))
    return WaitingRoom(
        count=count,
        says=messages.waiting_count(count=count),
        helped=tuple(helped),
        more=messages.more_wait(count=count - len(helped)) if count > len(helped) else "",
        wishes=_wishes(replica.waiting(), palette),
        drains=_drains(snapshot),
        empty="" if helped else messages.nobody_waits(),
    )


def helped_of(
    *,
    snapshot: ClusterSnapshot,
    standing: Standing,
    row: Waiting,
    rooms: dict[Candidate, tuple[Room, ...]],
    before: tuple[str, ...],
) -> Helped:
    """Say what would help one waiter; `rooms` remembers what servers said to a candidate, for the next waiter."""
    waiter = standing.waiter
    candidate = next((c for c in waiter.candidates if c.model == waiter.model), None)
    ways: tuple[str, ...] = ()
    if candidate is not None:
        if candidate not in rooms:
            rooms[candidate] = rooms_for(snapshot=snapshot, candidate=candidate)
        found = ways_out(snapshot=snapshot, waiter=waiter, rooms=rooms[candidate])
        ways = tuple(helps(way=way) for way in found)
    short = longer_limit(waiter=waiter, eta_s=standing.eta_s, now=snapshot.now)
    return Helped(
        row=row, ways=ways, is_as_above=bool(ways) and ways == before, limit="" if short is None else helps(way=short)
    )


def _wishes(waiting: Iterable[Waiter], palette: Palette) -> tuple[Wish, ...]:
    since: dict[str, list[float]] = {}
    for waiter in waiting:
        if waiter.model:
            since.setdefault(waiter.model, []).append(waiter.arrived_at)
    most = max((len(times) for times in since.values()), default=1)
    order: Sequence[tuple[str, list[float]]] = sorted(since.items(), key=lambda entry: (-len(entry[1]), entry[0]))
    return tuple(
        Wish(
            mark=palette.mark(model),
            count=len(times),
            share=max(1, round(WHOLE * len(times) / most)),
            since=moment(min(times)),
        )
        for model, times in order
    )


def _drains(snapshot: ClusterSnapshot) -> tuple[Drained, ...]:
    return tuple(
        Drained(
            server=server.name,
            says=messages.draining_for(
                agent=server.drain.agent, model=server.drain.model, victims=server.drain.victims
            ),
            since=moment(server.drain.since),
        )
        for server in snapshot.servers.values()
        if server.drain is not None
    )
