"""The one door to engines over HTTP, for control calls: probes, loads, unloads.

It follows no redirect (an engine has no business sending us elsewhere), uses no proxy, bounds what it reads, and turns
every way in which a call can fail into a value. It never logs: bodies may hold prompts.
"""

import asyncio
import socket
from collections.abc import Iterator
from dataclasses import replace
from types import TracebackType
from typing import Self

import httpx

from providers.clients.secret_files import SecretFiles
from providers.core.endpoint_key import EndpointRefused, parse_endpoint
from providers.core.endpoint_safety import is_forbidden, is_forbidden_address
from providers.core.engines.base import HttpCall, HttpReply, Trouble
from providers.core.hosts import Host

CONNECT_TIMEOUT_S = 2.0
MAX_BODY_BYTES = 8 * 1024 * 1024
# Servers close idle connections after five seconds or more: ours go first, so that no call meets one that just closes.
KEEP_IDLE_S = 2.0
IDLE_CONNECTIONS = 50


class EngineHttp:
    """Sends calls to engines. One object belongs to one event loop; `close` ends its connections."""

    def __init__(self, *, secrets: SecretFiles | None = None, max_body_bytes: int = MAX_BODY_BYTES) -> None:
        """Prepare; nothing is connected before the first call. Without `secrets` nobody has a key."""
        self._secrets = secrets
        self._max_body_bytes = max_body_bytes
        self._client = httpx.AsyncClient(
            follow_redirects=False,
            trust_env=False,
            headers={"accept": "application/json", "accept-encoding": "identity", "user-agent": "kubemoot"},
            # Time is bounded per call as a whole; a load is silent for minutes before its first byte.
            timeout=httpx.Timeout(None, connect=CONNECT_TIMEOUT_S),
            limits=httpx.Limits(
                max_connections=None, max_keepalive_connections=IDLE_CONNECTIONS, keepalive_expiry=KEEP_IDLE_S
            ),
        )

    async def send(self, *, endpoint: str, call: HttpCall) -> HttpReply:
        """Send one call and wait for its whole reply; trouble is a reply too. Cancelling closes the connection."""
        reply = await self._reply(endpoint=endpoint, call=call)
        return reply if call.secret is None else replace(reply, secret=call.secret)

    async def _reply(self, *, endpoint: str, call: HttpCall) -> HttpReply:
        try:
            place = parse_endpoint(endpoint)
            url = place.base_url + call.path
            headers = self._headers(call)
            if headers is None:
                return HttpReply(trouble=Trouble.NO_KEY)
            async with asyncio.timeout(call.timeout_s):
                if await _leads_astray(place.host):
                    return HttpReply(trouble=Trouble.BAD_ADDRESS)
                reply = await self._exchange(url=url, call=call, headers=headers)
                if reply.trouble is Trouble.BROKEN and call.method == "GET":
                    # The engine was restarted and the connection kept from before is dead: asking again harms nothing.
                    reply = await self._exchange(url=url, call=call, headers=headers)
                return reply
        except TimeoutError:
            return HttpReply(trouble=Trouble.TIMED_OUT)
        except (EndpointRefused, httpx.InvalidURL, httpx.UnsupportedProtocol, UnicodeError):
            return HttpReply(trouble=Trouble.BAD_ADDRESS)

    async def close(self) -> None:
        """End all connections."""
        await self._client.aclose()

    async def __aenter__(self) -> Self:
        """Use it in a `with` statement that closes it."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it."""
        await self.close()

    def _headers(self, call: HttpCall) -> dict[str, str] | None:
        """Give the key that a call carries, as a header; None where that is not there."""
        if call.secret is None:
            return {}
        key = None if self._secrets is None else self._secrets.key(secret=call.secret)
        return None if key is None else {"authorization": f"Bearer {key}"}

    async def _exchange(self, *, url: str, call: HttpCall, headers: dict[str, str]) -> HttpReply:
        try:
            async with self._client.stream(call.method, url, json=call.json, headers=headers) as response:
                body = bytearray()
                async for piece in response.aiter_bytes():
                    body += piece
                    if len(body) > self._max_body_bytes:
                        return HttpReply(status=response.status_code, trouble=Trouble.TOO_LARGE)
                return HttpReply(status=response.status_code, body=bytes(body))
        except httpx.ConnectTimeout:
            return HttpReply(trouble=Trouble.UNREACHED)
        except httpx.ConnectError as error:
            return HttpReply(trouble=_why_not_connected(error))
        except (httpx.NetworkError, httpx.ProtocolError, httpx.DecodingError):
            return HttpReply(trouble=Trouble.BROKEN)


async def _leads_astray(host: Host) -> bool:
    """Say whether a name resolves to an address no engine may have; what was saved as harmless may not be so today."""
    if not isinstance(host, str):
        return is_forbidden(host)
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError:
        return False  # nothing to lead astray: connecting will say that the name is unknown
    return any(is_forbidden_address(str(address[0])) for _, _, _, _, address in found)


def _why_not_connected(error: BaseException) -> Trouble:
    return Trouble.UNKNOWN_HOST if any(isinstance(e, socket.gaierror) for e in _causes(error)) else Trouble.REFUSED


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
