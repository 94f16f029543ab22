"""Why somebody waits: who has the slot, what keeps the memory, and from when on a server is emptied for the waiter."""

from collections import Counter
from collections.abc import Iterator

from kubemoot_web.board.times import Moment, to_the_second
from scheduler.core import draining, messages
from scheduler.core.config import SchedulerConfig
from scheduler.core.group_flight import group_flights
from scheduler.core.placement import fit
from scheduler.core.placement.caps import is_group_full
from scheduler.core.snapshot import ClusterSnapshot, Server
from scheduler.core.types import Waiter

NAMED_SERVERS = 2
"""For how many servers it is said what keeps a model out; with more the reason gets longer, not better."""
NAMED_AGENTS = 2


def because_of(*, snapshot: ClusterSnapshot, waiter: Waiter) -> str:
    """Say what stands between a waiter and its place."""
    drained = next((s for s in snapshot.servers.values() if s.drain and s.drain.waiter == waiter.id), None)
    if drained is not None and drained.drain is not None:
        busy = [model for model in drained.drain.victims if model in drained.tickets_of]
        return messages.emptied_for_it(server=drained.name, busy=busy)
    server = snapshot.servers.get(waiter.server or "")
    if server is not None:
        return _slot_taken(snapshot=snapshot, server=server, waiter=waiter)
    by_group = _kept_by_group(snapshot=snapshot, waiter=waiter) if waiter.needs_model else ""
    if by_group:
        return by_group
    found = list(_keepers(snapshot=snapshot, waiter=waiter)) if waiter.model else []
    return messages.kept_out(keepers=found[:NAMED_SERVERS], more=len(found) - NAMED_SERVERS) if found else ""


def drain_due_at(*, snapshot: ClusterSnapshot, waiter: Waiter, config: SchedulerConfig) -> Moment | None:
    """Say from when on a server is emptied for a waiter, should it still wait then; None where that is not to be."""
    if waiter.server is not None or not waiter.model or waiter.id in snapshot.drained_for:
        return None
    after_s = min(config.drain_after_s, draining.SHARE_OF_LIMIT * (waiter.limit_at - waiter.arrived_at))
    at = waiter.arrived_at + after_s
    return to_the_second(at) if at > snapshot.now else None


def _slot_taken(*, snapshot: ClusterSnapshot, server: Server, waiter: Waiter) -> str:
    if fit.is_held_by_group(snapshot=snapshot, server=server, model=waiter.model, request=waiter.request()):
        return _group_full(snapshot=snapshot, server=server)
    by_agent = Counter(ticket.agent for ticket in server.tickets_of.get(waiter.model, ()))
    named = tuple(by_agent)[:NAMED_AGENTS]
    slots = by_agent.total()
    return messages.slot_taken(
        agents=named,
        more=slots - sum(by_agent[agent] for agent in named),
        slots=slots,
        is_loading=waiter.model in server.loading,
    )


def _kept_by_group(*, snapshot: ClusterSnapshot, waiter: Waiter) -> str:
    """Say which resource group keeps a load out, where a server has the memory free."""
    candidate = next((c for c in waiter.candidates if c.model == waiter.model), None)
    for server in map(snapshot.servers.__getitem__, sorted(snapshot.index.capped)):
        if candidate is None or not is_group_full(snapshot=snapshot, server=server, request=waiter.request()):
            continue
        if fit.is_kept_by_caps(snapshot=snapshot, server=server, candidate=candidate, request=waiter.request()):
            return _group_full(snapshot=snapshot, server=server)
    return ""


def _group_full(*, snapshot: ClusterSnapshot, server: Server) -> str:
    flight = group_flights(snapshot)[server.name]
    return messages.group_full(group=flight.name, total=flight.total, cap=flight.cap, servers=flight.at_work)


def _keepers(*, snapshot: ClusterSnapshot, waiter: Waiter) -> Iterator[messages.Keeper]:
    """Name, for each server that could hold the model, one that is in use there or wanted by others."""
    candidate = next((c for c in waiter.candidates if c.model == waiter.model), None)
    if candidate is None:
        return
    for server in snapshot.servers.values():
        footprint = snapshot.footprint(server=server, model=waiter.model)
        if not server.is_open or footprint is None or (server.usable_mib or 0) < footprint:
            continue
        if not fit.may_hold(server=server, candidate=candidate):
            continue
        keeper = _keeper(snapshot=snapshot, server=server, waiter=waiter)
        if keeper is not None:
            yield keeper


def _keeper(*, snapshot: ClusterSnapshot, server: Server, waiter: Waiter) -> messages.Keeper | None:
    """Find the largest model there that may not go, with the agent that uses it; without one, agents wait for it."""
    kept: list[tuple[int, str, str]] = []
    for model in (*(resident.model for resident in server.warm_copies), *server.loading):
        if model == waiter.model:
            continue
        tickets = server.tickets_of.get(model, ())
        demand = snapshot.demand_of(model)
        if tickets or demand.intents or demand.waiting.keys() - {waiter.id}:
            size = snapshot.footprint(server=server, model=model) or 0
            kept.append((size, model, tickets[0].agent if tickets else ""))
    if not kept:
        return None
    _, model, agent = max(kept)
    return messages.Keeper(server=server.name, model=model, agent=agent, is_loading=model in server.loading)
