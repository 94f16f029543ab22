"""The identity of an endpoint: two spellings of one address have one key. Nothing is resolved here.

Loopback means another machine on every machine, so it is qualified with the node that reads it: `localhost@node`.
A proxy's path prefix stays in the key, the API's own paths do not.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address
from urllib.parse import SplitResult, urlsplit

from providers.core.hosts import Host, HostUnreadable, embedded_ipv4, parse_host

DEFAULT_PORTS = {"http": 80, "https": 443}
API_SUFFIXES = (
    "/api/chat",
    "/api/generate",
    "/api/embed",
    "/api/embeddings",
    "/api",
    "/v1/chat/completions",
    "/v1/completions",
    "/v1/embeddings",
    "/v1/responses",
    "/v1/messages",
    "/v1",
)
UNPRINTABLE = re.compile(r"[\x00-\x20\x7f\\]")
LOCAL_KEY = re.compile(r"(https?://localhost)@([^@:/\[\]\s]+)(:\d+.*)")

# Sentences; none repeats the address, which may hold a password.
PARSE = "is no address: write it like http://host:11434"
SCHEME = "must begin with http:// or https://"
HOST = "has no host that can be used: write it like http://host:11434"
CREDENTIALS = "must not contain a user name or password: put the key into a Secret and name it in secretRef"
QUERY = "must not have a query (?...) or a fragment (#...)"


class EndpointRefused(ValueError):
    """An endpoint that cannot be used. `reason` is a code; the message says what to write, never the address."""

    def __init__(self, *, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """An endpoint taken apart: `prefix` is a proxy's path, without the API's own."""

    scheme: str
    host: Host
    port: int
    prefix: str

    @property
    def base_url(self) -> str:
        """Write the address that API paths are appended to."""
        return f"{self.scheme}://{host_text(self.host)}:{self.port}{self.prefix}"


def parse_endpoint(url: str) -> Endpoint:
    """Take an endpoint apart.

    Raises:
        EndpointRefused: with reason parse, scheme, host, credentials or query_or_fragment.
    """
    url = url.strip()
    if not url or UNPRINTABLE.search(url):
        raise EndpointRefused(reason="parse", message=PARSE)
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        # `from None`: the cause quotes what it could not read, and that may be a password.
        raise _refused_by(url, error) from None
    scheme = parts.scheme.lower()
    if not parts.netloc and scheme not in DEFAULT_PORTS and "://" not in url:
        raise EndpointRefused(reason="parse", message=PARSE)
    if scheme not in DEFAULT_PORTS:
        raise EndpointRefused(reason="scheme", message=SCHEME)
    if "@" in parts.netloc:
        raise EndpointRefused(reason="credentials", message=CREDENTIALS)
    if port == 0:
        raise EndpointRefused(reason="parse", message=PARSE)
    if "?" in url or "#" in url:
        raise EndpointRefused(reason="query_or_fragment", message=QUERY)
    return Endpoint(
        scheme=scheme,
        host=_host(parts),
        port=DEFAULT_PORTS[scheme] if port is None else port,
        prefix=_prefix(parts.path),
    )


def endpoint_key(*, url: str, node: str, own_addresses: Collection[str] = ()) -> str:
    """Give the canonical identity of an endpoint as read on a node.

    `own_addresses` are the node's other names and addresses; they mean its loopback.

    Raises:
        EndpointRefused: when the URL is no endpoint.
    """
    endpoint = parse_endpoint(url)
    own = {parse_host(address) for address in own_addresses}
    is_local = is_loopback(endpoint.host) or endpoint.host in own
    host = f"localhost@{node}" if is_local else host_text(endpoint.host)
    return f"{endpoint.scheme}://{host}:{endpoint.port}{endpoint.prefix}"


def read_key(*, text: str, node: str) -> str:
    """Give the identity that a person means: by an address as read on a node, or by the identity itself.

    Raises:
        EndpointRefused: when it is neither.
    """
    local = LOCAL_KEY.fullmatch(text.strip())
    if local is not None:
        text, node = local[1] + local[3], local[2]
    return endpoint_key(url=text, node=node)


def endpoint_base(url: str) -> str:
    """Give the address that an engine's API paths are appended to.

    Raises:
        EndpointRefused: when the URL is no endpoint.
    """
    return parse_endpoint(url).base_url


def is_loopback(host: Host) -> bool:
    """Say whether a host means the machine that reads it."""
    if isinstance(host, IPv4Address):
        return host.is_loopback or host.is_unspecified
    if isinstance(host, IPv6Address):
        inner = embedded_ipv4(host)
        return host.is_loopback or host.is_unspecified or (inner is not None and is_loopback(inner))
    return host == "localhost"


def host_text(host: Host) -> str:
    """Write a host as it stands in a URL."""
    return f"[{host.compressed}]" if isinstance(host, IPv6Address) else str(host)


def _host(parts: SplitResult) -> Host:
    try:
        return parse_host(parts.hostname or "")
    except HostUnreadable:
        raise EndpointRefused(reason="host", message=HOST) from None


def _prefix(path: str) -> str:
    path = re.sub(r"/+", "/", path).rstrip("/")
    for suffix in API_SUFFIXES:
        if path.endswith(suffix):
            return path.removesuffix(suffix).rstrip("/")
    return path


def _refused_by(url: str, error: ValueError) -> EndpointRefused:
    """Say why urlsplit gave up, credentials first: they must not be read as a bad port."""
    authority = re.split(r"[/?#]", url.partition("://")[2])[0]
    if "@" in authority:
        return EndpointRefused(reason="credentials", message=CREDENTIALS)
    return EndpointRefused(reason="parse", message=PARSE)
