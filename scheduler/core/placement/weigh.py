"""Steps 4 to 6 of the decision: queueing, loading and unloading compared in seconds (scheduling rules, section 3).

House rules: what is priced is cheap (numbers in tuples), and only the best few become options; a server that cannot be
among them is not looked at any closer than its bound.
"""

from bisect import insort
from collections.abc import Iterable, Iterator, Sequence
from heapq import heapify, heappop
from typing import NamedTuple

from scheduler.core.decisions import TRACE_OPTIONS, Decision, Evict, Load, Option, Queue, Verdict, Wait
from scheduler.core.placement import fit
from scheduler.core.placement.cost import FAILURE_S, UNLOAD_S, evict_cost, load_cost
from scheduler.core.placement.estimates import wait_seconds
from scheduler.core.placement.eviction import fewest_least_needed, idle_victims
from scheduler.core.snapshot import ClusterSnapshot, Server
from scheduler.core.types import CallRequest, Candidate

COST_DIGITS = 9
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


def weigh(*, snapshot: ClusterSnapshot, request: CallRequest, left: Sequence[Candidate]) -> Decision:
    """Take the cheapest way for candidates without a free slot or a load to join; wait where there is none."""
    targets = tuple(c for c in left if c.score == left[0].score)
    ways = _loads(snapshot=snapshot, request=request, targets=targets)
    if ways:
        # 4. Free memory somewhere: only the targets' own copies are worth queueing on.
        ways += _queues(snapshot=snapshot, request=request, candidates=targets)
    else:
        # 5. No free memory: any acceptable copy, or unloading.
        queues = sorted(_queues(snapshot=snapshot, request=request, candidates=left))
        ways = _evictions(snapshot=snapshot, request=request, targets=targets, queues=queues)
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
    """Price the next slot of every busy copy. None of them has a free one: steps 1 to 3 would have taken it."""
    ways = []
    for rank, candidate in enumerate(candidates):
        model = candidate.model
        for server in fit.copies(snapshot=snapshot, candidate=candidate, request=request, loading=False):
            cost_s = wait_seconds(snapshot=snapshot, server=server, model=model, request=request)
            if cost_s is not None:
                # Equal costs are sums in different orders: the last bit must not decide between them.
                key = round(cost_s, COST_DIGITS)
                ways.append(_Way(key, False, 0, rank, -server.weight, server.name, model, cost_s, 0, ()))
    return ways


def _loads(*, snapshot: ClusterSnapshot, request: CallRequest, targets: Sequence[Candidate]) -> list[_Way]:
    """Price a load of every target on every server with free memory for it; give the best few."""
    ways = []
    for rank, target in enumerate(targets):
        model = target.model
        is_second_copy = _has_open_copy(snapshot=snapshot, model=model)
        priced = []
        for server, footprint in _with_memory(snapshot=snapshot, model=model, idle_too=False):
            cost_s = load_cost(server=server, footprint_mib=footprint, is_second_copy=is_second_copy)
            priced.append((round(cost_s, COST_DIGITS), -server.weight, server.name, cost_s, footprint))
        heapify(priced)
        allowed = 0
        while priced and allowed < TRACE_OPTIONS:
            key, lightness, name, cost_s, footprint = heappop(priced)
            if fit.may_load(server=snapshot.servers[name], candidate=target, request=request):
                ways.append(_Way(key, True, 0, rank, lightness, name, model, cost_s, footprint, ()))
                allowed += 1
    return ways


def _with_memory(*, snapshot: ClusterSnapshot, model: str, idle_too: bool) -> Iterator[tuple[Server, int]]:
    """Go through the servers with memory for a model, and its footprint there; `idle_too`: with idle residents gone.

    Whatever else may keep the model from being loaded there is not asked, only what the index knows.
    """
    index, servers = snapshot.index, snapshot.servers
    footprint = snapshot.shared_footprint(model)
    special = index.unsure.union(index.holders.get(model, ()))
    if footprint is not None:
        for _, name in index.with_room(footprint) if idle_too else index.with_free(footprint):
            if name not in special:
                yield servers[name], footprint
    # Where a server has a size of its own for the model, or does not know all that it holds, it is asked itself.
    for name in special:
        server = servers[name]
        if model in server.occupied:
            continue
        own, free = snapshot.footprint(server=server, model=model), snapshot.free_mib(server)
        if own is not None and free is not None and (idle_too or own <= free):
            yield server, own


def _has_open_copy(*, snapshot: ClusterSnapshot, model: str) -> bool:
    holding = snapshot.holding(model)
    return any(server.is_open and (model in server.warm or model in server.loading) for server in holding)


def _evictions(
    *, snapshot: ClusterSnapshot, request: CallRequest, targets: Sequence[Candidate], queues: Sequence[_Way]
) -> list[_Way]:
    """Price unloading idle models for every target on every server that could hold it; give the best few ways.

    A server is looked at in the order of the least it could cost, and no more once that is too much to be named.
    """
    ways = list(queues[:TRACE_OPTIONS])
    bounds = list(_bounds(snapshot=snapshot, targets=targets))
    heapify(bounds)
    while bounds:
        bound_s, rank, name, footprint = heappop(bounds)
        if len(ways) == TRACE_OPTIONS and bound_s - BOUND_SLACK_S > ways[-1].cost_s:
            break
        way = _eviction(
            snapshot=snapshot,
            request=request,
            targets=targets,
            rank=rank,
            server=snapshot.servers[name],
            footprint=footprint,
        )
        if way is not None:
            insort(ways, way)
            del ways[TRACE_OPTIONS:]
    return ways


def _bounds(*, snapshot: ClusterSnapshot, targets: Sequence[Candidate]) -> Iterable[tuple[float, int, str, int]]:
    """Give the least that unloading could cost: the load, one victim that nobody needs again, the risk."""
    for rank, target in enumerate(targets):
        for server, footprint in _with_memory(snapshot=snapshot, model=target.model, idle_too=True):
            bound_s = server.load_seconds(footprint) + UNLOAD_S + FAILURE_S * server.failure_rate
            yield bound_s, rank, server.name, footprint


def _eviction(
    *,
    snapshot: ClusterSnapshot,
    request: CallRequest,
    targets: Sequence[Candidate],
    rank: int,
    server: Server,
    footprint: int,
) -> _Way | None:
    target, free = targets[rank], snapshot.free_mib(server)
    if free is None or not fit.may_load(server=server, candidate=target, request=request):
        return None
    granted = _granted(server=server, request=request, preferred=targets[0])
    idle = idle_victims(snapshot=snapshot, server=server, request=request, granted=granted)
    victims = fewest_least_needed(victims=idle, room_mib=footprint - free)
    if victims is None:
        return None
    cost_s = evict_cost(server=server, footprint_mib=footprint, victims=victims)
    return _Way(
        cost_key=round(cost_s, COST_DIGITS),
        moves_a_model=True,
        victims=len(victims),
        rank=rank,
        lightness=-server.weight,
        server=server.name,
        model=target.model,
        cost_s=cost_s,
        footprint_mib=footprint,
        evicts=tuple(victim.model for victim in victims),
    )


def _granted(*, server: Server, request: CallRequest, preferred: Candidate) -> frozenset[str]:
    """Name the victims that a drain for this very request may take although others want them."""
    drain = server.drain
    if drain is None or drain.agent != request.agent or drain.model != preferred.model:
        return frozenset()
    return frozenset(drain.victims)
