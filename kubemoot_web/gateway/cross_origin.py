"""ASGI layer: pages of other origins may call the gateway where an operator says so, and nowhere else.

No cookie counts for a client's call, so an origin that is let in can do nothing without a key.
"""

from collections.abc import Collection
from typing import Any

from kubemoot_web.gateway.line import Receive, Scope, Send

SERVED = ("/v1/", "/api/")
NOT_SERVED = "/api/v1/"
METHODS = b"GET, POST, OPTIONS"
LONGEST_S = b"600"
"""How long a browser may remember what it was allowed."""
READABLE = (
    b"retry-after, x-should-retry, x-request-id, x-kubemoot-reason, "
    b"x-kubemoot-call, x-kubemoot-model, x-kubemoot-server, x-kubemoot-action, x-kubemoot-queue-ms"
)
"""What we say in headers. A library in a browser that cannot read that it is not to call again calls again."""


class CrossOrigin:
    """Answers what browsers ask before a call, and lets allowed pages read the answers."""

    def __init__(self, app: Any, *, origins: Collection[str]) -> None:
        """Remember who answers, and the origins that are let in."""
        self._app = app
        self._origins = frozenset(origin.encode() for origin in origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer it where a browser only asks."""
        origin = self._allowed(scope)
        if origin is None:
            await self._app(scope, receive, send)
            return
        said = [(b"access-control-allow-origin", origin), (b"vary", b"origin")]
        asked = _asked(scope)
        if scope["method"] == "OPTIONS" and asked is not None:
            allowed = [
                (b"access-control-allow-methods", METHODS),
                (b"access-control-allow-headers", asked),
                (b"access-control-max-age", LONGEST_S),
            ]
            await send({"type": "http.response.start", "status": 204, "headers": [*said, *allowed]})
            await send({"type": "http.response.body", "body": b""})
            return

        async def saying(message: dict[str, Any]) -> None:
            if message["type"] == "http.response.start":
                headers = [*message["headers"], *said, (b"access-control-expose-headers", READABLE)]
                message = {**message, "headers": headers}
            await send(message)

        await self._app(scope, receive, saying)

    def _allowed(self, scope: Scope) -> bytes | None:
        """Give the origin of a call that may be made from there."""
        path: str = scope["path"]
        if not self._origins or not path.startswith(SERVED) or path.startswith(NOT_SERVED):
            return None
        origin: bytes | None = next((value for name, value in scope["headers"] if name == b"origin"), None)
        return origin if origin in self._origins else None


def _asked(scope: Scope) -> bytes | None:
    """Give the headers that a browser asks for; None where it does not ask, but calls."""
    headers: dict[bytes, bytes] = dict(scope["headers"])
    if b"access-control-request-method" not in headers:
        return None
    return headers.get(b"access-control-request-headers", b"authorization, content-type")
