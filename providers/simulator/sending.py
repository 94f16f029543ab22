"""Sending a reply over ASGI: whole, or line by line."""

import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
JSON = "application/json; charset=utf-8"
LINES = "application/x-ndjson"


class Reply:
    """The reply to one request."""

    def __init__(self, send: Send) -> None:
        """Begin with nothing sent."""
        self._send = send
        self.is_begun = False

    async def whole(self, status: int, body: bytes, *, kind: str) -> None:
        """Send a body at once."""
        length = (b"content-length", str(len(body)).encode())
        await self._begin(status, kind, length)
        await self._send({"type": "http.response.body", "body": body})

    async def json(self, status: int, value: Any) -> None:
        """Send a JSON value at once."""
        await self.whole(status, json.dumps(value).encode(), kind=JSON)

    async def line(self, value: Any, *, is_last: bool = False) -> None:
        """Send one line of a stream."""
        if not self.is_begun:
            await self._begin(200, LINES)
        body = json.dumps(value).encode() + b"\n"
        await self._send({"type": "http.response.body", "body": body, "more_body": not is_last})

    async def _begin(self, status: int, kind: str, *more: tuple[bytes, bytes]) -> None:
        self.is_begun = True
        headers = [(b"content-type", kind.encode()), *more]
        await self._send({"type": "http.response.start", "status": status, "headers": headers})
