"""Servers that may be one engine under two names: their addresses lead to one port of one machine.

A guess, never a verdict: a proxy may tell two servers apart by their names. So nothing follows from it but a warning.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from providers.core.addresses import places_of
from providers.core.endpoint_key import Endpoint, EndpointRefused, is_loopback, parse_endpoint
from scheduler.core.ledger import ServerRecord

Spot = tuple[str, int, str]
"""A host that was looked up, a port, and the path by which a proxy tells its servers apart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Duplicate:
    """Two servers, by name, and the address that both lead to."""

    first: str
    second: str
    address: str

    def other(self, server: str) -> str:
        """Give the one of the two that is not `server`."""
        return self.second if server == self.first else self.first


def duplicates_of(*, records: Mapping[str, ServerRecord]) -> tuple[Duplicate, ...]:
    """List the pairs of servers that may be one engine, by name, each with the first address that they share."""
    seen: dict[Spot, list[tuple[str, Endpoint]]] = {}
    pairs: dict[tuple[str, str], str] = {}
    for name in sorted(records):
        endpoint = _endpoint(records[name].config.endpoint)
        if endpoint is None:
            continue
        for spot in _spots(endpoint, records[name].seen.addresses):
            others = seen.setdefault(spot, [])
            for other, its_endpoint in others:
                if not _differ_in_machine(its_endpoint, endpoint):
                    pairs.setdefault((other, name), f"{spot[0]}:{spot[1]}{spot[2]}")
            others.append((name, endpoint))
    return tuple(Duplicate(first=a, second=b, address=address) for (a, b), address in sorted(pairs.items()))


def duplicates_with(*, records: Mapping[str, ServerRecord], server: str) -> tuple[Duplicate, ...]:
    """List the pairs that a server is one of."""
    return tuple(pair for pair in duplicates_of(records=records) if server in (pair.first, pair.second))


def _spots(endpoint: Endpoint, addresses: tuple[str, ...]) -> Iterator[Spot]:
    host = endpoint.host
    # An address needs no looking up, so that a server is compared before its first probe.
    places = addresses or (() if isinstance(host, str) else places_of(addresses=(host,), own=()))
    for place in places:
        yield place, endpoint.port, endpoint.prefix


def _differ_in_machine(a: Endpoint, b: Endpoint) -> bool:
    """Say whether both say `localhost`: one machine's would be one identity, so they are read on two machines."""
    return is_loopback(a.host) and is_loopback(b.host) and a.scheme == b.scheme


@lru_cache(maxsize=4096)
def _endpoint(text: str) -> Endpoint | None:
    """Take an endpoint apart; pages ask for all of them every other second."""
    try:
        return parse_endpoint(text)
    except EndpointRefused:
        return None
