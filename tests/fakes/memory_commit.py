"""Checks of changes against the books, and what becomes of those that hold."""

from dataclasses import replace

from scheduler.core.ledger import (
    Change,
    DrainChange,
    GrantChange,
    LeftChange,
    Refusal,
    StandAsideChange,
    WaitChange,
)
from scheduler.core.line import told_of
from scheduler.core.placement.caps import is_below_own_cap, is_group_full
from scheduler.core.snapshot import ClusterSnapshot, Server
from scheduler.core.types import CallRequest, LoadUnderWay, Ticket, TicketState, intent_key
from tests.fakes.memory_books import Books, call_of_ticket, call_of_waiter, is_delivered, load_key

ETA_STEP_S = 1


def apply_change(books: Books, change: Change) -> Refusal | None:
    """Apply a change, or say why not."""
    match change:
        case GrantChange():
            return _grant(books, change)
        case WaitChange():
            return _wait(books, change)
        case DrainChange():
            return _drain(books, change)
        case StandAsideChange():
            return _stand_aside(books, change)
        case LeftChange():
            return _left(books, change.ticket)


def _grant(books: Books, change: GrantChange) -> Refusal | None:
    ticket = change.ticket
    refusal = _owner_refusal(books, change)
    if refusal is not None:
        return refusal
    if ticket.server not in books.rows.servers:
        return Refusal.SERVER_GONE
    snapshot = books.rows.snapshot(now=books.now)
    if change.replaces is not None:
        held = books.rows.tickets[change.replaces]
        snapshot = snapshot.without_ticket(server=held.server, ticket=held.id)
    server = snapshot.servers[ticket.server]
    refusal = _place_refusal(snapshot, server, ticket, change.load)
    if refusal is not None:
        return refusal

    if change.replaces is not None:
        _give_back(books, change)
    if ticket.state is not TicketState.PLANNED:
        state = TicketState.ACTIVE if ticket.model in server.warm else TicketState.LOADING
        ticket = replace(ticket, state=state)
    books.put("ticket", ticket.id, ticket)
    if books.rows.servers[ticket.server].learned.circuit.rests_until is not None:
        books.put_circuit(ticket.server, trial=ticket.id)
    if change.load is not None:
        _start_load(books, snapshot, server, change.load, ticket)
    if change.plan is not None:
        _hold_for_plan(books, change, ticket)
    if ticket.waiter is not None:
        _hand_to_waiter(books, ticket, change.trace)
    if is_delivered(ticket):
        _deliver(books, ticket, change.trace)
    return None


def _owner_refusal(books: Books, change: GrantChange) -> Refusal | None:
    rows = books.rows
    if change.ticket.waiter is not None:
        waiter = rows.waiters.get(change.ticket.waiter)
        if waiter is None or not waiter.is_waiting:
            return Refusal.WAITER_GONE
    if change.replaces is not None and change.replaces not in rows.tickets:
        return Refusal.TICKET_GONE
    if change.ticket.id in rows.tickets:
        return Refusal.TICKET_GONE
    if change.plan is not None:
        plan = rows.plans.get(change.plan.id)
        if plan is None or (plan.ticket is not None and plan.ticket != change.replaces):
            return Refusal.PLAN_GONE
    return Refusal.KEY_LIMIT if _is_key_full(books, change) else None


def _is_key_full(books: Books, change: GrantChange) -> bool:
    ticket = change.ticket
    if not ticket.key or ticket.key_limit is None:
        return False
    of_key = {other.id for other in books.rows.tickets.values() if other.key == ticket.key}
    return len(of_key - {change.replaces}) >= ticket.key_limit


def _place_refusal(
    snapshot: ClusterSnapshot, server: Server, ticket: Ticket, load: LoadUnderWay | None
) -> Refusal | None:
    if not server.is_open or (server.half_open and ticket.state is TicketState.PLANNED):
        return Refusal.SERVER_CLOSED
    if load is not None:
        refusal = _load_refusal(snapshot, server, load)
        if refusal is not None:
            return refusal
    elif ticket.model not in server.warm and all(other.model != ticket.model for other in server.loads):
        return Refusal.NO_COPY
    request = CallRequest(agent=ticket.agent, candidates=(), priority=ticket.priority)
    if len(server.counted(request, server.tickets_of.get(ticket.model, ()))) >= server.slots:
        return Refusal.NO_SLOT
    if not is_below_own_cap(server=server, request=request):
        return Refusal.CAP_REACHED
    return Refusal.GROUP_FULL if is_group_full(snapshot=snapshot, server=server, request=request) else None


def _load_refusal(snapshot: ClusterSnapshot, server: Server, load: LoadUnderWay) -> Refusal | None:
    if server.drain is not None and server.drain.model != load.model:
        return Refusal.DRAINING
    is_copy = load.model in server.known or any(other.model == load.model for other in server.loads)
    if is_copy or load.model in server.spent:
        return Refusal.COPY_EXISTS
    copies = {resident.model for resident in server.warm_copies}
    if any(victim not in copies or victim in server.tickets_of for victim in load.evicts):
        return Refusal.VICTIM_BUSY
    rest = replace(
        server,
        residents=tuple(r for r in server.residents if r.model not in load.evicts),
        tickets=tuple(t for t in server.tickets if t.model != load.model),
    )
    free = snapshot.with_server(rest).free_mib(rest)
    if not server.can_load or free is None or load.footprint_mib > free:
        return Refusal.NO_MEMORY
    return None


