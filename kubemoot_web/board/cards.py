"""A server as a card: how it is, its memory, its models with the calls that hold a place there."""

from dataclasses import dataclass

from kubemoot_web.board.condition import condition_of
from kubemoot_web.board.copies import Copy, copies_of
from kubemoot_web.board.ids import dom_id
from kubemoot_web.board.marks import Palette
from kubemoot_web.board.memory import Memory, memory_of
from kubemoot_web.board.times import Moment, moment
from scheduler.core import messages
from scheduler.core.ledger import ServerRecord
from scheduler.core.snapshot import ClusterSnapshot, Server
from scheduler.core.types import TicketState


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """Everything that the board says about one server. `doing` is the one line that a glance needs.

    `closed` says what keeps calls from it besides its health, until when in `closed_until`.
    """

    id: str
    name: str
    phase: str
    tone: str
    since: Moment | None
    problem: str
    closed: str
    closed_until: Moment | None
    is_fault: bool
    is_ready: bool
    is_known: bool
    as_of: str
    doing: str
    memory: Memory
    copies: tuple[Copy, ...]
    drain: str
    drain_since: Moment | None
    rest: str


def card_of(*, snapshot: ClusterSnapshot, server: Server, record: ServerRecord, palette: Palette) -> Card:
    """Make the card of one server."""
    seen = record.seen
    drain = server.drain
    condition = condition_of(record=record, server=server, now=snapshot.now)
    return Card(
        id=dom_id("server", server.name),
        name=server.name,
        phase=condition.word,
        tone=condition.tone,
        since=condition.since,
        problem=messages.server_problem(phase=seen.phase, detail=seen.detail),
        closed=condition.closed,
        closed_until=condition.until,
        is_fault=condition.is_fault,
        is_ready=server.ready,
        is_known=seen.phase != "pending",
        as_of="" if server.ready else messages.last_seen(phase=seen.phase),
        doing=_doing(server),
        memory=memory_of(snapshot=snapshot, server=server, palette=palette),
        copies=copies_of(snapshot=snapshot, server=server, palette=palette),
        drain=messages.draining_for(agent=drain.agent, model=drain.model, victims=drain.victims) if drain else "",
        drain_since=moment(drain.since) if drain else None,
        rest=_rest(server=server, record=record),
    )


def _doing(server: Server) -> str:
    states = [ticket.state for ticket in server.tickets]
    return messages.server_doing(
        running=states.count(TicketState.ACTIVE),
        held=states.count(TicketState.PLANNED),
        loading=len(server.loads),
        cap=server.max_concurrent,
    )


def _rest(*, server: Server, record: ServerRecord) -> str:
    if not server.blocked:
        return ""
    return messages.loads_rest(models=sorted(server.blocked), problem=record.learned.load_problem)
