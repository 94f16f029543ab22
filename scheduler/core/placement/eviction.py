"""Which residents go: the fewest that make room, among equally few the least needed, never one in use.

The choice is exact and takes polynomial time: a server with many small models must not make a decision slow.
"""

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

from scheduler.core.placement.demand import Need, need_by
from scheduler.core.snapshot import ClusterSnapshot, Server
from scheduler.core.types import CallRequest

HANDFUL = 5


class Victim(NamedTuple):  # not a dataclass: many are looked at for each that goes
    """A resident that may go, with what its going frees and costs to bring back."""

    model: str
    footprint_mib: int
    need: Need


def idle_victims(
    *, snapshot: ClusterSnapshot, server: Server, request: CallRequest, granted: frozenset[str]
) -> tuple[Victim, ...]:
    """List the residents that may be unloaded for the request.

    `granted` are those that the request's own drain may take although others want them. Residents of unknown size are
    left alone: nobody can say what their going would free.
    """
    victims = []
    for resident, key in zip(server.idle_copies, server.idle_keys, strict=True):
        footprint = resident.footprint_mib
        if footprint is None:
            footprint = snapshot.footprint(server=server, model=resident.model)
            if footprint is None:
                continue
        need = need_by(snapshot=snapshot, request=request, key=key)
        if (need.waiting <= 0 and need.intents <= 0) or resident.model in granted:
            victims.append(Victim(resident.model, footprint, need))
    return tuple(victims)


def one_victim(*, snapshot: ClusterSnapshot, server: Server, request: CallRequest, room_mib: float) -> Victim | None:
    """Choose the single resident whose going is enough; None where it takes more, or a size is not known here.

    Mostly one is enough: then the least needed of those goes, and nobody else need be looked at.
    """
    best: tuple[Need, str, int] | None = None
    needs = snapshot.needs
    for resident, key in zip(server.idle_copies, server.idle_keys, strict=True):
        size = resident.footprint_mib
        if size is None:
            return None
        if size < room_mib:
            continue
        known = needs.get(key)
        need: Need
        if known is None or known[0].waiting or known[0].intents:
            # Where others want it, perhaps it is nobody but the request itself.
            need = need_by(snapshot=snapshot, request=request, key=key)
            if need.waiting or need.intents:
                continue
        else:
            need = known[0]
        if best is None or (need, resident.model) < best[:2]:
            best = (need, resident.model, size)
    return None if best is None else Victim(best[1], best[2], best[0])


def fewest_least_needed(*, victims: Sequence[Victim], room_mib: float) -> tuple[Victim, ...] | None:
    """Choose the victims whose going frees at least `room_mib`; None when all together do not.

    1. As few as possible.
    2. Among those sets, the one whose sorted list of needs is least.
    3. Among those, the one whose sorted list of names is least.
    """
    # 1. The largest ones show how few are enough.
    count = _fewest(sizes=sorted((v.footprint_mib for v in victims), reverse=True), room_mib=room_mib)
    if count is None:
        return None
    # 2. and 3. Of a handful all sets are compared; else each choice is the least one that can still be completed.
    if len(victims) <= HANDFUL:
        return _least_of_all(victims=victims, count=count, room_mib=room_mib)
    picks = _least_needs(victims=victims, count=count, room_mib=room_mib)
    return _least_names(victims=victims, picks=picks, room_mib=room_mib)


def _fewest(*, sizes: Sequence[int], room_mib: float) -> int | None:
    total = 0
    for count, size in enumerate(sizes, start=1):
        total += size
        if total >= room_mib:
            return count
    return None


def _least_of_all(*, victims: Sequence[Victim], count: int, room_mib: float) -> tuple[Victim, ...]:
    enough = (some for some in combinations(victims, count) if sum(v.footprint_mib for v in some) >= room_mib)
    best = min(enough, key=lambda some: (sorted(v.need for v in some), sorted(v.model for v in some)))
    return tuple(sorted(best, key=lambda v: (v.need, v.model)))


def _least_needs(*, victims: Sequence[Victim], count: int, room_mib: float) -> dict[Need, int]:
    """Find how many victims of each need the best set has."""
    groups: dict[Need, list[int]] = {}
    for victim in sorted(victims, key=lambda v: -v.footprint_mib):
        groups.setdefault(victim.need, []).append(victim.footprint_mib)
    order = sorted(groups)
    picks: dict[Need, int] = {}
    freed, first = 0, 0
    for left in range(count - 1, -1, -1):
        for index in range(first, len(order)):
            sizes = groups[order[index]]
            taken = picks.get(order[index], 0)
            if taken == len(sizes):
                continue
            rest = sizes[taken + 1 :] + [size for need in order[index + 1 :] for size in groups[need]]
            if freed + sizes[taken] + sum(sorted(rest, reverse=True)[:left]) >= room_mib and len(rest) >= left:
                picks[order[index]] = taken + 1
                freed, first = freed + sizes[taken], index
                break
    return picks


def _least_names(*, victims: Sequence[Victim], picks: dict[Need, int], room_mib: float) -> tuple[Victim, ...]:
    """Choose the victims with the least names that keep to the number of each need."""
    open_picks = dict(picks)
    by_name = sorted(victims, key=lambda v: v.model)
    chosen: list[Victim] = []
    for position, victim in enumerate(by_name):
        if not open_picks.get(victim.need):
            continue
        after = {**open_picks, victim.need: open_picks[victim.need] - 1}
        most = _most_freed(victims=by_name[position + 1 :], picks=after)
        if most is not None and sum(v.footprint_mib for v in chosen) + victim.footprint_mib + most >= room_mib:
            chosen.append(victim)
            open_picks = after
    return tuple(sorted(chosen, key=lambda v: (v.need, v.model)))


def _most_freed(*, victims: Sequence[Victim], picks: dict[Need, int]) -> int | None:
    """Work out the most that so many victims of each need can free; None when there are too few."""
    freed = 0
    for need, count in picks.items():
        sizes = sorted((v.footprint_mib for v in victims if v.need == need), reverse=True)
        if len(sizes) < count:
            return None
        freed += sum(sizes[:count])
    return freed
