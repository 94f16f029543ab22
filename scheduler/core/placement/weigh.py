"""Steps 4 to 6 of the decision: queueing, loading and unloading compared in seconds (scheduling rules, section 3).

House rules: what is priced is cheap (numbers in tuples), and only the best few become options; a server that cannot be
among them is not looked at any closer than its bound.
"""

from bisect import bisect_right, insort
from collections.abc import Sequence
from heapq import merge
from math import inf
from typing import NamedTuple

from scheduler.core.decisions import TRACE_OPTIONS, Decision, Evict, Load, Option, Queue, Verdict, Wait
from scheduler.core.placement import fit
from scheduler.core.placement.cost import UNLOAD_S, evict_cost
from scheduler.core.placement.estimates import LEAST_REMAINING, group_wait_s, wait_seconds
from scheduler.core.placement.eviction import Victim, fewest_least_needed, idle_victims, one_victim
from scheduler.core.placement.targets import Target, may_load_free, may_move, priced, targets_of
from scheduler.core.prices import COST_DIGITS, UNUSED_ROOM_S, Price
from scheduler.core.snapshot import ClusterSnapshot, Server
from scheduler.core.types import CallRequest, Candidate

BOUND_SLACK_S = 1e-6
"""A bound is a sum in another order than the cost: so much more than their last bits can differ."""


class _Way(NamedTuple):  # not a dataclass: these are sorted by the hundred
    """A way to a place, in its order: lowest cost, queue, fewer victims, earlier candidate, higher weight, name."""

    cost_key: float
    moves_a_model: bool
    victims: int
    rank: int
    lightness: float
    server: str
    model: str
    cost_s: float
    footprint_mib: int
    evicts: tuple[str, ...]


_Wait = tuple[float, int, float, str]
"""A way that queues, as far as it differs from others: cost, candidate, lightness, server."""


def weigh(*, snapshot: ClusterSnapshot, request: CallRequest, left: Sequence[Candidate]) -> Decision:
    """Take the cheapest way for candidates without a free slot or a load to join; wait where there is none."""
    best = tuple(c for c in left if c.score == left[0].score)
    has_room = may_move(snapshot=snapshot, candidates=best)
    targets = targets_of(snapshot=snapshot, candidates=best) if has_room else ()
    ways = _loads(snapshot=snapshot, request=request, targets=targets)
    if ways:
        # 4. Free memory somewhere: only the targets' own copies are worth queueing on.
        ways += _queues(snapshot=snapshot, request=request, candidates=best)
    else:
        # 5. No free memory: any acceptable copy, or unloading.
        ways = _queues(snapshot=snapshot, request=request, candidates=left)
        _add_evictions(ways, snapshot=snapshot, request=request, targets=targets)
    if not ways:
        # 6. Neither.
        return Wait(model=left[0].model)
    ways.sort()
    return _decision(ways[0], options=_trace(ways[:TRACE_OPTIONS]))


def _decision(way: _Way, *, options: tuple[Option, ...]) -> Decision:
    server, model, cost_s = way.server, way.model, way.cost_s
    if not way.moves_a_model:
        return Queue(server=server, model=model, cost_s=cost_s, options=options)
    size = way.footprint_mib
    if not way.evicts:
        return Load(server=server, model=model, footprint_mib=size, cost_s=cost_s, options=options)
    return Evict(server=server, model=model, footprint_mib=size, evicts=way.evicts, cost_s=cost_s, options=options)


def _trace(ways: Sequence[_Way]) -> tuple[Option, ...]:
    options = []
    for place, way in enumerate(ways):
        verdict = Verdict.CHOSEN
        if place:
            verdict = Verdict.TIED if way.cost_key == ways[0].cost_key else Verdict.COSTS_MORE
        action = "queue" if not way.moves_a_model else "evict" if way.evicts else "load"
        options.append(
            Option(
                action=action,
                server=way.server,
                model=way.model,
                cost_s=way.cost_s,
                verdict=verdict,
                evicts=way.evicts,
            )
        )
    return tuple(options)


