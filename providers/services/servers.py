"""Registering servers: one endpoint, one server."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from providers.core.endpoint_key import endpoint_key


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointTaken:
    """Two servers name one endpoint; its memory and places would be counted twice."""

    server: str
    first: str

    def message(self) -> str:
        """Say what to do."""
        return (
            f"is the same server as {self.first}, registered already: change {self.first}, or give this one an "
            f"address of its own"
        )


def server_keys(
    *,
    registered: Mapping[str, str],
    endpoints: Mapping[str, str],
    node: str,
    own_addresses: Collection[str] = (),
) -> tuple[dict[str, str], tuple[EndpointTaken, ...]]:
    """Give each server in `endpoints` the key of its endpoint, and name those whose endpoint another server has.

    `registered` holds the other servers' keys as they were made, for a loopback address may have been read on another
    node. They were first; among `endpoints` the earlier one is.
    """
    owners = {key: server for server, key in registered.items()}
    keys: dict[str, str] = {}
    taken = []
    for server, endpoint in endpoints.items():
        keys[server] = endpoint_key(url=endpoint, node=node, own_addresses=own_addresses)
        first = owners.setdefault(keys[server], server)
        if first != server:
            taken.append(EndpointTaken(server=server, first=first))
    return keys, tuple(taken)
