"""The decision for one request on one snapshot: scheduling rules, section 3, step by step."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from scheduler.core.decisions import Decision, Evict, Join, Load, Option, Queue, Reason, StandAside, Use, Verdict, Wait
from scheduler.core.placement import fit
from scheduler.core.placement.cost import evict_cost, load_cost
from scheduler.core.placement.estimates import rest_of_load, wait_seconds
from scheduler.core.placement.eviction import fewest_least_needed, idle_victims
from scheduler.core.snapshot import ClusterSnapshot, Server
from scheduler.core.types import CallRequest, Candidate

COST_DIGITS = 9


class NoCandidates(ValueError):
    """A request without candidates is an error of the request, not a decision."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Weighed:
    """A decision that could be taken, with what orders it among the others."""

    decision: Queue | Load | Evict
    rank: int
    weight: float

    @property
    def order(self) -> tuple[float, bool, int, int, float, str]:
        """Lowest cost; then queue, fewer victims, earlier candidate, higher weight, name."""
        decision = self.decision
        evicts = len(decision.evicts) if isinstance(decision, Evict) else 0
        return (
            # Equal costs are sums in different orders: the last bit must not decide between them.
            round(decision.cost_s, COST_DIGITS),
            not isinstance(decision, Queue),
            evicts,
            self.rank,
            -self.weight,
            decision.server,
        )


def decide(*, request: CallRequest, snapshot: ClusterSnapshot) -> Decision:
    """Say where the request runs, or why it does not run now.

    0. Drop what can never be placed, then what no context fits; nothing left: stand aside.
    1. and 2. Use the first acceptable candidate, preferred first, that is resident with a free slot.
    3. Join the first acceptable candidate that is loading; without a free slot there, queue on it.
    4. Some server has free memory for a target: the cheaper of queueing on a target's copy and loading a target.
    5. None has: the cheaper of queueing on any acceptable copy and unloading idle models for a target.
    6. Otherwise wait.

    Raises:
        NoCandidates: the request names no candidate.
    """
    if not request.candidates:
        raise NoCandidates("The request names no candidate model.")
    acceptable = request.acceptable

    # 1. and 2. A resident copy with a free slot can be placed by its existence, so step 0 need not be asked first.
    for candidate in acceptable:
        used = _use(snapshot=snapshot, request=request, candidate=candidate)
        if used is not None:
            return used

    # 0. Could it ever?
    placeable = tuple(c for c in acceptable if fit.can_ever_be_placed(snapshot=snapshot, candidate=c))
    if not placeable:
        return StandAside(model=request.candidates[0].model, reason=Reason.MODEL_TOO_LARGE)
    left = tuple(c for c in placeable if fit.has_context_somewhere(snapshot=snapshot, candidate=c, request=request))
    if not left:
        return StandAside(model=request.candidates[0].model, reason=Reason.PROMPT_TOO_LARGE)

    # 3. A load under way.
    for candidate in left:
        joined = _join(snapshot=snapshot, request=request, candidate=candidate)
        if joined is not None:
            return joined

    # 4. to 6. Weigh the rest.
    return _weigh(snapshot=snapshot, request=request, left=left)


def _use(*, snapshot: ClusterSnapshot, request: CallRequest, candidate: Candidate) -> Use | None:
    model = candidate.model
    free = [
        server
        for server in fit.copies(snapshot=snapshot, candidate=candidate, request=request, loading=False)
        if fit.has_free_slot(server=server, model=model, request=request)
    ]
    if not free:
        return None
    best = min(free, key=lambda server: _copy_order(server=server, model=model, request=request))
    options = (
        Option(action="use", server=best.name, model=model, cost_s=0.0, verdict=Verdict.CHOSEN),
        *(
            Option(action="use", server=server.name, model=model, cost_s=0.0, verdict=Verdict.OTHER_COPY_FIRST)
            for server in free
            if server is not best
        ),
    )
    return Use(server=best.name, model=model, options=options)


def _copy_order(*, server: Server, model: str, request: CallRequest) -> tuple[bool, float, float, str]:
    """Not spilling, then fewest tickets per slot, then higher weight, then name."""
    resident = server.warm.get(model)
    load = fit.tickets_on(server=server, model=model, request=request) / server.slots
    return (resident is not None and resident.spilling, load, -server.weight, server.name)


def _join(*, snapshot: ClusterSnapshot, request: CallRequest, candidate: Candidate) -> Join | Queue | None:
    model = candidate.model
    loading = fit.copies(snapshot=snapshot, candidate=candidate, request=request, loading=True)

    def order(server: Server) -> tuple[bool, bool, float, float, str]:
        is_full = not fit.has_free_slot(server=server, model=model, request=request)
        return (is_full, *_copy_order(server=server, model=model, request=request))

    for server in sorted(loading, key=order):
        if fit.has_free_slot(server=server, model=model, request=request):
            cost_s = rest_of_load(snapshot=snapshot, server=server, model=model)
            chosen = Option(action="join", server=server.name, model=model, cost_s=cost_s, verdict=Verdict.CHOSEN)
            return Join(server=server.name, model=model, cost_s=cost_s, options=(chosen,))
        cost_or_none = wait_seconds(snapshot=snapshot, server=server, model=model, request=request)
        if cost_or_none is not None:
            option = Option(
                action="queue", server=server.name, model=model, cost_s=cost_or_none, verdict=Verdict.CHOSEN
            )
            return Queue(server=server.name, model=model, cost_s=cost_or_none, options=(option,))
    return None


