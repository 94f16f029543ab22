"""What decisions look up about all servers at once: which copies have a free slot, who has memory, who holds a model.

House rules: an index is a value made of the servers alone, and it is never changed; with one server replaced it is made
from the index before, and is equal to one made afresh (the tests hold it to that).
"""

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

from scheduler.core.group_use import GroupUse, InGroup, group_use_of, in_group_of, regrouped
from scheduler.core.once import once
from scheduler.core.prices import Prices
from scheduler.core.server import Server
from scheduler.core.types import Drain

CopyOrder = tuple[bool, float, float, str]
"""What orders copies with a free slot: not spilling, fewest tickets per slot, higher weight, name."""
Room = tuple[int, str]
"""So much memory, on this server."""
T = TypeVar("T")


class Facts(NamedTuple):  # not a dataclass: one is made for each server that changes
    """What one server contributes to the index."""

    models: tuple[str, ...]
    loading: tuple[str, ...]
    free_copies: Mapping[str, CopyOrder]
    free: Room | None
    room: Room | None
    is_unsure: bool
    is_capped: bool
    in_group: InGroup | None


def copy_order(*, server: Server, model: str, tickets: int) -> CopyOrder:
    """Make the order of a copy that so many tickets count against."""
    resident = server.warm.get(model)
    return (resident is not None and resident.spilling, tickets / server.slots, -server.weight, server.name)


def facts_of(server: Server) -> Facts:
    """Work out what a server contributes. Remembered on the server: it never changes."""
    known: Facts | None = server.__dict__.get("index_facts")
    if known is None:
        known = _facts_of(server)
        server.__dict__["index_facts"] = known
    return known


def _facts_of(server: Server) -> Facts:
    free, room, is_unsure = None, None, False
    if server.is_open and server.can_load and server.usable_mib is not None:
        if server.free_mib is None or server.room_mib is None:
            is_unsure = True
        else:
            free, room = (server.free_mib, server.name), (server.room_mib, server.name)
    return Facts(
        models=tuple(dict.fromkeys((*server.known, *server.tickets_of, *server.loading))),
        loading=tuple(server.loading) if server.is_open else (),
        free_copies=_free_copies(server),
        free=free,
        room=room,
        is_unsure=is_unsure,
        is_capped=server.max_concurrent is not None or server.resource_group is not None,
        in_group=in_group_of(server),
    )


def _free_copies(server: Server) -> Mapping[str, CopyOrder]:
    """Order the copies with a free slot for a request that no place here is held for."""
    cap = server.max_concurrent
    if not server.is_open or (cap is not None and len(server.tickets) >= cap):
        return {}
    return {
        model: copy_order(server=server, model=model, tickets=count)
        for model in server.warm
        if (count := len(server.tickets_of.get(model, ()))) < server.slots
    }


@dataclass(frozen=True, kw_only=True)
class ClusterIndex:
    """The look-ups.

    `holders` has the servers that hold a model or have tickets for it, in the snapshot's order, `loading` the open ones
    to which it comes. `free` and `room` order
    the open servers that load: by the memory that nothing holds, and by that with all idle residents gone; where a size
    is not known on the server itself it is among the `unsure`. `planned` has the servers where places are held for an
    agent, `contexts` on how many servers each known context length occurs. `capped` are the servers with a limit on
    calls, `groups` the resource groups in which anybody holds a ticket.
    """

    position: Mapping[str, int]
    holders: Mapping[str, tuple[str, ...]]
    loading: Mapping[str, tuple[str, ...]]
    free_copies: Mapping[str, list[CopyOrder]]
    free: list[Room]
    room: list[Room]
    unsure: frozenset[str]
    drains: Mapping[str, Drain]
    planned: Mapping[str, tuple[str, ...]]
    contexts: Mapping[int, int]
    capped: frozenset[str]
    groups: Mapping[str, GroupUse]
    stocked: dict[str, tuple[str, ...]] = field(default_factory=dict, compare=False, repr=False)
    """Which servers can load a model at all, worked out when asked; shared until what is on some disk changes."""
    prices: Prices = field(default_factory=Prices, compare=False, repr=False)

    @once
    def known_contexts(self) -> tuple[int, ...]:
        """List every context length that is known anywhere, shortest first."""
        return tuple(sorted(self.contexts))

    @once
    def drained_for(self) -> frozenset[str]:
        """Name the waiters that servers are being emptied for."""
        return frozenset(drain.waiter for drain in self.drains.values() if drain.waiter is not None)

    def with_free(self, mib: int) -> list[Room]:
        """List the servers with at least so much free memory."""
        return self.free[bisect_left(self.free, (mib, "")) :]

    def with_room(self, mib: int) -> list[Room]:
        """List the servers with at least so much memory once their idle residents are gone."""
        return self.room[bisect_left(self.room, (mib, "")) :]

    def able(self, *, model: str, servers: Mapping[str, Server]) -> tuple[str, ...]:
        """Name the servers whose engines can load a model at all."""
        found = self.stocked.get(model)
        if found is None:
            found = self.stocked[model] = tuple(name for name, server in servers.items() if server.allows(model))
        return found

    def replaced(self, *, before: Server, after: Server) -> "ClusterIndex":
        """Make the index with one server replaced by another of the same name."""
        old, new, name = facts_of(before), facts_of(after), after.name
        same_disk = (before.can_load, before.models) == (after.can_load, after.models)
        return ClusterIndex(
            position=self.position,
            holders=_moved(self.holders, name, old.models, new.models, self.position.__getitem__),
            loading=_moved(self.loading, name, old.loading, new.loading, self.position.__getitem__),
            free_copies=_reordered(self.free_copies, old.free_copies, new.free_copies),
            free=_swapped(self.free, old.free, new.free),
            room=_swapped(self.room, old.room, new.room),
            unsure=_among(self.unsure, name, old.is_unsure, new.is_unsure),
            drains=_with_drain(self.drains, after),
            planned=_moved(self.planned, name, before.planned_for, after.planned_for, str),
            contexts=_counted(self.contexts, before.contexts, after.contexts),
            capped=_among(self.capped, name, old.is_capped, new.is_capped),
            groups=regrouped(self.groups, server=name, before=old.in_group, after=new.in_group),
            stocked=self.stocked if same_disk else {},
            prices=self.prices.changed(before=before, after=after),
        )


