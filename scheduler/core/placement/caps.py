"""The limits on calls besides the slots of a copy: a server's own cap with its reserve, and that of its resource group.

A group's cap counts as the server's does: every ticket on any of its servers, but for the places held for the request's
own agent. Reserves are the servers' own.
"""

from collections.abc import Iterator
from math import inf

from scheduler.core.group_use import NO_USE
from scheduler.core.snapshot import ClusterSnapshot, Server
from scheduler.core.types import CallRequest, Priority, Ticket

Cap = tuple[int, tuple[Ticket, ...]]
"""So many calls at once, and the tickets that count against that."""


def own_caps(*, server: Server, request: CallRequest) -> tuple[Cap, ...]:
    """List each limit on calls of the server itself that binds the request."""
    if server.max_concurrent is None:
        return ()
    counted = server.counted(request, server.tickets)
    total = (server.max_concurrent, counted)
    if request.priority != Priority.BACKGROUND:
        return (total,)
    background = tuple(t for t in counted if t.priority == Priority.BACKGROUND)
    return (total, (server.max_concurrent - server.interactive_reserve, background))


def is_below_own_cap(*, server: Server, request: CallRequest) -> bool:
    """Say whether the server's own limit on calls leaves this request a place."""
    return all(len(tickets) < cap for cap, tickets in own_caps(server=server, request=request))


def is_below_caps(*, snapshot: ClusterSnapshot, server: Server, request: CallRequest) -> bool:
    """Say whether the limits of the server and of its group leave this request a place."""
    if server.max_concurrent is not None and not is_below_own_cap(server=server, request=request):
        return False
    return server.resource_group is None or not is_group_full(snapshot=snapshot, server=server, request=request)


def own_room(*, server: Server) -> float:
    """Count the calls that the server's own limit still allows; infinite without one."""
    return inf if server.max_concurrent is None else max(server.max_concurrent - len(server.tickets), 0)


def group_room(*, snapshot: ClusterSnapshot, server: Server) -> float:
    """Count the calls that the limit of the server's group still allows; infinite without one."""
    group = server.resource_group
    if group is None:
        return inf
    return max(group.max_concurrent - snapshot.index.groups.get(group.name, NO_USE).tickets, 0)


def is_group_full(*, snapshot: ClusterSnapshot, server: Server, request: CallRequest) -> bool:
    """Say whether as many calls run in the server's group as may; a server without one is in none that is full."""
    group = server.resource_group
    if group is None:
        return False
    use = snapshot.index.groups.get(group.name)
    if use is None or use.tickets < group.max_concurrent:
        return False
    lent = lent_in_group(snapshot=snapshot, group=group.name, request=request)
    return use.tickets - lent >= group.max_concurrent


def lent_in_group(*, snapshot: ClusterSnapshot, group: str, request: CallRequest) -> int:
    """Count the places that are held in a group for the request's own agent, and so do not count."""
    lenders = snapshot.index.planned.get(request.agent)
    if not lenders:
        return 0
    return sum(
        len(server.tickets) - len(server.counted(request, server.tickets))
        for server in servers_at_work(snapshot=snapshot, group=group)
        if server.name in lenders
    )


def servers_at_work(*, snapshot: ClusterSnapshot, group: str) -> Iterator[Server]:
    """Go through the servers of a group that hold any ticket."""
    use = snapshot.index.groups.get(group)
    return map(snapshot.servers.__getitem__, use.servers if use is not None else ())
