"""How long until a copy frees up, and how long the rest of a load takes. Seconds."""

from collections.abc import Iterable, Iterator
from heapq import heapify, heapreplace

from scheduler.core.placement.caps import is_group_full, lent_in_group, own_caps, servers_at_work
from scheduler.core.snapshot import ClusterSnapshot, Server
from scheduler.core.types import CallRequest, Ticket, TicketState

LEAST_REMAINING = 0.1
"""A call that has outlived the usual length is taken to need a tenth of it more."""


def wait_seconds(*, snapshot: ClusterSnapshot, server: Server, model: str, request: CallRequest) -> float | None:
    """Estimate when the request would get a slot of a busy copy; None when the server's cap leaves its class nothing.

    Where a cap is what blocks, the server's own or its group's, the calls that count against it are taken too, and the
    largest answer holds.
    """
    queued = snapshot.queued_ahead(server=server, model=model, request=request)
    caps_s = caps_wait_s(snapshot=snapshot, server=server, request=request, queued=queued)
    if caps_s is None:
        return None
    held = server.counted(request, server.tickets_of.get(model, ()))
    remaining = _all_remaining(snapshot=snapshot, server=server, tickets=held)
    return max(caps_s, next_free(remaining=remaining, slots=server.slots, queued=queued, call_s=server.call_seconds))


def caps_wait_s(*, snapshot: ClusterSnapshot, server: Server, request: CallRequest, queued: int) -> float | None:
    """Estimate when the caps of a server and its group leave a place; 0 where they do now, None where they never do."""
    longest_s = 0.0
    for cap, tickets in own_caps(server=server, request=request):
        if cap <= 0:
            return None
        if len(tickets) >= cap:
            remaining = _all_remaining(snapshot=snapshot, server=server, tickets=tickets)
            free_s = next_free(remaining=remaining, slots=cap, queued=queued, call_s=server.call_seconds)
            longest_s = max(longest_s, free_s)
    return max(longest_s, group_wait_s(snapshot=snapshot, server=server, request=request, queued=queued))


def group_wait_s(*, snapshot: ClusterSnapshot, server: Server, request: CallRequest, queued: int) -> float:
    """Estimate when the server's group has a place for somebody behind `queued` calls; 0 where it is not full."""
    group = server.resource_group
    if group is None or not is_group_full(snapshot=snapshot, server=server, request=request):
        return 0.0
    ends = _group_ends(snapshot=snapshot, group=group.name, request=request)
    if not queued:
        return ends[len(ends) - group.max_concurrent]
    return next_free(remaining=ends, slots=group.max_concurrent, queued=queued, call_s=server.call_seconds)


def _group_ends(*, snapshot: ClusterSnapshot, group: str, request: CallRequest) -> tuple[float, ...]:
    """List how long each place in a group is still held, soonest first: worked out once for all whom it counts for."""
    lends = bool(lent_in_group(snapshot=snapshot, group=group, request=request))
    whose = (group, request.agent if lends else None)
    ends = snapshot.group_ends.get(whose)
    if ends is None:
        found: list[float] = []
        for server in servers_at_work(snapshot=snapshot, group=group):
            tickets = server.counted(request, server.tickets) if lends else server.tickets
            found.extend(_all_remaining(snapshot=snapshot, server=server, tickets=tickets))
        ends = snapshot.group_ends[whose] = tuple(sorted(found))
    return ends


def _all_remaining(*, snapshot: ClusterSnapshot, server: Server, tickets: Iterable[Ticket]) -> Iterator[float]:
    """Estimate how long each of a server's tickets still holds its slot: calls at work, mostly, are quick to tell."""
    call_s, now = server.call_seconds, snapshot.now
    least_s = LEAST_REMAINING * call_s
    for ticket in tickets:
        if ticket.state is TicketState.ACTIVE:
            rest_s = call_s - (now - ticket.started_at)
            yield rest_s if rest_s > least_s else least_s
        else:
            yield remaining_seconds(snapshot=snapshot, server=server, ticket=ticket)


def remaining_seconds(*, snapshot: ClusterSnapshot, server: Server, ticket: Ticket) -> float:
    """Estimate how long a ticket still holds its slot."""
    call_s = server.call_seconds
    elapsed = snapshot.now - ticket.started_at
    match ticket.state:
        case TicketState.ACTIVE:
            return max(call_s - elapsed, LEAST_REMAINING * call_s)
        case TicketState.LOADING:
            load_s = load_seconds(snapshot=snapshot, server=server, model=ticket.model)
            return max(load_s - elapsed, 0.0) + call_s
        case TicketState.PLANNED:
            return call_s


def next_free(*, remaining: Iterable[float], slots: int, queued: int, call_s: float) -> float:
    """Work out when the next slot frees for somebody behind `queued` calls of `call_s` each.

    Where more calls run than there are slots (the number was lowered), a slot is free only when so many have ended.
    """
    ends = sorted(remaining)
    if not queued:
        return ends[len(ends) - slots] if slots <= len(ends) else 0.0
    frees = [0.0] * (slots - len(ends)) + ends[max(0, len(ends) - slots) :]
    if call_s <= 0:
        return frees[0]
    heapify(frees)
    while queued and max(frees) - frees[0] > call_s:
        heapreplace(frees, frees[0] + call_s)
        queued -= 1
    # Once all slots free within one call of each other they take turns, however many queue.
    rounds, left = divmod(queued, slots)
    return sorted(frees)[left] + rounds * call_s


def load_seconds(*, snapshot: ClusterSnapshot, server: Server, model: str) -> float:
    """Estimate a whole load of a model; 0 when nothing is known of its size."""
    footprint = snapshot.footprint(server=server, model=model)
    return 0.0 if footprint is None else server.load_seconds(footprint)


def rest_of_load(*, snapshot: ClusterSnapshot, server: Server, model: str) -> float:
    """Estimate the rest of a load under way, counted from its first ticket."""
    starts = [load.started_at for load in server.loads if load.model == model]
    started_at = min(starts or [ticket.started_at for ticket in server.loading[model]])
    return max(load_seconds(snapshot=snapshot, server=server, model=model) - (snapshot.now - started_at), 0.0)
