"""Who waits: the line in its order, with what each waits for."""

from dataclasses import dataclass

from kubemoot_web.board.documents import waiter_sentence
from kubemoot_web.board.times import Moment, moment
from scheduler.core import messages
from scheduler.core.config import SchedulerConfig
from scheduler.core.replica import Replica
from scheduler.core.snapshot import ClusterSnapshot
from scheduler.core.standing import Standing, standing_of, standings
from scheduler.core.types import Priority, TicketState

LONGEST = 50
"""How many waiters are shown. The number of the others is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """One call that waits. `turn` is empty where it has its place and only the load is missing."""

    agent: str
    crew: str
    turn: str
    sentence: str
    is_background: bool
    since: Moment | None
    until: Moment | None
    estimate: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """The calls that wait, at most so many as a page can show. `empty` is said where nobody does."""

    count: int
    says: str
    rows: tuple[Waiting, ...]
    more: str
    empty: str


def line_of(*, replica: Replica, snapshot: ClusterSnapshot, config: SchedulerConfig) -> Line:
    """List who waits: first whose model is loading already, then the line in its order."""
    is_weighted = bool(replica.weights)
    loading = sorted(
        (waiter for waiter in replica.waiters.values() if _is_loading(replica, waiter.ticket)),
        key=lambda waiter: (waiter.arrived_at, waiter.id),
    )
    granted = tuple(
        standing_of(snapshot=snapshot, waiters=(), waiter=waiter, config=config, is_weighted=is_weighted)
        for waiter in loading[:LONGEST]
    )
    queued = standings(
        snapshot=snapshot,
        waiters=replica.waiters.values(),
        config=config,
        is_weighted=is_weighted,
        limit=LONGEST - len(granted),
    )
    rows = tuple(_row(replica, standing) for standing in (*granted, *queued))
    count = len(loading) + len(replica.waiting())
    return Line(
        count=count,
        says=messages.waiting_count(count=count),
        rows=rows,
        more=messages.more_wait(count=count - len(rows)) if count > len(rows) else "",
        empty="" if rows else messages.nobody_waits(),
    )


def _is_loading(replica: Replica, ticket: str | None) -> bool:
    held = replica.tickets.get(ticket or "")
    return held is not None and held.state == TicketState.LOADING


def _row(replica: Replica, standing: Standing) -> Waiting:
    waiter = standing.waiter
    ticket = replica.tickets.get(waiter.ticket or "")
    if ticket is not None:
        sentence = messages.loading_on(model=ticket.model, server=ticket.server)
    else:
        sentence = waiter_sentence(standing) if waiter.model else messages.asking()
    return Waiting(
        agent=waiter.agent,
        crew=waiter.crew,
        turn=str(standing.position or ""),
        sentence=sentence,
        is_background=waiter.priority == Priority.BACKGROUND,
        since=moment(waiter.arrived_at),
        until=moment(waiter.limit_at) if ticket is None else None,
        estimate=messages.estimate(eta_s=standing.eta_s),
    )
