"""Registering servers: one endpoint, one server."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from providers.core.endpoint_aliases import canonical_key
from providers.core.endpoint_key import endpoint_key


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointTaken:
    """Two servers name one endpoint; its memory and places would be counted twice.

    `alias` is the identity that an operator said is the first one's; empty where both have the same one.
    """

    server: str
    first: str
    alias: str = ""

    def message(self) -> str:
        """Say what to do."""
        if self.alias:
            return (
                f"is another address of {self.first}, registered already ({self.alias} is an alias): change "
                f"{self.first}, or remove the alias first"
            )
        return (
            f"is the same server as {self.first}, registered already: change {self.first}, or give this one an "
            f"address of its own"
        )


def server_keys(
    *,
    registered: Mapping[str, str],
    endpoints: Mapping[str, str],
    node: str,
    aliases: Mapping[str, str],
    own_addresses: Collection[str] = (),
) -> tuple[dict[str, str], tuple[EndpointTaken, ...]]:
    """Give each server in `endpoints` the key of its endpoint, and name those whose endpoint another server has.

    `registered` holds the other servers' keys as they were made, for a loopback address may have been read on another
    node. They were first; among `endpoints` the earlier one is. `aliases` are identities that mean another one: what
    a server is given is its own, so that it keeps it when an alias is removed.
    """
    owners = {canonical_key(key=key, aliases=aliases): server for server, key in registered.items()}
    keys: dict[str, str] = {}
    taken = []
    for server, endpoint in endpoints.items():
        key = keys[server] = endpoint_key(url=endpoint, node=node, own_addresses=own_addresses)
        first = owners.setdefault(canonical_key(key=key, aliases=aliases), server)
        if first != server:
            its_key = registered[first] if first in registered else keys[first]
            alias = "" if key == its_key else key if key in aliases else its_key
            taken.append(EndpointTaken(server=server, first=first, alias=alias))
    return keys, tuple(taken)
