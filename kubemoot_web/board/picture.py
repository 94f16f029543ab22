"""The board: everything that people see on it, as values. Equal values look the same and need not be sent again."""

from collections.abc import Sequence
from dataclasses import dataclass

from kubemoot_web.board.cards import Card, card_of
from kubemoot_web.board.choices import Choice, choices_of
from kubemoot_web.board.line import Line, line_of
from kubemoot_web.board.times import Moment, moment
from scheduler.core.call_history import CallRecord
from scheduler.core.config import SchedulerConfig
from scheduler.core.replica import Replica
from scheduler.core.types import TicketState


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """The numbers above everything else."""

    servers: int
    ready: int
    running: int
    loading: int
    waiting: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """The whole board at one moment. `problem` says why it may be old."""

    at: Moment | None
    problem: str
    summary: Summary
    cards: tuple[Card, ...]
    line: Line
    choices: tuple[Choice, ...]


def picture_of(
    *, replica: Replica, config: SchedulerConfig, calls: Sequence[CallRecord], now: float, problem: str = ""
) -> Picture:
    """Make the board of a replica and the newest calls."""
    snapshot = replica.snapshot(now=now)
    line = line_of(replica=replica, snapshot=snapshot, config=config)
    states = [ticket.state for ticket in replica.tickets.values()]
    return Picture(
        at=moment(now),
        problem=problem,
        summary=Summary(
            servers=len(snapshot.servers),
            ready=sum(1 for server in snapshot.servers.values() if server.is_open),
            running=states.count(TicketState.ACTIVE),
            loading=len(replica.loads),
            waiting=line.count,
        ),
        cards=tuple(
            card_of(snapshot=snapshot, server=server, record=replica.servers[name])
            for name, server in snapshot.servers.items()
        ),
        line=line,
        choices=choices_of(calls=calls),
    )
