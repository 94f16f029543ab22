"""Sending a reply over ASGI: whole, or part by part."""

import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
JSON = "application/json; charset=utf-8"
LINES = "application/x-ndjson"
EVENTS = "text/event-stream"


class Cut(Exception):
    """The connection is to be broken here: a server that is left with half an answer closes it."""


class Reply:
    """The reply to one request."""

    def __init__(self, send: Send) -> None:
        """Begin with nothing sent."""
        self._send = send
        self.is_begun = False

    async def whole(self, status: int, body: bytes, *, kind: str, retry_after: int | None = None) -> None:
        """Send a body at once."""
        headers = [(b"content-length", str(len(body)).encode())]
        if retry_after is not None:
            headers.append((b"retry-after", str(retry_after).encode()))
        await self._begin(status, kind, *headers)
        await self._send({"type": "http.response.body", "body": body})

    async def json(self, status: int, value: Any, *, retry_after: int | None = None) -> None:
        """Send a JSON value at once."""
        await self.whole(status, json.dumps(value).encode(), kind=JSON, retry_after=retry_after)

    async def half(self, body: bytes, *, kind: str) -> None:
        """Promise a whole body and send half of it."""
        await self._begin(200, kind, (b"content-length", str(len(body)).encode()))
        await self._send({"type": "http.response.body", "body": body[: len(body) // 2], "more_body": True})

    async def part(self, body: bytes, *, kind: str, is_last: bool = False) -> None:
        """Send one part of a stream."""
        if not self.is_begun:
            await self._begin(200, kind)
        await self._send({"type": "http.response.body", "body": body, "more_body": not is_last})

    async def _begin(self, status: int, kind: str, *more: tuple[bytes, bytes]) -> None:
        self.is_begun = True
        headers = [(b"content-type", kind.encode()), *more]
        await self._send({"type": "http.response.start", "status": status, "headers": headers})
