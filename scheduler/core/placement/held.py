"""What a call does with the place that was held for it at selection (scheduling rules, section 6)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from scheduler.core.decisions import Decision, Join, Option, Queue, Use, Verdict
from scheduler.core.placement import fit
from scheduler.core.placement.estimates import rest_of_load, wait_seconds
from scheduler.core.snapshot import ClusterSnapshot
from scheduler.core.types import CallRequest, Ticket, Waiter


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldPlace:
    """A place held for a selected agent, and the decision that chose it (JSON)."""

    ticket: Ticket
    trace: str


def useless_plans(
    *, snapshot: ClusterSnapshot, waiters: Iterable[Waiter], held: Mapping[str, HeldPlace]
) -> tuple[str, ...]:
    """Name the plans whose own calls wait although they hold a place: it is no good for them, and others may use it."""
    found = []
    for waiter in waiters:
        place = held.get(waiter.plan or "")
        if place is None or waiter.plan is None or not waiter.is_waiting:
            continue
        if held_decision(snapshot=snapshot, request=waiter.request(), ticket=place.ticket) is None:
            found.append(waiter.plan)
    return tuple(found)


def held_decision(*, snapshot: ClusterSnapshot, request: CallRequest, ticket: Ticket) -> Decision | None:
    """Take the held place, or queue on it while it is lent; None when the server is not good for the call any more."""
    candidate = next((c for c in request.acceptable if c.model == ticket.model), None)
    server = snapshot.servers.get(ticket.server)
    if candidate is None or server is None:
        return None
    for loading in (False, True):
        places = fit.copies(snapshot=snapshot, candidate=candidate, request=request, loading=loading)
        if server not in places:
            continue
        model = ticket.model
        if not fit.has_free_slot(snapshot=snapshot, server=server, model=model, request=request):
            cost_s = wait_seconds(snapshot=snapshot, server=server, model=model, request=request)
            return None if cost_s is None else _queue(server=server.name, model=model, cost_s=cost_s)
        if loading:
            cost_s = rest_of_load(snapshot=snapshot, server=server, model=model)
            return Join(server=server.name, model=model, cost_s=cost_s)
        return Use(server=server.name, model=model)
    return None


def _queue(*, server: str, model: str, cost_s: float) -> Queue:
    option = Option(action="queue", server=server, model=model, cost_s=cost_s, verdict=Verdict.CHOSEN)
    return Queue(server=server, model=model, cost_s=cost_s, options=(option,))
