"""The board: everything that people see on it, as values. Equal values look the same and need not be sent again."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kubemoot_web.board.cards import Card, card_of
from kubemoot_web.board.choices import Choice, choices_of
from kubemoot_web.board.coming import Ahead, ahead_of
from kubemoot_web.board.ids import natural
from kubemoot_web.board.line import Line, line_of
from kubemoot_web.board.marks import Palette, palette_of
from kubemoot_web.board.times import Moment, moment
from scheduler.core.call_history import CallRecord
from scheduler.core.config import SchedulerConfig
from scheduler.core.ledger import ServerRecord
from scheduler.core.replica import Replica
from scheduler.core.snapshot import ClusterSnapshot, Server
from scheduler.core.types import TicketState


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """A server that is not as it should be, where its card is, and how it is."""

    id: str
    name: str
    phase: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """The numbers above everything else, and the servers that somebody should look at."""

    servers: int
    ready: int
    running: int
    loading: int
    waiting: int
    troubles: tuple[Trouble, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """The whole board at one moment. `problem` says why it may be old."""

    at: Moment | None
    problem: str
    summary: Summary
    ahead: Ahead
    cards: tuple[Card, ...]
    line: Line
    choices: tuple[Choice, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """A card with what it was made of."""

    server: Server
    record: ServerRecord
    card: Card


def picture_of(
    *,
    replica: Replica,
    config: SchedulerConfig,
    calls: Sequence[CallRecord],
    now: float,
    problem: str = "",
    drawn: dict[str, Drawn] | None = None,
) -> Picture:
    """Make the board of a replica and the newest calls.

    `drawn` remembers the cards from one picture to the next, so that of many servers only those that changed are drawn.
    """
    snapshot = replica.snapshot(now=now)
    palette = palette_of(replica)
    line = line_of(replica=replica, snapshot=snapshot, config=config, palette=palette)
    cards = _cards(snapshot=snapshot, records=replica.servers, palette=palette, drawn={} if drawn is None else drawn)
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
            troubles=tuple(
                Trouble(id=card.id, name=card.name, phase=card.phase) for card in cards if card.tone in ("warn", "bad")
            ),
        ),
        ahead=ahead_of(snapshot=snapshot, line=line, palette=palette),
        cards=cards,
        line=line,
        choices=choices_of(calls=calls, palette=palette),
    )


def _cards(
    *, snapshot: ClusterSnapshot, records: Mapping[str, ServerRecord], palette: Palette, drawn: dict[str, Drawn]
) -> tuple[Card, ...]:
    for name in [name for name in drawn if name not in snapshot.servers]:
        del drawn[name]
    for name, server in snapshot.servers.items():
        kept = drawn.get(name)
        if kept is None or kept.server is not server or kept.record is not records[name] or _moves(server, kept.card):
            card = card_of(snapshot=snapshot, server=server, record=records[name], palette=palette)
            drawn[name] = Drawn(server=server, record=records[name], card=card)
    return tuple(drawn[name].card for name in sorted(snapshot.servers, key=natural))


def _moves(server: Server, card: Card) -> bool:
    """Say whether a card changes although its server does not: a load goes on, a size becomes known elsewhere."""
    return bool(server.loads) or card.memory.is_unsure
