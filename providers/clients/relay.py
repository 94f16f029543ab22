"""The door to engines for the calls of clients: streams bytes, follows no redirect, uses no proxy, never logs.

aiohttp carries it: a request costs it a third of what httpx takes, and answers come piece by piece as they arrive.
"""

import socket
from functools import lru_cache

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from providers.core.endpoint_key import EndpointRefused, parse_endpoint
from providers.core.endpoint_safety import is_forbidden, is_forbidden_address
from providers.core.engines.base import Trouble
from providers.core.hosts import Host
from providers.core.relaying import Headers, RelayFailed, RelayRequest

CONNECT_TIMEOUT_S = 2.0
KEEP_IDLE_S = 2.0
"""Servers close idle connections after five seconds or more: ours go first, so that no call meets one that closes."""
REMEMBER_NAMES_S = 10
NOT_PASSED_ON = frozenset(
    {
        "connection",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "content-encoding",
        "content-length",
        "server",
        "date",
        "set-cookie",
    }
)
"""Of one connection alone, or no longer true once the body was unpacked, or nobody's business behind a gateway."""


class Astray(OSError):
    """A name leads to an address that no engine may have."""


class RelayClient:
    """Sends clients' calls to engines. One object belongs to one event loop; `close` ends its connections."""

    def __init__(self) -> None:
        """Prepare; nothing is connected before the first call."""
        self._session: aiohttp.ClientSession | None = None

    async def open(self, *, endpoint: str, request: RelayRequest) -> "OpenAnswer":
        """Send a request and wait for the head of its answer. Cancelling closes the connection."""
        url, host = _url(endpoint, request.path)
        if host is None or is_forbidden(host):
            raise RelayFailed(trouble=Trouble.BAD_ADDRESS, was_sent=False)
        try:
            response = await self._connected().request(
                request.method,
                url,
                data=request.body or None,
                headers=request.headers,
                allow_redirects=False,
                timeout=aiohttp.ClientTimeout(
                    total=None, sock_connect=CONNECT_TIMEOUT_S, sock_read=request.silence_s or None
                ),
            )
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
            raise _failed(error) from None
        return OpenAnswer(response)

    async def close(self) -> None:
        """End all connections."""
        if self._session is not None:
            await self._session.close()

    def _connected(self) -> aiohttp.ClientSession:
        """Make the session on first use: it belongs to the event loop that runs then."""
        if self._session is None:
            connector = aiohttp.TCPConnector(
                limit=0,
                keepalive_timeout=KEEP_IDLE_S,
                ttl_dns_cache=REMEMBER_NAMES_S,
                resolver=_SafeResolver(),
            )
            self._session = aiohttp.ClientSession(
                connector=connector,
                trust_env=False,
                cookie_jar=aiohttp.DummyCookieJar(),
                headers={"accept-encoding": "identity", "user-agent": "kubemoot"},
                raise_for_status=False,
            )
        return self._session


class OpenAnswer:
    """An answer whose head is here."""

    __slots__ = ("_content", "_response", "headers", "status")

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response
        self._content = response.content
        self.status = response.status
        self.headers: Headers = tuple(
            (name, value)
            for name, value in ((name.lower(), value) for name, value in response.headers.items())
            if name not in NOT_PASSED_ON
        )

    async def piece(self) -> bytes:
        """Wait for the next piece of the body; empty at its end."""
        try:
            return await self._content.readany()
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
            raise RelayFailed(trouble=_trouble(error), was_sent=True) from None

    def close(self) -> None:
        """Let go of the engine at once; a connection whose answer was read to its end is kept for the next call."""
        self._response.close()


class _SafeResolver(AbstractResolver):
    """Looks names up, and refuses those that lead where no engine may be: also when that changed since registration."""

    def __init__(self) -> None:
        self._inner = aiohttp.ThreadedResolver()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """Look a name up."""
        found = await self._inner.resolve(host, port, family)
        if any(is_forbidden_address(each["host"]) for each in found):
            raise Astray(host)
        return found

    async def close(self) -> None:
        """Let go of what the lookup holds."""
        await self._inner.close()


@lru_cache(maxsize=1024)
def _url(endpoint: str, path: str) -> tuple[URL, Host | None]:
    """Make the address of a path on an endpoint; no host where the endpoint is none."""
    try:
        place = parse_endpoint(endpoint)
        return URL(place.base_url + path, encoded=True), place.host
    except (EndpointRefused, ValueError):
        return URL(), None


def _failed(error: BaseException) -> RelayFailed:
    """Say what kept an answer from coming, and whether the engine may have got the request."""
    was_sent = not isinstance(error, aiohttp.ClientConnectorError | aiohttp.ConnectionTimeoutError | ValueError)
    return RelayFailed(trouble=_trouble(error), was_sent=was_sent)


def _trouble(error: BaseException) -> Trouble:
    match error:
        case aiohttp.ConnectionTimeoutError():
            return Trouble.UNREACHED
        case aiohttp.ClientConnectorDNSError(os_error=Astray()):
            return Trouble.BAD_ADDRESS
        case aiohttp.ClientConnectorDNSError():
            return Trouble.UNKNOWN_HOST
        case aiohttp.ClientConnectorError():
            return Trouble.REFUSED
        case TimeoutError():
            return Trouble.TIMED_OUT
        case aiohttp.InvalidURL() | ValueError():
            return Trouble.BAD_ADDRESS
    return Trouble.BROKEN
