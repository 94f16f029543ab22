"""Who waits: the line in its order, with what each waits for, why, and when it should be over."""

from collections import Counter
from dataclasses import dataclass

from kubemoot_web.board.documents import waiter_sentence
from kubemoot_web.board.ids import dom_id
from kubemoot_web.board.marks import Mark, Palette
from kubemoot_web.board.reasons import because_of, drain_due_at
from kubemoot_web.board.times import Moment, moment, to_the_second
from scheduler.core import messages
from scheduler.core.config import SchedulerConfig
from scheduler.core.replica import Replica
from scheduler.core.snapshot import ClusterSnapshot
from scheduler.core.standing import Standing, standing_of, standings
from scheduler.core.types import Priority, TicketState

LONGEST = 20
"""How many waiters are shown. The number of the others is, and what they wait for."""
MOST_WANTED = 6
WHOLE = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """One call that waits. `turn` is empty where it has its place and only the load is missing.

    `server` is the one whose slot or load it waits for. `because` says what stands in the way, `expected` when that
    should be over, `drain_at` from when on a server is emptied for it.
    """

    id: str
    call: str
    agent: str
    crew: str
    turn: str
    mark: Mark | None
    server: str
    sentence: str
    because: str
    is_background: bool
    since: Moment | None
    until: Moment | None
    expected: Moment | None
    drain_at: Moment | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """How many calls wait for a model, as a number and as a bar of `share` hundredths."""

    mark: Mark
    count: int
    share: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """The calls that wait, at most so many as a page can show; `wanted` sums up a line that is longer than that."""

    count: int
    says: str
    rows: tuple[Waiting, ...]
    more: str
    wanted: tuple[Wanted, ...]
    empty: str


def line_of(*, replica: Replica, snapshot: ClusterSnapshot, config: SchedulerConfig, palette: Palette) -> Line:
    """List who waits: first whose model is loading already, then the line in its order."""
    shown, count = waiting_in_order(replica=replica, snapshot=snapshot, config=config, limit=LONGEST)
    rows = tuple(
        waiting_row(replica=replica, snapshot=snapshot, standing=standing, config=config, palette=palette)
        for standing in shown
    )
    return Line(
        count=count,
        says=messages.waiting_count(count=count),
        rows=rows,
        more=messages.more_wait(count=count - len(rows)) if count > len(rows) else "",
        wanted=_wanted([w.model for w in replica.waiting() if w.model], palette) if count > len(rows) else (),
        empty="" if rows else messages.nobody_waits(),
    )


def waiting_in_order(
    *, replica: Replica, snapshot: ClusterSnapshot, config: SchedulerConfig, limit: int
) -> tuple[tuple[Standing, ...], int]:
    """List who waits, at most so many: first whose model is loading already, then the line; and count them all.

    A call whose copy is ready waits for nothing any more, whether its caller has heard of it yet or not.
    """
    is_weighted = bool(replica.weights)
    loading = sorted(
        (waiter for waiter in replica.waiters.values() if _is_loading(replica, waiter.ticket)),
        key=lambda waiter: (waiter.arrived_at, waiter.id),
    )
    granted = tuple(
        standing_of(snapshot=snapshot, waiters=(), waiter=waiter, config=config, is_weighted=is_weighted)
        for waiter in loading[:limit]
    )
    queued = standings(
        snapshot=snapshot,
        waiters=replica.waiters.values(),
        config=config,
        is_weighted=is_weighted,
        limit=limit - len(granted),
    )
    return (*granted, *queued), len(loading) + len(replica.waiting())


def _is_loading(replica: Replica, ticket: str | None) -> bool:
    held = replica.tickets.get(ticket or "")
    return held is not None and held.state == TicketState.LOADING


def _wanted(models: list[str], palette: Palette) -> tuple[Wanted, ...]:
    most = Counter(models).most_common(MOST_WANTED)
    return tuple(
        Wanted(mark=palette.mark(model), count=count, share=max(1, round(WHOLE * count / most[0][1])))
        for model, count in most
    )


def waiting_row(
    *, replica: Replica, snapshot: ClusterSnapshot, standing: Standing, config: SchedulerConfig, palette: Palette
) -> Waiting:
    """Tell of one waiter."""
    waiter = standing.waiter
    ticket = replica.tickets.get(waiter.ticket or "")
    model = waiter.model if ticket is None else ticket.model
    if ticket is not None:
        sentence = messages.loading_on(model=ticket.model, server=ticket.server)
    else:
        sentence = waiter_sentence(standing)
    return Waiting(
        id=dom_id("waiter", waiter.id),
        call=waiter.id,
        agent=waiter.agent,
        crew=waiter.crew,
        turn=str(standing.position or ""),
        mark=palette.mark(model) if model else None,
        server=(waiter.server or "") if ticket is None else ticket.server,
        sentence=sentence,
        because="" if ticket is not None else because_of(snapshot=snapshot, waiter=waiter),
        is_background=waiter.priority == Priority.BACKGROUND,
        since=moment(waiter.arrived_at),
        until=moment(waiter.limit_at) if ticket is None else None,
        expected=None if standing.eta_s is None else to_the_second(snapshot.now + standing.eta_s),
        drain_at=None if ticket is not None else drain_due_at(snapshot=snapshot, waiter=waiter, config=config),
    )