def index_of(servers: Mapping[str, Server]) -> ClusterIndex:
    """Make the index of servers afresh."""
    holders: dict[str, list[str]] = {}
    loading: dict[str, list[str]] = {}
    planned: dict[str, list[str]] = {}
    free_copies: dict[str, list[CopyOrder]] = {}
    contexts: dict[int, int] = {}
    facts = {name: facts_of(server) for name, server in servers.items()}
    for name, server in servers.items():
        for model in facts[name].models:
            holders.setdefault(model, []).append(name)
        for model in facts[name].loading:
            loading.setdefault(model, []).append(name)
        for model, order in facts[name].free_copies.items():
            free_copies.setdefault(model, []).append(order)
        for agent in server.planned_for:
            planned.setdefault(agent, []).append(name)
        for length in server.contexts:
            contexts[length] = contexts.get(length, 0) + 1
    return ClusterIndex(
        position={name: place for place, name in enumerate(servers)},
        holders={model: tuple(names) for model, names in holders.items()},
        loading={model: tuple(names) for model, names in loading.items()},
        free_copies={model: sorted(orders) for model, orders in free_copies.items()},
        free=sorted(each.free for each in facts.values() if each.free is not None),
        room=sorted(each.room for each in facts.values() if each.room is not None),
        unsure=frozenset(name for name, each in facts.items() if each.is_unsure),
        drains={name: server.drain for name, server in servers.items() if server.drain is not None},
        planned={agent: tuple(sorted(names)) for agent, names in planned.items()},
        contexts=contexts,
        capped=frozenset(name for name, each in facts.items() if each.is_capped),
        groups=group_use_of(servers.values()),
    )


def _among(names: frozenset[str], name: str, was: bool, now: bool) -> frozenset[str]:
    """Give the set with a name that came in or went out."""
    if was == now:
        return names
    return names | {name} if now else names - {name}


def _swapped(ordered: list[Any], old: Any, new: Any) -> list[Any]:
    """Copy an ordered list with one entry replaced; None stands for no entry."""
    if old == new:
        return ordered
    changed = ordered.copy()
    if old is not None:
        del changed[bisect_left(changed, old)]
    if new is not None:
        insort(changed, new)
    return changed


def _reordered(
    copies: Mapping[str, list[CopyOrder]], old: Mapping[str, CopyOrder], new: Mapping[str, CopyOrder]
) -> Mapping[str, list[CopyOrder]]:
    if old == new:
        return copies
    changed = {
        model: _swapped(copies.get(model, []), old.get(model), new.get(model))
        for model in {**old, **new}
        if old.get(model) != new.get(model)
    }
    return _overlaid(copies, changed)


def _moved(
    names: Mapping[str, tuple[str, ...]],
    name: str,
    old: Iterable[str],
    new: Iterable[str],
    order: Callable[[str], Any],
) -> Mapping[str, tuple[str, ...]]:
    """Copy a map from keys to servers with one server under other keys."""
    if old == new:
        return names
    gone, come = set(old) - set(new), set(new) - set(old)
    if not gone and not come:
        return names
    changed = {key: tuple(each for each in names[key] if each != name) for key in gone}
    for key in come:
        found = list(names.get(key, ()))
        insort(found, name, key=order)
        changed[key] = tuple(found)
    return _overlaid(names, changed)


def _overlaid(before: Mapping[str, T], changed: Mapping[str, T]) -> Mapping[str, T]:
    """Copy a map with some entries changed; empty ones leave it."""
    after = {**before, **changed}
    for key, value in changed.items():
        if not value:
            del after[key]
    return after


def _with_drain(drains: Mapping[str, Drain], server: Server) -> Mapping[str, Drain]:
    if drains.get(server.name) == server.drain:
        return drains
    others = {name: drain for name, drain in drains.items() if name != server.name}
    return others if server.drain is None else {**others, server.name: server.drain}


def _counted(contexts: Mapping[int, int], old: tuple[int, ...], new: tuple[int, ...]) -> Mapping[int, int]:
    if old == new:
        return contexts
    counts = dict(contexts)
    for length in new:
        counts[length] = counts.get(length, 0) + 1
    for length in old:
        counts[length] -= 1
        if not counts[length]:
            del counts[length]
    return counts
