"""The models of a server, in memory or on their way: how each stands, and who has its slots."""

from dataclasses import dataclass

from kubemoot_web.board.marks import Mark, Palette
from kubemoot_web.board.times import Moment, moment, to_the_second
from scheduler.core import messages
from scheduler.core.placement.caps import group_room, own_room
from scheduler.core.placement.estimates import load_seconds, rest_of_load
from scheduler.core.snapshot import ClusterSnapshot, Resident, Server
from scheduler.core.types import Priority, Ticket, TicketState


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """Something that takes its time: when it began, and when it should be over. The browser draws how far it is."""

    began: Moment | None
    ends: Moment | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A taken slot: who has it, for which call, for what, since when. `span` where it is known how long calls take."""

    id: str
    call: str
    agent: str
    state: str
    kind: str
    since: Moment | None
    is_background: bool
    span: Span | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Copy:
    """A model of a server. `kind` is warm, leaving, loading, or wanted: places are held, but nobody loads it.

    A load under way has a `span`; `says` tells what else there is to know. `open` slots can be had now, `queue` calls
    wait for one.
    """

    kind: str
    mark: Mark
    size: str
    state: str
    says: str
    is_warning: bool
    span: Span | None
    places: tuple[Place, ...]
    open: int
    free: str
    queue: str


def copies_of(*, snapshot: ClusterSnapshot, server: Server, palette: Palette) -> tuple[Copy, ...]:
    """List the models in memory, then those on their way."""
    residents = (r for r in server.residents if r.model not in server.loading)
    coming = (*server.loading, *sorted(server.lost))
    return (
        *(_resident(snapshot=snapshot, server=server, resident=resident, palette=palette) for resident in residents),
        *(_coming(snapshot=snapshot, server=server, model=model, palette=palette) for model in coming),
    )


def _resident(*, snapshot: ClusterSnapshot, server: Server, resident: Resident, palette: Palette) -> Copy:
    is_leaving = resident.model in server.spent
    tickets = server.tickets_of.get(resident.model, ())
    slots = 0 if is_leaving else max(server.slots - len(tickets), 0)
    usable, capped = _usable(snapshot=snapshot, server=server, slots=slots)
    queued = sum(len(snapshot.queues.get((server.name, name), ())) for name in resident.names)
    return Copy(
        kind="leaving" if is_leaving else "warm",
        mark=palette.mark(resident.model),
        size=_size(snapshot=snapshot, server=server, model=resident.model),
        state=messages.being_unloaded() if is_leaving else _slots(used=len(tickets), slots=server.slots),
        says=", ".join(says for says in (_spilling(resident), capped) if says),
        is_warning=resident.spilling,
        span=None,
        places=_places(server=server, tickets=tickets),
        open=usable,
        free=messages.slots_free(count=usable, is_idle=not tickets),
        queue=messages.slot_queue(count=queued),
    )


def _spilling(resident: Resident) -> str:
    return messages.spilling(accelerator_percent=resident.accelerator_percent) if resident.spilling else ""


def _usable(*, snapshot: ClusterSnapshot, server: Server, slots: int) -> tuple[int, str]:
    """Count the free slots that the caps leave, and say what keeps the others."""
    own, shared = own_room(server=server), group_room(snapshot=snapshot, server=server)
    usable = int(min(slots, own, shared))
    group = server.resource_group.name if server.resource_group is not None and shared < own else ""
    return usable, messages.slots_capped(count=slots - usable, room=usable, group=group)


def _coming(*, snapshot: ClusterSnapshot, server: Server, model: str, palette: Palette) -> Copy:
    tickets = server.tickets_of.get(model, ())
    queued = len(snapshot.queues.get((server.name, model), ()))
    load = next((load for load in server.loads if load.model == model), None)
    says, is_late = "", False
    span = None
    if load is not None:
        whole_s = load_seconds(snapshot=snapshot, server=server, model=model)
        is_late = rest_of_load(snapshot=snapshot, server=server, model=model) <= 0
        parts = (
            messages.making_room(victims=load.evicts) if load.evicts else "",
            messages.load_late(estimate_s=whole_s) if is_late else "",
        )
        says = ", ".join(part for part in parts if part)
        span = Span(began=moment(load.started_at), ends=to_the_second(load.started_at + whole_s))
    return Copy(
        kind="wanted" if load is None else "loading",
        mark=palette.mark(model),
        size=_size(snapshot=snapshot, server=server, model=model),
        state=messages.not_loaded() if load is None else messages.loading(),
        says=says,
        is_warning=is_late or load is None,
        span=span,
        places=_places(server=server, tickets=tickets),
        open=0,
        free="",
        queue=messages.slot_queue(count=queued),
    )


def _places(*, server: Server, tickets: tuple[Ticket, ...]) -> tuple[Place, ...]:
    return tuple(_place(server=server, ticket=ticket) for ticket in tickets)


def _place(*, server: Server, ticket: Ticket) -> Place:
    runs = ticket.state == TicketState.ACTIVE and server.call_s is not None
    return Place(
        id=ticket.id,
        call=ticket.call,
        agent=ticket.agent,
        state=messages.place_state(state=ticket.state, is_left=ticket.left_at is not None),
        kind=ticket.state.value,
        since=moment(ticket.started_at),
        is_background=ticket.priority == Priority.BACKGROUND,
        span=Span(began=moment(ticket.started_at), ends=to_the_second(ticket.started_at + server.call_seconds))
        if runs
        else None,
    )


def _slots(*, used: int, slots: int) -> str:
    """Count slots where there are some to count: of a single one the row below says all."""
    return messages.slots_used(used=used, slots=slots) if slots > 1 else ""


def _size(*, snapshot: ClusterSnapshot, server: Server, model: str) -> str:
    mib = snapshot.footprint(server=server, model=model)
    return "size unknown" if mib is None else messages.size(mib)
