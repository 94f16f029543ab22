"""Filters: where a model could ever run, where it has a free slot now, where it may be loaded."""

from collections.abc import Iterable, Iterator
from itertools import chain

from scheduler.core.index import CopyOrder, copy_order
from scheduler.core.placement.caps import is_below_caps, is_below_own_cap, is_group_full
from scheduler.core.snapshot import ClusterSnapshot, Server
from scheduler.core.types import CallRequest, Candidate


def may_hold(*, server: Server, candidate: Candidate) -> bool:
    """Say whether the engine can load the candidate and its Model objects allow the server."""
    return server.allows(candidate.model) and candidate.may_run_on(server.name)


def could_hold_ever(*, snapshot: ClusterSnapshot, server: Server, candidate: Candidate) -> bool:
    """Say whether an empty server could hold the candidate. What is not known never proves a model too large."""
    if not may_hold(server=server, candidate=candidate):
        return False
    footprint = snapshot.footprint(server=server, model=candidate.model)
    return server.usable_mib is None or footprint is None or footprint <= server.usable_mib


def is_resident_anywhere(*, snapshot: ClusterSnapshot, candidate: Candidate) -> bool:
    """Say whether any server, ready or not, has the candidate in memory and is not about to unload it."""
    holding = snapshot.holding(candidate.model)
    return any(candidate.model in server.warm and candidate.may_run_on(server.name) for server in holding)


def can_ever_be_placed(*, snapshot: ClusterSnapshot, candidate: Candidate) -> bool:
    """Say whether the candidate is resident somewhere or some server, ready or not, could hold it."""
    return is_resident_anywhere(snapshot=snapshot, candidate=candidate) or any(
        could_hold_ever(snapshot=snapshot, server=server, candidate=candidate)
        for server in _able(snapshot=snapshot, candidate=candidate)
    )


def has_context_somewhere(*, snapshot: ClusterSnapshot, candidate: Candidate, request: CallRequest) -> bool:
    """Say whether the prompt of a candidate that can be placed fits on some server, ready or not, where it can be."""
    contexts = snapshot.index.known_contexts
    if request.prompt_tokens is None or not contexts or request.prompt_tokens <= contexts[0]:
        # It fits everywhere.
        return True
    return any(
        server.fits_prompt(model=candidate.model, prompt_tokens=request.prompt_tokens)
        and is_place(snapshot=snapshot, server=server, candidate=candidate)
        for server in chain(snapshot.holding(candidate.model), _able(snapshot=snapshot, candidate=candidate))
    )


def _able(*, snapshot: ClusterSnapshot, candidate: Candidate) -> Iterator[Server]:
    """Go through the servers whose engines can load the candidate at all."""
    servers = snapshot.servers
    return map(servers.__getitem__, snapshot.index.able(model=candidate.model, servers=servers))


def is_place(*, snapshot: ClusterSnapshot, server: Server, candidate: Candidate) -> bool:
    """Say whether the candidate is on the server, comes to it, or could be held by it."""
    if not candidate.may_run_on(server.name):
        return False
    here = candidate.model in server.warm or candidate.model in server.loading
    return here or could_hold_ever(snapshot=snapshot, server=server, candidate=candidate)


def copies(
    *, snapshot: ClusterSnapshot, candidate: Candidate, request: CallRequest, loading: bool
) -> tuple[Server, ...]:
    """List the open servers with a copy of the candidate that the request may use now or queue on.

    `loading` chooses between copies that load and copies that are resident. Copies that a drain takes are left out.
    """
    return tuple(
        server
        for server in snapshot.holding(candidate.model)
        if is_copy(snapshot=snapshot, server=server, candidate=candidate, request=request, loading=loading)
    )


def is_copy(
    *, snapshot: ClusterSnapshot, server: Server, candidate: Candidate, request: CallRequest, loading: bool
) -> bool:
    """Say whether an open server has a copy of the candidate that the request may use now or queue on."""
    model = candidate.model
    return (
        server.is_open
        and model in (server.loading if loading else server.warm)
        and candidate.may_run_on(server.name)
        and server.fits_prompt(model=model, prompt_tokens=request.prompt_tokens)
        and not is_drained(snapshot=snapshot, server=server, model=model, request=request)
    )