def _queues(*, snapshot: ClusterSnapshot, request: CallRequest, candidates: Sequence[Candidate]) -> list[_Way]:
    """Price the next slot of every busy copy; give the best few in their order.

    None of them has a free slot: steps 1 to 3 would have taken it.
    """
    waits: list[_Wait] = []
    groups_s: dict[str, float] = {}
    for rank, candidate in enumerate(candidates):
        _add_waits(waits, groups_s, snapshot=snapshot, request=request, candidate=candidate, rank=rank)
    waits.sort()
    if len(waits) > TRACE_OPTIONS:
        # Rounding takes half of the time: only what may be among the best few is worth it.
        del waits[bisect_right(waits, (waits[TRACE_OPTIONS - 1][0] + BOUND_SLACK_S,)) :]
    ways = [
        _Way(round(cost_s, COST_DIGITS), False, 0, rank, lightness, name, candidates[rank].model, cost_s, 0, ())
        for cost_s, rank, lightness, name in waits
    ]
    ways.sort()
    return ways[:TRACE_OPTIONS]


def _add_waits(
    waits: list[_Wait],
    groups_s: dict[str, float],
    *,
    snapshot: ClusterSnapshot,
    request: CallRequest,
    candidate: Candidate,
    rank: int,
) -> None:
    """Price the next slot of every copy of a candidate; `groups_s` keeps how long each full group takes."""
    model, allowed, servers, queues = candidate.model, candidate.servers, snapshot.servers, snapshot.queues
    now, prompt_tokens = snapshot.now, request.prompt_tokens
    for name in snapshot.index.holders.get(model, ()):
        if allowed is not None and name not in allowed:
            continue
        server = servers[name]
        plain = server.busy_since.get(model)
        cost_s: float | None
        if plain is None or (queues and (name, model) in queues):
            if not fit.is_copy(snapshot=snapshot, server=server, candidate=candidate, request=request, loading=False):
                continue
            cost_s = wait_seconds(snapshot=snapshot, server=server, model=model, request=request)
            if cost_s is None:
                continue
        else:
            # Mostly so: the oldest call frees its slot first.
            since, context = plain
            if prompt_tokens is not None and context is not None and context < prompt_tokens:
                continue
            cost_s = 0.0
            if since is not None:
                call_s = server.call_seconds
                rest_s, least_s = call_s - (now - since), LEAST_REMAINING * call_s
                cost_s = rest_s if rest_s > least_s else least_s
            group = server.resource_group
            if group is not None:
                if group.name not in groups_s:
                    groups_s[group.name] = group_wait_s(snapshot=snapshot, server=server, request=request, queued=0)
                cost_s = max(cost_s, groups_s[group.name])
        waits.append((cost_s, rank, -server.weight, name))


def _loads(*, snapshot: ClusterSnapshot, request: CallRequest, targets: Sequence[Target]) -> list[_Way]:
    """Price a load of every target on every server with free memory for it; give the best few."""
    ways = []
    for target in targets:
        if not may_load_free(snapshot=snapshot, target=target):
            continue
        model = target.candidate.model
        is_second_copy = _has_open_copy(snapshot=snapshot, model=model)
        allowed = 0
        for price, footprint, _ in priced(snapshot=snapshot, target=target, is_second=is_second_copy, idle_too=False):
            server = snapshot.servers[price.server]
            free_mib = server.free_mib if server.free_mib is not None else snapshot.free_mib(server)
            if free_mib is None or free_mib < footprint:
                continue
            if fit.may_load(snapshot=snapshot, server=server, candidate=target.candidate, request=request):
                key, lightness, name, cost_s = price
                ways.append(_Way(key, True, 0, target.rank, lightness, name, model, cost_s, footprint, ()))
                allowed += 1
                if allowed == TRACE_OPTIONS:
                    break
    return ways


