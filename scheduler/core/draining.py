"""Drains: emptying a server for a waiter that a stream of small calls would starve (scheduling rules, section 4)."""

from collections.abc import Iterable

from scheduler.core.config import SchedulerConfig
from scheduler.core.placement import fit
from scheduler.core.placement.caps import own_caps
from scheduler.core.placement.cost import evict_cost
from scheduler.core.placement.demand import need_of
from scheduler.core.placement.estimates import caps_wait_s, remaining_seconds
from scheduler.core.placement.eviction import Victim, fewest_least_needed
from scheduler.core.snapshot import ClusterSnapshot, Server
from scheduler.core.types import CallRequest, Candidate, Drain, Waiter

SHARE_OF_LIMIT = 2 / 3


def is_due(*, waiter: Waiter, now: float, config: SchedulerConfig) -> bool:
    """Say whether a waiter has waited long enough for a drain: 60 s, or two thirds of its limit if that is less."""
    threshold = min(config.drain_after_s, SHARE_OF_LIMIT * (waiter.limit_at - waiter.arrived_at))
    return now - waiter.arrived_at >= threshold


def drains_allowed(*, snapshot: ClusterSnapshot) -> int:
    """Give how many more servers may be drained: at most half of them, at least one."""
    return max(1, len(snapshot.servers) // 2) - len(snapshot.index.drains)


def choose(*, snapshot: ClusterSnapshot, waiter: Waiter, model: str) -> tuple[str, Drain] | None:
    """Choose the server to drain for a waiter of `model`; None where emptying one would not help.

    The server is the one where the longest remaining call of the victims plus the cost of evicting them is least.
    """
    candidate = next(c for c in waiter.candidates if c.model == model)
    options = [
        option
        for server in snapshot.servers.values()
        if (option := _option(snapshot=snapshot, server=server, request=waiter.request(), candidate=candidate))
    ]
    if not options:
        return None
    _, _, name, victims = min(options)
    drain = Drain(model=model, agent=waiter.agent, victims=victims, since=snapshot.now, waiter=waiter.id)
    return name, drain


def least_cost_s(*, snapshot: ClusterSnapshot, waiter: Waiter) -> float | None:
    """Estimate how soon some server could be emptied for a waiter; None where none could."""
    candidate = next((c for c in waiter.candidates if c.model == waiter.model), None)
    if candidate is None:
        return None
    request = waiter.request()
    costs = [
        max(option[0], caps_wait_s(snapshot=snapshot, server=server, request=request, queued=0) or 0.0)
        for server in snapshot.servers.values()
        if (option := _option(snapshot=snapshot, server=server, request=request, candidate=candidate))
    ]
    return min(costs, default=None)


def _option(
    *, snapshot: ClusterSnapshot, server: Server, request: CallRequest, candidate: Candidate
) -> tuple[float, float, str, tuple[str, ...]] | None:
    model = candidate.model
    is_closed = not server.is_open or server.drain is not None or model in server.blocked
    if is_closed or model in server.warm or model in server.loading or model in server.lost:
        return None
    if not fit.may_hold(server=server, candidate=candidate):
        return None
    if not server.fits_prompt(model=model, prompt_tokens=request.prompt_tokens):
        return None
    if any(cap <= 0 for cap, _ in own_caps(server=server, request=request)):
        # Its cap leaves the waiter's class nothing, however empty it gets.
        return None
    footprint = snapshot.footprint(server=server, model=model)
    free = snapshot.free_mib(server)
    if footprint is None or free is None or footprint <= free:
        return None
    victims = fewest_least_needed(
        victims=tuple(_everyone(snapshot=snapshot, server=server, request=request)), room_mib=footprint - free
    )
    if victims is None:
        return None
    names = tuple(victim.model for victim in victims)
    longest = max(
        (
            remaining_seconds(snapshot=snapshot, server=server, ticket=ticket)
            for name in names
            for ticket in server.tickets_of.get(name, ())
        ),
        default=0.0,
    )
    cost_s = longest + evict_cost(server=server, footprint_mib=footprint, victims=victims)
    return cost_s, -server.weight, server.name, names


def _everyone(*, snapshot: ClusterSnapshot, server: Server, request: CallRequest) -> Iterable[Victim]:
    """List every resident of known size, those in use and waited for included: the drain waits for them to end."""
    for resident in server.warm_copies:
        footprint = snapshot.footprint(server=server, model=resident.model)
        if footprint is not None:
            need = need_of(snapshot=snapshot, request=request, resident=resident)
            yield Victim(model=resident.model, footprint_mib=footprint, need=need)
