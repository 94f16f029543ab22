"""Where an endpoint leads once its host was looked up. Its identity (`endpoint_key`) never rests on this."""

from collections.abc import Iterable, Sequence
from ipaddress import IPv4Address, IPv6Address

from providers.core.endpoint_key import host_text, is_loopback
from providers.core.hosts import HostUnreadable, parse_host

LOCAL = "localhost"
"""Stands for every address of the machine that asks: loopback, and what else is its own."""

Address = IPv4Address | IPv6Address


def read_addresses(texts: Iterable[str]) -> tuple[Address, ...]:
    """Read what a resolver answered: each address once, IPv4 first; one that stands for IPv4 is read as that."""
    found = set()
    for text in texts:
        try:
            host = parse_host(text.partition("%")[0])  # the zone of a link-local address is this machine's affair
        except HostUnreadable:
            continue
        if not isinstance(host, str):
            found.add(host)
    return tuple(sorted(found, key=lambda address: (address.version, int(address))))


def places_of(*, addresses: Sequence[Address], own: Iterable[Address]) -> tuple[str, ...]:
    """Write where a host leads, as it stands in a URL. `own` are those of them that belong to the machine that asks."""
    local = [address for address in addresses if is_loopback(address)]
    texts = [host_text(address) for address in addresses if address not in local]
    return (*texts, LOCAL) if local or set(own) else tuple(texts)


def leads_to(*, known: tuple[str, ...], found: tuple[str, ...] | None) -> tuple[str, ...]:
    """Say where an endpoint leads, after what was known and what was found now (None: nothing yet).

    Only the machine that has an address can say that it is its own; the others asking in between must not unsay it.
    """
    if found is None or (*found, LOCAL) == known:
        return known
    return found
