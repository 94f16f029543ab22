"""Addresses that no model server may have: a cloud's metadata service hands credentials to whoever asks from inside.

Private networks and loopback are where model servers live; they are allowed.
"""

from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address

from providers.core.endpoint_key import EndpointRefused, parse_endpoint
from providers.core.hosts import Host, embedded_ipv4

METADATA_NAMES = frozenset(
    {
        "metadata",
        "metadata.goog",
        "metadata.google.internal",
        "metadata.azure.internal",
        "metadata.oraclecloud.com",
        "instance-data",
        "instance-data.ec2.internal",
    }
)
METADATA_ADDRESSES = frozenset(
    {
        IPv4Address("100.100.100.200"),
        IPv4Address("192.0.0.192"),
        IPv4Address("168.63.129.16"),
        IPv6Address("fd00:ec2::254"),
        IPv6Address("fd20:ce::254"),
    }
)
SITE_LOCAL = IPv6Network("fec0::/10")
MESSAGE = "is a link-local or metadata address, where no model server lives: use the server's own address or name"


def check_endpoint(url: str) -> None:
    """Refuse an endpoint that is unreadable or that points at a metadata service, however it is spelled.

    Raises:
        EndpointRefused: with the reason of `parse_endpoint`, or `address`.
    """
    if is_forbidden(parse_endpoint(url).host):
        raise EndpointRefused(reason="address", message=MESSAGE)


def is_forbidden_address(address: str) -> bool:
    """Say whether an address that a name resolved to may not be contacted; for the client, after it resolved."""
    return is_forbidden(ip_address(address.partition("%")[0]))


def is_forbidden(host: Host) -> bool:
    """Say whether a host is a metadata service, link-local, multicast or broadcast."""
    if isinstance(host, str):
        return host in METADATA_NAMES
    if host in METADATA_ADDRESSES or host.is_link_local or host.is_multicast:
        return True
    if isinstance(host, IPv4Address):
        return host == IPv4Address("255.255.255.255")
    inner = embedded_ipv4(host)
    return host in SITE_LOCAL or (inner is not None and is_forbidden(inner))
