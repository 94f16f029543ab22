"""A server as a card: how it is, its memory, its models, the loads under way, the calls that hold a place there."""

from dataclasses import dataclass

from kubemoot_web.board.ids import dom_id
from kubemoot_web.board.memory import Memory, memory_of
from kubemoot_web.board.times import Moment, moment
from scheduler.core import messages
from scheduler.core.ledger import ServerRecord
from scheduler.core.placement.estimates import load_seconds, rest_of_load
from scheduler.core.snapshot import ClusterSnapshot, Resident, Server
from scheduler.core.types import Ticket, TicketState

TONES = {"ready": "good", "pending": "busy", "degraded": "warn", "stale": "warn"}
ALMOST = 99


@dataclass(frozen=True, slots=True, kw_only=True)
class Copy:
    """A model in memory, with its slots: `taken` and `held` of them, `open` are free."""

    model: str
    size: str
    note: str
    slots: str
    taken: range
    held: range
    open: range


@dataclass(frozen=True, slots=True, kw_only=True)
class Loading:
    """A model on its way into memory. Without a percentage it is only wanted there: nobody loads it yet."""

    model: str
    size: str
    state: str
    percent: int | None
    says: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A ticket: who holds a place here, for what, since when."""

    agent: str
    state: str
    kind: str
    since: Moment | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """Everything that the board says about one server."""

    id: str
    name: str
    phase: str
    tone: str
    since: Moment | None
    problem: str
    is_ready: bool
    is_known: bool
    as_of: str
    memory: Memory
    copies: tuple[Copy, ...]
    loads: tuple[Loading, ...]
    places: tuple[Place, ...]
    drain: str
    drain_since: Moment | None
    rest: str


def card_of(*, snapshot: ClusterSnapshot, server: Server, record: ServerRecord) -> Card:
    """Make the card of one server."""
    seen = record.seen
    drain = server.drain
    return Card(
        id=dom_id("server", server.name),
        name=server.name,
        phase=messages.server_phase(phase=seen.phase),
        tone=TONES.get(seen.phase, "bad"),
        since=moment(seen.since),
        problem=messages.server_problem(phase=seen.phase, detail=seen.detail),
        is_ready=server.is_open,
        is_known=seen.phase != "pending",
        as_of="" if server.is_open else messages.last_seen(phase=seen.phase),
        memory=memory_of(snapshot=snapshot, server=server),
        copies=tuple(
            _copy(snapshot=snapshot, server=server, resident=resident)
            for resident in server.residents
            if resident.model not in server.loading
        ),
        loads=tuple(
            _loading(snapshot=snapshot, server=server, model=model) for model in (*server.loading, *sorted(server.lost))
        ),
        places=tuple(_place(ticket) for ticket in server.tickets),
        drain=messages.draining_for(agent=drain.agent, model=drain.model, victims=drain.victims) if drain else "",
        drain_since=moment(drain.since) if drain else None,
        rest=_rest(server=server, record=record),
    )


def _copy(*, snapshot: ClusterSnapshot, server: Server, resident: Resident) -> Copy:
    tickets = server.tickets_of.get(resident.model, ())
    held = sum(1 for ticket in tickets if ticket.state == TicketState.PLANNED)
    mib = snapshot.footprint(server=server, model=resident.model)
    notes = (
        messages.being_unloaded() if resident.model in server.spent else "",
        messages.spilling() if resident.spilling else "",
    )
    return Copy(
        model=resident.model,
        size="size unknown" if mib is None else messages.size(mib),
        note=", ".join(note for note in notes if note),
        slots=messages.slots_used(used=len(tickets), slots=server.slots),
        taken=range(len(tickets) - held),
        held=range(held),
        open=range(max(server.slots - len(tickets), 0)),
    )


def _loading(*, snapshot: ClusterSnapshot, server: Server, model: str) -> Loading:
    mib = snapshot.footprint(server=server, model=model)
    size = "size unknown" if mib is None else messages.size(mib)
    load = next((load for load in server.loads if load.model == model), None)
    if load is None:
        return Loading(model=model, size=size, state=messages.not_loaded(), percent=None, says="")
    rest_s = rest_of_load(snapshot=snapshot, server=server, model=model)
    whole_s = load_seconds(snapshot=snapshot, server=server, model=model)
    progress = messages.load_progress(rest_s=rest_s, estimate_s=whole_s)
    room = f", {messages.making_room(victims=load.evicts)}" if load.evicts else ""
    return Loading(
        model=model,
        size=size,
        state=messages.loading(),
        percent=min(ALMOST, round(100 * (1 - rest_s / whole_s))) if whole_s else ALMOST,
        says=f"{progress}{room}",
    )


def _place(ticket: Ticket) -> Place:
    return Place(
        agent=ticket.agent,
        state=messages.ticket_state(state=ticket.state, model=ticket.model),
        kind=ticket.state.value,
        since=moment(ticket.started_at),
    )


def _rest(*, server: Server, record: ServerRecord) -> str:
    if not server.blocked:
        return ""
    return messages.loads_rest(models=sorted(server.blocked), problem=record.learned.load_problem)
