"""Which resource group a server is in, and what the servers of one group must agree on."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from providers.core.naming import group_name
from providers.core.specs import ResourceGroup


def resource_group_of(*, namespace: str, spec: Mapping[str, Any]) -> ResourceGroup | None:
    """Read the resource group out of a ModelServer's spec; None where it is in none."""
    group = spec.get("scheduling", {}).get("resourceGroup")
    if group is None:
        return None
    name = group_name(namespace=namespace, reference=group["name"])
    return ResourceGroup(name=name, max_concurrent=group["maxConcurrent"])


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupContradicted:
    """A server says another number for its resource group than a server before it."""

    group: str
    server: str
    said: int
    first: str
    first_said: int

    def message(self) -> str:
        """Say what to do."""
        return (
            f"must be {self.first_said}, not {self.said}: {self.first} is in the resource group {self.group} too and "
            f"says so in its resourceGroup.maxConcurrent. To change it, change every server of the group at once"
        )


def contradictions(groups: Iterable[tuple[str, ResourceGroup]]) -> tuple[GroupContradicted, ...]:
    """Name the servers that contradict the first one of their group; pairs of a server's name and what it says."""
    first: dict[str, tuple[str, int]] = {}
    found = []
    for server, group in groups:
        name, most = first.setdefault(group.name, (server, group.max_concurrent))
        if most != group.max_concurrent:
            found.append(
                GroupContradicted(
                    group=group.name, server=server, said=group.max_concurrent, first=name, first_said=most
                )
            )
    return tuple(found)
