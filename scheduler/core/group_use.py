"""How full the resource groups are: kept with the index of all servers, and like that never changed."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from scheduler.core.server import Server


class GroupUse(NamedTuple):
    """How many tickets the servers of a resource group hold together, and which of them hold any."""

    tickets: int
    servers: frozenset[str]


NO_USE = GroupUse(0, frozenset())
InGroup = tuple[str, int]
"""The group that a server is in, and how many tickets it holds there."""


def in_group_of(server: Server) -> InGroup | None:
    """Say what a server adds to its group; None where it is in none, or holds nothing."""
    group = server.resource_group
    return None if group is None or not server.tickets else (group.name, len(server.tickets))


def group_use_of(servers: Iterable[Server]) -> Mapping[str, GroupUse]:
    """Sum up what the servers of each group hold; a group whose servers hold nothing is left out."""
    tickets: dict[str, int] = {}
    names: dict[str, list[str]] = {}
    for server in servers:
        found = in_group_of(server)
        if found is not None:
            group, count = found
            tickets[group] = tickets.get(group, 0) + count
            names.setdefault(group, []).append(server.name)
    return {group: GroupUse(tickets[group], frozenset(names[group])) for group in tickets}


def regrouped(
    groups: Mapping[str, GroupUse], *, server: str, before: InGroup | None, after: InGroup | None
) -> Mapping[str, GroupUse]:
    """Copy the use of the groups with one server holding something else, or in another one."""
    if before == after:
        return groups
    changed = dict(groups)
    if before is not None and after is not None and before[0] == after[0]:
        use = changed[after[0]]
        changed[after[0]] = use._replace(tickets=use.tickets - before[1] + after[1])
        return changed
    if before is not None:
        use = changed.pop(before[0])
        if use.tickets > before[1]:
            changed[before[0]] = GroupUse(use.tickets - before[1], use.servers - {server})
    if after is not None:
        use = changed.get(after[0], NO_USE)
        changed[after[0]] = GroupUse(use.tickets + after[1], use.servers | {server})
    return changed
