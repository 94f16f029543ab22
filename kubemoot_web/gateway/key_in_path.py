"""ASGI layer: a key as the first part of the path, `/key/KEY/api/chat`, for clients that can send none in a header.

The ollama command is one: it takes an address with a path, and no key. The path is put right before anybody else sees
it, so that no log and no error of ours can hold the key.
"""

from typing import Any

from kubemoot_web.access.keys import OURS
from kubemoot_web.gateway.line import Receive, Scope, Send

PREFIX = f"/key/{OURS}"
SERVED = ("/v1/", "/api/")
NOT_SERVED = "/api/v1/"
"""The REST API is for programs that can send a header."""


class KeyInPath:
    """Takes the key out of the path and presents it in a header."""

    def __init__(self, app: Any) -> None:
        """Remember who answers."""
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on."""
        await self._app(unwrapped(scope) if scope["path"].startswith(PREFIX) else scope, receive, send)


def unwrapped(scope: Scope) -> Scope:
    """Make the request that a client would have sent with the key in a header."""
    _, _, key, *rest = scope["path"].split("/", 3)
    path = f"/{rest[0] if rest else ''}"
    if path != "/" and (not path.startswith(SERVED) or path.startswith(NOT_SERVED)):
        path = "/key/"  # nothing is there, and whoever says so shall not repeat the key
    header = (b"authorization", b"Bearer " + key.encode("latin-1", "replace"))
    return {**scope, "path": path, "raw_path": path.encode(), "headers": [header, *scope["headers"]]}