def free_copies(*, snapshot: ClusterSnapshot, candidate: Candidate, request: CallRequest) -> Iterator[Server]:
    """Go through the resident copies with a free slot for the request, the best first.

    Best is: not spilling, then fewest tickets per slot, then higher weight, then name.
    """
    model = candidate.model
    for order in _copy_orders(snapshot=snapshot, model=model, request=request):
        server = snapshot.servers[order[-1]]
        if (
            (candidate.servers is None or server.name in candidate.servers)
            and (request.prompt_tokens is None or server.fits_prompt(model=model, prompt_tokens=request.prompt_tokens))
            and (server.max_concurrent is None or is_below_own_cap(server=server, request=request))
            and (server.resource_group is None or not is_group_full(snapshot=snapshot, server=server, request=request))
            and (server.drain is None or not is_drained(snapshot=snapshot, server=server, model=model, request=request))
        ):
            yield server


def _copy_orders(*, snapshot: ClusterSnapshot, model: str, request: CallRequest) -> Iterable[CopyOrder]:
    index = snapshot.index
    orders = index.free_copies.get(model, [])
    lenders = index.planned.get(request.agent)
    if not lenders:
        return orders
    # Places held for the request's own agent do not count: there it may find a slot, or more of them, than others.
    own = []
    for name in lenders:
        server = snapshot.servers[name]
        if server.is_open and model in server.warm:
            taken = tickets_on(server=server, model=model, request=request)
            if taken < server.slots:
                own.append(copy_order(server=server, model=model, tickets=taken))
    return sorted((*(order for order in orders if order[-1] not in lenders), *own))


def is_drained(*, snapshot: ClusterSnapshot, server: Server, model: str, request: CallRequest) -> bool:
    """Say whether a drain keeps the request off this copy.

    Requests that waited before the drain began may still go first within one load time of the drain's model: serving
    two seconds of calls beats a reload of thirty.
    """
    drain = server.drain
    if drain is None or server.copy_name(model) not in drain.victims:
        return False
    footprint = snapshot.footprint(server=server, model=drain.model)
    grace = 0.0 if footprint is None else server.load_seconds(footprint)
    return not (request.arrived_at < drain.since and snapshot.now < drain.since + grace)


def has_free_slot(*, snapshot: ClusterSnapshot, server: Server, model: str, request: CallRequest) -> bool:
    """Say whether the copy has a slot for the request, and the caps of the server and its group leave a place."""
    has_slot = tickets_on(server=server, model=model, request=request) < server.slots
    return has_slot and is_below_caps(snapshot=snapshot, server=server, request=request)


def is_held_by_group(*, snapshot: ClusterSnapshot, server: Server, model: str, request: CallRequest) -> bool:
    """Say whether only the cap of its resource group keeps the request from a slot of the copy."""
    return (
        is_group_full(snapshot=snapshot, server=server, request=request)
        and tickets_on(server=server, model=model, request=request) < server.slots
        and is_below_own_cap(server=server, request=request)
    )


def tickets_on(*, server: Server, model: str, request: CallRequest) -> int:
    """Count the tickets of a copy that count against the request."""
    return len(server.counted(request, server.tickets_of.get(model, ())))


def may_load(*, snapshot: ClusterSnapshot, server: Server, candidate: Candidate, request: CallRequest) -> bool:
    """Say whether a new copy of the candidate may come to the server, memory aside."""
    return may_come(server=server, candidate=candidate, request=request) and is_below_caps(
        snapshot=snapshot, server=server, request=request
    )


def is_kept_by_caps(*, snapshot: ClusterSnapshot, server: Server, candidate: Candidate, request: CallRequest) -> bool:
    """Say whether only caps, the server's or its group's, keep a load of the candidate out of its free memory."""
    if is_below_caps(snapshot=snapshot, server=server, request=request):
        return False
    footprint = snapshot.footprint(server=server, model=candidate.model)
    free = snapshot.free_mib(server)
    has_memory = footprint is not None and free is not None and footprint <= free
    return has_memory and may_come(server=server, candidate=candidate, request=request)


def may_come(*, server: Server, candidate: Candidate, request: CallRequest) -> bool:
    """Say whether a new copy of the candidate may come to the server, memory and caps aside."""
    model = candidate.model
    return (
        model not in server.occupied
        and server.is_open
        and server.usable_mib is not None
        and server.can_load
        and (server.models is None or model in server.models)
        and (candidate.servers is None or server.name in candidate.servers)
        and (server.drain is None or server.drain.model == model)
        and (request.prompt_tokens is None or server.fits_prompt(model=model, prompt_tokens=request.prompt_tokens))
    )