def _has_open_copy(*, snapshot: ClusterSnapshot, model: str) -> bool:
    holding = snapshot.holding(model)
    return any(server.is_open and (model in server.warm or model in server.loading) for server in holding)


def _add_evictions(
    ways: list[_Way], *, snapshot: ClusterSnapshot, request: CallRequest, targets: Sequence[Target]
) -> None:
    """Price unloading idle models for every target on every server that could hold it; keep the best few of all ways.

    Servers are looked at in the order of the least that it could cost there, until that is too much to be named.
    """
    lists = (priced(snapshot=snapshot, target=target, is_second=False, idle_too=True) for target in targets)
    worst_s = _worst(ways)
    for price, footprint, rank in merge(*lists):
        if price.cost_s - UNUSED_ROOM_S + UNLOAD_S > worst_s:
            break
        server = snapshot.servers[price.server]
        if server.room_mib is not None and server.room_mib < footprint:
            continue
        if _least_cost(price=price, server=server, footprint=footprint) > worst_s:
            continue
        way = _eviction(
            snapshot=snapshot,
            request=request,
            preferred=targets[0].candidate,
            target=targets[rank],
            server=server,
            footprint=footprint,
        )
        if way is not None:
            insort(ways, way)
            del ways[TRACE_OPTIONS:]
            worst_s = _worst(ways)


def _worst(ways: Sequence[_Way]) -> float:
    """Give what a way may cost at the most to be among the best few."""
    return ways[-1].cost_s + BOUND_SLACK_S if len(ways) == TRACE_OPTIONS else inf


def _least_cost(*, price: Price, server: Server, footprint: int) -> float:
    """Price the load, the fewest victims that could do if nobody needed them again, and the risk.

    The price of a load into free memory is that, but for the unused room in place of victims.
    """
    usable = server.usable_mib
    assert usable is not None, "without a budget there is no price"
    free = server.free_mib
    is_one_enough = free is None or footprint - free <= server.largest_idle_mib
    unloads_s = UNLOAD_S if is_one_enough else 2 * UNLOAD_S
    return price.cost_s - UNUSED_ROOM_S * (1 - footprint / usable) + unloads_s


def _eviction(
    *,
    snapshot: ClusterSnapshot,
    request: CallRequest,
    preferred: Candidate,
    target: Target,
    server: Server,
    footprint: int,
) -> _Way | None:
    free = server.free_mib if server.free_mib is not None else snapshot.free_mib(server)
    if free is None or not fit.may_load(snapshot=snapshot, server=server, candidate=target.candidate, request=request):
        return None
    room_mib = footprint - free
    victims = _victims(snapshot=snapshot, request=request, preferred=preferred, server=server, room_mib=room_mib)
    if victims is None:
        return None
    cost_s = evict_cost(server=server, footprint_mib=footprint, victims=victims)
    evicts = tuple(victim.model for victim in victims)
    key, lightness, model = round(cost_s, COST_DIGITS), -server.weight, target.candidate.model
    return _Way(key, True, len(victims), target.rank, lightness, server.name, model, cost_s, footprint, evicts)


def _victims(
    *, snapshot: ClusterSnapshot, request: CallRequest, preferred: Candidate, server: Server, room_mib: int
) -> tuple[Victim, ...] | None:
    if server.drain is None:
        one = one_victim(snapshot=snapshot, server=server, request=request, room_mib=room_mib)
        if one is not None:
            return (one,)
    granted = _granted(server=server, request=request, preferred=preferred)
    idle = idle_victims(snapshot=snapshot, server=server, request=request, granted=granted)
    return fewest_least_needed(victims=idle, room_mib=room_mib)


def _granted(*, server: Server, request: CallRequest, preferred: Candidate) -> frozenset[str]:
    """Name the victims that a drain for this very request may take although others want them."""
    drain = server.drain
    if drain is None or drain.agent != request.agent or drain.model != preferred.model:
        return frozenset()
    return frozenset(drain.victims)