def _shared_victims(snapshot: ClusterSnapshot, server: Server, load: LoadUnderWay) -> tuple[str, ...]:
    """Name the victims of other loads that must really be gone before this one fits."""
    held = {r.model for r in server.residents} | {server.copy_name(t.model) for t in server.tickets}
    held |= {other.model for other in server.loads}
    sizes = {m: snapshot.footprint(server=server, model=m) for m in held - {load.model, *load.evicts}}
    taken = None if None in sizes.values() else sum(size or 0 for size in sizes.values())
    assert server.usable_mib is not None
    room = float("-inf") if taken is None else server.usable_mib - load.footprint_mib - taken
    shared = []
    for victim in sorted(server.spent & {r.model for r in server.residents} - set(load.evicts)):
        if room >= 0:
            break
        room += sizes[victim] or 0
        shared.append(victim)
    return tuple(shared)


def _give_back(books: Books, change: GrantChange) -> None:
    assert change.replaces is not None
    held = books.rows.tickets[change.replaces]
    owner = books.rows.plans.get(held.plan or "")
    books.drop_ticket(held)
    books.emit("released", call_of_ticket(held), reason="replaced")
    if owner is not None and not (change.plan is not None and change.plan.id == owner.id):
        books.drop_plan(owner, "taken")


def _start_load(books: Books, snapshot: ClusterSnapshot, server: Server, load: LoadUnderWay, ticket: Ticket) -> None:
    load = replace(load, evicts=(*load.evicts, *_shared_victims(snapshot, server, load)))
    books.put("load", load_key(load.server, load.model), load)
    event = call_of_ticket(ticket)
    books.emit("load_started", event, footprint_mib=load.footprint_mib, evicts=list(load.evicts))


def _hold_for_plan(books: Books, change: GrantChange, ticket: Ticket) -> None:
    plan = change.plan
    assert plan is not None
    books.put("plan", plan.id, replace(plan, ticket=ticket.id))
    books.hold_intent(intent_key(agent=plan.agent, thread=plan.thread))
    books.lease("ticket", ticket.id, books.config.plan_limit_s)
    books.emit("planned", call_of_ticket(ticket))


def _hand_to_waiter(books: Books, ticket: Ticket, trace: str) -> None:
    waiter = books.rows.waiters[ticket.waiter or ""]
    books.put("waiter", waiter.id, replace(waiter, ticket=ticket.id))
    books.reach_tag(waiter.priority.value, waiter.start_tag)
    books.end_drain_of(waiter.id, "granted")
    books.emit("granted", call_of_ticket(ticket), trace=trace)
    plan = books.rows.plans.get(waiter.plan or "")
    if plan is not None:
        books.drop_plan(plan, "taken", kept=ticket.id)


def _deliver(books: Books, ticket: Ticket, trace: str) -> None:
    books.reach_tag(ticket.priority.value, books.take_tag(ticket))
    books.lease("ticket", ticket.id, books.config.ticket_lease_s)
    books.count_use("use", ticket.model, books.now, 1)
    books.emit("granted", call_of_ticket(ticket), trace=trace)
    books.emit("delivered", call_of_ticket(ticket))


def _wait(books: Books, change: WaitChange) -> Refusal | None:
    said, waiter = change.waiter, books.rows.waiters.get(change.waiter.id)
    if waiter is None or not waiter.is_waiting:
        return Refusal.WAITER_GONE
    is_same = told_of(waiter) == told_of(said)
    if is_same and not _eta_moved(waiter.eta_s, said.eta_s):
        return None
    told = {name: getattr(said, name) for name in ("model", "server", "action", "eta_s", "reason")}
    after = replace(waiter, **told)
    books.put("waiter", waiter.id, after)
    if waiter.model == "" and after.model != "":
        books.emit("waiting", call_of_waiter(after), reason=after.reason, eta_s=after.eta_s, trace=change.trace)
    return None


def _eta_moved(before: float | None, after: float | None) -> bool:
    if before is None or after is None:
        return before != after
    return abs(before - after) >= ETA_STEP_S


def _drain(books: Books, change: DrainChange) -> Refusal | None:
    rows, new = books.rows, change.drain
    if new is None:
        books.end_drain(change.server, "ended")
        return None
    if change.server not in rows.servers:
        return Refusal.SERVER_GONE
    waiter = rows.waiters.get(new.waiter or "")
    if new.waiter is not None and (waiter is None or not waiter.is_waiting):
        return Refusal.WAITER_GONE
    old = rows.drains.get(change.server)
    if old is not None:
        return None if (old.waiter, old.model) == (new.waiter, new.model) else Refusal.DRAINING
    if new.waiter is not None:
        books.end_drain_of(new.waiter, "moved")
    books.put("drain", change.server, new)
    event = {"server": change.server, "model": new.model, "agent": new.agent, "waiter": new.waiter}
    books.emit("drain_started", event, evicts=list(new.victims), since=new.since)
    return None


def _stand_aside(books: Books, change: StandAsideChange) -> Refusal | None:
    waiter = books.rows.waiters.get(change.waiter)
    if waiter is None or waiter.stood_aside is not None:
        return Refusal.WAITER_GONE
    ticket = books.rows.tickets.get(waiter.ticket or "")
    if ticket is not None:
        if ticket.state is not TicketState.LOADING:
            return Refusal.WAITER_GONE
        books.drop_ticket(ticket)
    after = replace(waiter, ticket=None, stood_aside=change.reason, model=change.model)
    books.put("waiter", waiter.id, after)
    books.end_drain_of(waiter.id, "stood-aside")
    books.emit("stood_aside", call_of_waiter(after), reason=change.reason, trace=change.trace)
    return None


def _left(books: Books, id: str) -> Refusal | None:
    ticket = books.rows.tickets.get(id)
    if ticket is None:
        return Refusal.TICKET_GONE
    if ticket.left_at is None:
        books.put("ticket", id, replace(ticket, left_at=books.now))
        books.emit("left", call_of_ticket(ticket))
    return None
