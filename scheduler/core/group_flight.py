"""What is in flight in each resource group: on all servers that share its cap."""

from collections.abc import Mapping
from dataclasses import dataclass

from scheduler.core.snapshot import ClusterSnapshot, Server


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupFlight:
    """A resource group with its servers, those of them that hold a place, and how many places are held in all."""

    name: str
    cap: int
    total: int
    servers: tuple[str, ...]
    at_work: tuple[str, ...]


def group_flights(snapshot: ClusterSnapshot) -> Mapping[str, GroupFlight]:
    """Map each server that is in a resource group to what is in flight there."""
    groups: dict[str, list[Server]] = {}
    for server in snapshot.servers.values():
        if server.resource_group is not None:
            groups.setdefault(server.resource_group.name, []).append(server)
    flights = {name: _flight(name, servers) for name, servers in groups.items()}
    return {server.name: flights[name] for name, servers in groups.items() for server in servers}


def _flight(name: str, servers: list[Server]) -> GroupFlight:
    caps = [server.resource_group.max_concurrent for server in servers if server.resource_group is not None]
    return GroupFlight(
        name=name,
        cap=min(caps),
        total=sum(len(server.tickets) for server in servers),
        servers=tuple(server.name for server in servers),
        at_work=tuple(server.name for server in servers if server.tickets),
    )