def _weigh(*, snapshot: ClusterSnapshot, request: CallRequest, left: Sequence[Candidate]) -> Decision:
    targets = tuple(c for c in left if c.score == left[0].score)
    loads = _loads(snapshot=snapshot, request=request, targets=targets)
    if loads:
        # 4. Free memory somewhere: only the targets' own copies are worth queueing on.
        weighed = [*_queues(snapshot=snapshot, request=request, candidates=targets), *loads]
    else:
        # 5. No free memory: any acceptable copy, or unloading.
        weighed = [
            *_queues(snapshot=snapshot, request=request, candidates=left),
            *_evictions(snapshot=snapshot, request=request, targets=targets),
        ]
    if not weighed:
        # 6. Neither.
        return Wait(model=left[0].model)
    weighed.sort(key=lambda each: each.order)
    best = weighed[0].decision
    return replace(best, options=_trace(each.decision for each in weighed))


def _trace(decisions: Iterable[Queue | Load | Evict]) -> tuple[Option, ...]:
    options: list[Option] = []
    for decision in decisions:
        verdict = Verdict.CHOSEN
        if options:
            is_tied = round(decision.cost_s, COST_DIGITS) == round(options[0].cost_s or 0.0, COST_DIGITS)
            verdict = Verdict.TIED if is_tied else Verdict.COSTS_MORE
        evicts = decision.evicts if isinstance(decision, Evict) else ()
        options.append(
            Option(
                action=decision.action,
                server=decision.server,
                model=decision.model,
                cost_s=decision.cost_s,
                verdict=verdict,
                evicts=evicts,
            )
        )
    return tuple(options)


def _queues(*, snapshot: ClusterSnapshot, request: CallRequest, candidates: Sequence[Candidate]) -> list[_Weighed]:
    """Price the next slot of every busy copy. None of them has a free one: steps 1 to 3 would have taken it."""
    weighed = []
    for rank, candidate in enumerate(candidates):
        for server in fit.copies(snapshot=snapshot, candidate=candidate, request=request, loading=False):
            cost_s = wait_seconds(snapshot=snapshot, server=server, model=candidate.model, request=request)
            if cost_s is not None:
                queue = Queue(server=server.name, model=candidate.model, cost_s=cost_s)
                weighed.append(_Weighed(decision=queue, rank=rank, weight=server.weight))
    return weighed


def _loads(*, snapshot: ClusterSnapshot, request: CallRequest, targets: Sequence[Candidate]) -> list[_Weighed]:
    """Price a load of every target on every server with free memory for it."""
    weighed = []
    for rank, target in enumerate(targets):
        is_second_copy = _has_open_copy(snapshot=snapshot, model=target.model)
        for server in snapshot.servers.values():
            if not fit.may_load(server=server, candidate=target, request=request):
                continue
            footprint = snapshot.footprint(server=server, model=target.model)
            free = snapshot.free_mib(server)
            if footprint is None or free is None or footprint > free:
                continue
            cost_s = load_cost(server=server, footprint_mib=footprint, is_second_copy=is_second_copy)
            load = Load(server=server.name, model=target.model, footprint_mib=footprint, cost_s=cost_s)
            weighed.append(_Weighed(decision=load, rank=rank, weight=server.weight))
    return weighed


def _has_open_copy(*, snapshot: ClusterSnapshot, model: str) -> bool:
    holding = snapshot.holding(model)
    return any(server.is_open and (model in server.warm or model in server.loading) for server in holding)


def _evictions(*, snapshot: ClusterSnapshot, request: CallRequest, targets: Sequence[Candidate]) -> list[_Weighed]:
    """Price unloading idle models for every target on every server that could hold it."""
    weighed = []
    for rank, target in enumerate(targets):
        for server in snapshot.servers.values():
            if not fit.may_load(server=server, candidate=target, request=request):
                continue
            footprint = snapshot.footprint(server=server, model=target.model)
            free = snapshot.free_mib(server)
            if footprint is None or free is None:
                continue
            granted = _granted(server=server, request=request, preferred=targets[0])
            idle = idle_victims(snapshot=snapshot, server=server, request=request, granted=granted)
            victims = fewest_least_needed(victims=idle, room_mib=footprint - free)
            if victims is None:
                continue
            evict = Evict(
                server=server.name,
                model=target.model,
                footprint_mib=footprint,
                evicts=tuple(victim.model for victim in victims),
                cost_s=evict_cost(server=server, footprint_mib=footprint, victims=victims),
            )
            weighed.append(_Weighed(decision=evict, rank=rank, weight=server.weight))
    return weighed


def _granted(*, server: Server, request: CallRequest, preferred: Candidate) -> frozenset[str]:
    """Name the victims that a drain for this very request may take although others want them."""
    drain = server.drain
    if drain is None or drain.agent != request.agent or drain.model != preferred.model:
        return frozenset()
    return frozenset(drain.victims)
