"""Where a model could be brought, and at which price: the cheapest servers first."""

from collections.abc import Iterator, Sequence
from heapq import merge
from typing import NamedTuple

from scheduler.core.prices import Price, PricedLoad, has_price, price_of
from scheduler.core.snapshot import ClusterSnapshot, Server
from scheduler.core.types import Candidate

FEW = 16
"""So few servers are priced on the spot rather than looked for in the prices of all."""


class Target(NamedTuple):
    """A candidate that may be loaded, with its place among them and its footprint where a server knows no other.

    `special` are the servers that may know another one, or do not know all that they hold; `own` those of them where it
    could be loaded, with its footprint there.
    """

    candidate: Candidate
    rank: int
    footprint_mib: int | None
    special: frozenset[str]
    own: tuple[tuple[Server, int], ...]


def targets_of(*, snapshot: ClusterSnapshot, candidates: Sequence[Candidate]) -> tuple[Target, ...]:
    """Gather what is known of the candidates that may be loaded."""
    return tuple(_target(snapshot=snapshot, candidate=each, rank=rank) for rank, each in enumerate(candidates))


def _target(*, snapshot: ClusterSnapshot, candidate: Candidate, rank: int) -> Target:
    model, index = candidate.model, snapshot.index
    special = index.unsure.union(index.holders.get(model, ()))
    own = tuple(
        (server, footprint)
        for server in map(snapshot.servers.__getitem__, special)
        if model not in server.occupied
        and has_price(server)
        and (footprint := snapshot.footprint(server=server, model=model)) is not None
    )
    return Target(candidate, rank, snapshot.shared_footprint(model), special, own)


def priced(
    *, snapshot: ClusterSnapshot, target: Target, is_second: bool, idle_too: bool
) -> Iterator[tuple[Price, int, int]]:
    """Go through what loading a target costs, its footprint and its rank, the cheapest servers first.

    All servers with the memory are among them, and others; `idle_too`: those with the memory once idle residents go.
    """
    index, servers, special, footprint = snapshot.index, snapshot.servers, target.special, target.footprint_mib
    rank = target.rank
    own = [
        (price_of(server=server, load=PricedLoad(mib=mib, is_second_copy=is_second)), mib, rank)
        for server, mib in target.own
    ]
    own.sort()
    if footprint is None:
        return iter(own)
    load = PricedLoad(mib=footprint, is_second_copy=is_second)
    rooms = index.with_room(footprint) if idle_too else index.with_free(footprint)
    if len(rooms) <= FEW:
        few = [(price_of(server=servers[name], load=load), footprint, rank) for _, name in rooms if name not in special]
        return iter(sorted(few + own))
    prices = index.prices.cheapest_first(load=load, servers=servers)
    others = ((price, footprint, rank) for price in prices if price.server not in special)
    return merge(others, own) if own else others


def may_load_free(*, snapshot: ClusterSnapshot, target: Target) -> bool:
    """Say whether some server might have free memory for a target. False is certain, and quick."""
    free, footprint = snapshot.index.free, target.footprint_mib
    return bool(target.own) or (footprint is not None and bool(free) and free[-1][0] >= footprint)


def may_move(*, snapshot: ClusterSnapshot, candidates: Sequence[Candidate]) -> bool:
    """Say whether some server might have the memory for one of the candidates, all idle residents gone.

    False is certain, and quick: in a crowded cluster most of those who wait need not be weighed any further.
    """
    index, servers = snapshot.index, snapshot.servers
    if index.unsure:
        return True
    most_mib = index.room[-1][0] if index.room else -1
    for candidate in candidates:
        footprint = snapshot.shared_footprint(candidate.model)
        if footprint is not None and footprint <= most_mib:
            return True
        # A server may know another size of its own for a model that it had.
        if any(candidate.model not in servers[name].occupied for name in index.holders.get(candidate.model, ())):
            return True
    return False
