"""The door to engines for the calls of clients: streams bytes, follows no redirect, uses no proxy, never logs.

Nothing is built for a request but its bytes and its answer: DESIGN.md says what that was measured against.
"""

import asyncio
import socket
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from providers.clients.engine_answer import EngineAnswer
from providers.clients.engine_wire import EngineWire
from providers.clients.secret_files import SecretFiles
from providers.core.endpoint_key import DEFAULT_PORTS, EndpointRefused, host_text, parse_endpoint
from providers.core.endpoint_safety import is_forbidden, is_forbidden_address
from providers.core.engines.base import Trouble
from providers.core.relaying import RelayFailed, RelayRequest

CONNECT_TIMEOUT_S = 2.0
KEEP_IDLE_S = 2.0
"""Servers close idle connections after five seconds or more: ours go first, so that no call meets one that closes."""
REMEMBER_NAMES_S = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where requests to an endpoint go. `named` is how its host stands in a request."""

    is_secure: bool
    host: str
    port: int
    named: str
    prefix: str


class RelayClient:
    """Sends clients' calls to engines. One object belongs to one event loop; `close` ends its connections."""

    def __init__(self, *, secrets: SecretFiles | None = None) -> None:
        """Prepare; nothing is connected before the first call. Without `secrets` nobody has a key."""
        self._secrets = secrets
        self._free: dict[tuple[bool, str, int], list[EngineWire]] = {}
        self._names: dict[str, tuple[float, list[str]]] = {}
        self._sweep: asyncio.TimerHandle | None = None
        self._trust: ssl.SSLContext | None = None

    async def open(
        self, *, endpoint: str, request: RelayRequest, on_sent: Callable[[], None] | None = None
    ) -> EngineAnswer:
        """Send a request and wait for the head of its answer. Cancelling closes the connection.

        `on_sent` is told when the request goes out.
        """
        place = _place(endpoint)
        if place is None:
            raise RelayFailed(trouble=Trouble.BAD_ADDRESS, was_sent=False)
        head = _head(place, request, key=None if request.secret is None else self._key(request.secret))
        wire = self._take(place) or await self._connect(place)
        if not wire.is_open:  # closed as soon as it was open
            raise RelayFailed(trouble=Trouble.UNREACHED, was_sent=False)
        answer = wire.ask(head=head, body=request.body, silence_s=request.silence_s)
        if on_sent is not None:
            on_sent()
        try:
            await answer.begun()
        except BaseException:
            answer.close()
            raise
        return answer

    async def close(self) -> None:
        """End all connections that carry nothing."""
        if self._sweep is not None:
            self._sweep.cancel()
        for wire in [wire for wires in self._free.values() for wire in wires]:
            wire.close()
        self._free.clear()
        await asyncio.sleep(0)  # the loop closes the sockets in its next turn

    def _key(self, secret: str) -> str:
        """Look a key up.

        Raises:
            RelayFailed: it is not there.
        """
        key = None if self._secrets is None else self._secrets.key(secret=secret)
        if key is None:
            raise RelayFailed(trouble=Trouble.NO_KEY, was_sent=False)
        return key

    def _take(self, place: Place) -> EngineWire | None:
        """Take a free connection, the one last used first."""
        wires = self._free.get((place.is_secure, place.host, place.port))
        fresh_since = asyncio.get_running_loop().time() - KEEP_IDLE_S
        while wires:
            wire = wires.pop()
            if wire.is_open and wire.free_since > fresh_since:
                return wire
            wire.close()
        return None

    async def _connect(self, place: Place) -> EngineWire:
        key = (place.is_secure, place.host, place.port)

        def on_free(wire: EngineWire) -> None:
            self._free.setdefault(key, []).append(wire)
            if self._sweep is None:
                self._sweep = asyncio.get_running_loop().call_later(KEEP_IDLE_S, self._close_idle)

        loop = asyncio.get_running_loop()
        trouble = Trouble.UNREACHED
        addresses = await self._addresses(place)
        for address in addresses:
            try:
                async with asyncio.timeout(CONNECT_TIMEOUT_S / len(addresses)):
                    _, wire = await loop.create_connection(
                        lambda: EngineWire(on_free=on_free),
                        address,
                        place.port,
                        ssl=self._trusted() if place.is_secure else None,
                        server_hostname=place.host if place.is_secure else None,
                    )
                    return wire
            except TimeoutError:
                trouble = Trouble.UNREACHED
            except OSError:
                trouble = Trouble.REFUSED
        raise RelayFailed(trouble=trouble, was_sent=False)

    async def _addresses(self, place: Place) -> list[str]:
        """Look a name up, and refuse one that leads where no engine may be: also when that changed since registration.

        Raises:
            RelayFailed: nobody knows the name, or it leads astray.
        """
        loop = asyncio.get_running_loop()
        until, known = self._names.get(place.host, (0.0, []))
        if loop.time() < until:
            return known
        try:
            async with asyncio.timeout(CONNECT_TIMEOUT_S):
                found = await loop.getaddrinfo(place.host, place.port, type=socket.SOCK_STREAM)
        except TimeoutError:
            raise RelayFailed(trouble=Trouble.UNREACHED, was_sent=False) from None
        except (OSError, UnicodeError):
            raise RelayFailed(trouble=Trouble.UNKNOWN_HOST, was_sent=False) from None
        addresses = list(dict.fromkeys(str(where[0]) for *_, where in found))
        if any(map(is_forbidden_address, addresses)):
            raise RelayFailed(trouble=Trouble.BAD_ADDRESS, was_sent=False)
        self._names[place.host] = (loop.time() + REMEMBER_NAMES_S, addresses)
        return addresses

    def _trusted(self) -> ssl.SSLContext:
        """Say whose certificates count, read once: it takes tens of milliseconds."""
        if self._trust is None:
            self._trust = ssl.create_default_context()
        return self._trust

    def _close_idle(self) -> None:
        """Close what nobody has used for a while."""
        loop = asyncio.get_running_loop()
        fresh_since = loop.time() - KEEP_IDLE_S
        for key, wires in list(self._free.items()):
            self._free[key] = []
            for wire in wires:
                if wire.is_open and wire.free_since > fresh_since:
                    self._free[key].append(wire)
                else:
                    wire.close()
            if not self._free[key]:
                del self._free[key]
        self._sweep = loop.call_later(KEEP_IDLE_S / 2, self._close_idle) if self._free else None


