"""The decision for one request on one snapshot: scheduling rules, section 3, step by step."""

from itertools import islice

from scheduler.core.decisions import TRACE_OPTIONS, Decision, Join, Option, Queue, Reason, StandAside, Use, Verdict
from scheduler.core.index import copy_order
from scheduler.core.placement import fit
from scheduler.core.placement.estimates import rest_of_load, wait_seconds
from scheduler.core.placement.weigh import weigh
from scheduler.core.snapshot import ClusterSnapshot, Server
from scheduler.core.types import CallRequest, Candidate


class NoCandidates(ValueError):
    """A request without candidates is an error of the request, not a decision."""


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
    used = _first_use(snapshot=snapshot, request=request, acceptable=acceptable)
    if used is not None:
        return used

    # 0. Could it ever?
    left = _possible(snapshot=snapshot, request=request, acceptable=acceptable)
    if isinstance(left, StandAside):
        return left

    # 3. A load under way.
    joined = _first_join(snapshot=snapshot, request=request, left=left)
    if joined is not None:
        return joined

    # 4. to 6. Weigh the rest.
    return weigh(snapshot=snapshot, request=request, left=left)


def place_now(*, request: CallRequest, snapshot: ClusterSnapshot) -> Use | Join | None:
    """Say where the request gets a free slot; None where `decide` says anything else. Nothing is weighed for it."""
    acceptable = request.acceptable
    used = _first_use(snapshot=snapshot, request=request, acceptable=acceptable)
    if used is not None or not any(candidate.model in snapshot.index.loading for candidate in acceptable):
        return used
    left = _possible(snapshot=snapshot, request=request, acceptable=acceptable)
    if isinstance(left, StandAside):
        return None
    joined = _first_join(snapshot=snapshot, request=request, left=left)
    return joined if isinstance(joined, Join) else None


def _possible(
    *, snapshot: ClusterSnapshot, request: CallRequest, acceptable: tuple[Candidate, ...]
) -> tuple[Candidate, ...] | StandAside:
    """Drop what can never be placed, then what no context fits."""
    placeable = tuple(c for c in acceptable if fit.can_ever_be_placed(snapshot=snapshot, candidate=c))
    if not placeable:
        return StandAside(model=request.candidates[0].model, reason=Reason.MODEL_TOO_LARGE)
    left = tuple(c for c in placeable if fit.has_context_somewhere(snapshot=snapshot, candidate=c, request=request))
    return left or StandAside(model=request.candidates[0].model, reason=Reason.PROMPT_TOO_LARGE)


def _first_use(*, snapshot: ClusterSnapshot, request: CallRequest, acceptable: tuple[Candidate, ...]) -> Use | None:
    for candidate in acceptable:
        used = _use(snapshot=snapshot, request=request, candidate=candidate)
        if used is not None:
            return used
    return None


def _first_join(*, snapshot: ClusterSnapshot, request: CallRequest, left: tuple[Candidate, ...]) -> Join | Queue | None:
    for candidate in left:
        if candidate.model in snapshot.index.loading:
            joined = _join(snapshot=snapshot, request=request, candidate=candidate)
            if joined is not None:
                return joined
    return None


def _use(*, snapshot: ClusterSnapshot, request: CallRequest, candidate: Candidate) -> Use | None:
    model = candidate.model
    copies = tuple(islice(fit.free_copies(snapshot=snapshot, candidate=candidate, request=request), TRACE_OPTIONS))
    if not copies:
        return None
    options = tuple(
        Option(
            action="use",
            server=server.name,
            model=model,
            cost_s=0.0,
            verdict=Verdict.OTHER_COPY_FIRST if place else Verdict.CHOSEN,
        )
        for place, server in enumerate(copies)
    )
    return Use(server=copies[0].name, model=model, options=options)


def _join(*, snapshot: ClusterSnapshot, request: CallRequest, candidate: Candidate) -> Join | Queue | None:
    model = candidate.model
    loading = fit.copies(snapshot=snapshot, candidate=candidate, request=request, loading=True)

    def order(server: Server) -> tuple[bool, bool, float, float, str]:
        is_full = not fit.has_free_slot(snapshot=snapshot, server=server, model=model, request=request)
        taken = fit.tickets_on(server=server, model=model, request=request)
        return (is_full, *copy_order(server=server, model=model, tickets=taken))

    for server in sorted(loading, key=order):
        if fit.has_free_slot(snapshot=snapshot, server=server, model=model, request=request):
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
