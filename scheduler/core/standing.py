"""Where each waiter stands: its place in line, and an honest estimate of how much longer."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from scheduler.core import draining
from scheduler.core.admission.closed import closed_places
from scheduler.core.config import SchedulerConfig
from scheduler.core.line import turn_of
from scheduler.core.placement import fit
from scheduler.core.placement.estimates import caps_wait_s, load_seconds, rest_of_load, wait_seconds
from scheduler.core.snapshot import ClusterSnapshot
from scheduler.core.types import Turn, Waiter

Alike = dict[object, tuple[float | None, tuple[str, ...]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """A waiter with its place (1 is next) and the seconds it still takes; None where nobody can tell.

    Place 0: it has its place and waits for the load alone. `closed`: the servers it waits for, where its models have no
    place but on servers that take no calls now. `group`: the resource group whose cap alone keeps it from a slot of the
    copy that it queues on.
    """

    waiter: Waiter
    position: int
    eta_s: float | None
    closed: tuple[str, ...] = ()
    group: str = ""


def standings(
    *,
    snapshot: ClusterSnapshot,
    waiters: Iterable[Waiter],
    config: SchedulerConfig,
    is_weighted: bool,
    limit: int | None = None,
) -> tuple[Standing, ...]:
    """List the waiters in the order of the line; at most `limit` of them, where estimates for all would be too many."""
    turns = sorted(
        (turn_of(waiter=waiter, now=snapshot.now, config=config, is_weighted=is_weighted), waiter)
        for waiter in waiters
        if waiter.is_waiting
    )
    alike: Alike = {}
    return tuple(
        _standing(snapshot=snapshot, waiter=waiter, turn=turn, position=place, alike=alike)
        for place, (turn, waiter) in enumerate(turns[:limit], start=1)
    )


def standing_of(
    *,
    snapshot: ClusterSnapshot,
    waiters: Iterable[Waiter],
    waiter: Waiter,
    config: SchedulerConfig,
    is_weighted: bool,
) -> Standing:
    """Say where one waiter stands, without estimating for all the others."""
    if not waiter.is_waiting:
        return Standing(waiter=waiter, position=0, eta_s=_load_eta_s(snapshot=snapshot, waiter=waiter))
    turn = turn_of(waiter=waiter, now=snapshot.now, config=config, is_weighted=is_weighted)
    ahead = sum(
        1
        for other in waiters
        if other.is_waiting and turn_of(waiter=other, now=snapshot.now, config=config, is_weighted=is_weighted) < turn
    )
    return _standing(snapshot=snapshot, waiter=waiter, turn=turn, position=ahead + 1, alike={})


def _standing(*, snapshot: ClusterSnapshot, waiter: Waiter, turn: Turn, position: int, alike: Alike) -> Standing:
    """Estimate by the copy it queues on; for a model that must come first, by the server where that goes soonest.

    `alike` remembers the latter for those who wait alike: looking at every server for each of them is what makes a
    long line slow.
    """
    server = snapshot.servers.get(waiter.server or "")
    if server is not None:
        request = replace(waiter.request(), turn=turn)
        eta_s = wait_seconds(snapshot=snapshot, server=server, model=waiter.model, request=request)
        is_held = fit.is_held_by_group(snapshot=snapshot, server=server, model=waiter.model, request=request)
        group = server.resource_group.name if is_held and server.resource_group is not None else ""
        return Standing(waiter=waiter, position=position, eta_s=eta_s, group=group)
    if not waiter.model or not waiter.needs_model:
        return Standing(waiter=waiter, position=position, eta_s=None)
    kind = (waiter.model, waiter.candidates, waiter.prompt_tokens, waiter.priority)
    if kind not in alike:
        closed = closed_places(snapshot=snapshot, waiter=waiter)
        alike[kind] = None if closed else _room_eta_s(snapshot=snapshot, waiter=waiter), closed
    eta_s, closed = alike[kind]
    return Standing(waiter=waiter, position=position, eta_s=eta_s, closed=closed)


def _room_eta_s(*, snapshot: ClusterSnapshot, waiter: Waiter) -> float | None:
    """Estimate when a server is emptied for it, or has a place under its caps where the memory is free; the sooner."""
    found = [draining.least_cost_s(snapshot=snapshot, waiter=waiter)]
    request, candidate = waiter.request(), next((c for c in waiter.candidates if c.model == waiter.model), None)
    for server in map(snapshot.servers.__getitem__, snapshot.index.capped):
        if candidate is not None and fit.is_kept_by_caps(
            snapshot=snapshot, server=server, candidate=candidate, request=request
        ):
            caps_s = caps_wait_s(snapshot=snapshot, server=server, request=request, queued=0)
            load_s = load_seconds(snapshot=snapshot, server=server, model=waiter.model)
            found.append(None if caps_s is None else caps_s + load_s)
    return min((each for each in found if each is not None), default=None)


def _load_eta_s(*, snapshot: ClusterSnapshot, waiter: Waiter) -> float | None:
    for server in snapshot.servers.values():
        for tickets in server.loading.values():
            for ticket in tickets:
                if ticket.waiter == waiter.id:
                    return rest_of_load(snapshot=snapshot, server=server, model=ticket.model)
    return None