@lru_cache(maxsize=1024)
def _place(endpoint: str) -> Place | None:
    """Read an endpoint; None where it is none, or none that may be contacted."""
    try:
        found = parse_endpoint(endpoint)
    except (EndpointRefused, ValueError):
        return None
    if is_forbidden(found.host):
        return None
    host = host_text(found.host)
    return Place(
        is_secure=found.scheme == "https",
        host=host.strip("[]"),
        port=found.port,
        named=host if found.port == DEFAULT_PORTS[found.scheme] else f"{host}:{found.port}",
        prefix=found.prefix,
    )


def _head(place: Place, request: RelayRequest, *, key: str | None) -> bytes:
    """Write the head of a request.

    Raises:
        RelayFailed: a header has a line's end inside.
    """
    lines = [
        f"{request.method} {place.prefix}{request.path} HTTP/1.1",
        f"host: {place.named}",
        "accept: */*",
        "accept-encoding: identity",
        "user-agent: kubemoot",
        *(f"{name}: {value}" for name, value in request.headers),
        *(() if key is None else (f"authorization: Bearer {key}",)),
        f"content-length: {len(request.body)}",
    ]
    if any("\r" in line or "\n" in line for line in lines):
        raise RelayFailed(trouble=Trouble.BAD_ADDRESS, was_sent=False)
    return ("\r\n".join(lines) + "\r\n\r\n").encode()
