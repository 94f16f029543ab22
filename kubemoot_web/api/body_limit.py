"""ASGI layer: refuse a body that is too large while it arrives, not after it was stored.

Django checks its limit only once the whole body lies on the disk, and not at all when the length is not announced.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from kubemoot_web.api.errors import error_bytes

Scope = dict[str, Any]
Message = Mapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


class _TooLarge(Exception):
    """More arrived than is allowed."""


class BodyLimit:
    """Wraps an ASGI application."""

    def __init__(self, app: App, *, limit: int) -> None:
        """Remember what to wrap and how many bytes to allow."""
        self.app = app
        self.limit = limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on as long as its body stays within the limit."""
        announced = dict(scope["headers"]).get(b"content-length", b"")
        if announced.isdigit() and int(announced) > self.limit:
            await _refuse(send)
            return
        arrived = 0
        has_answered = False

        async def counting_receive() -> Message:
            nonlocal arrived
            message = await receive()
            arrived += len(message.get("body", b""))
            if arrived > self.limit:
                raise _TooLarge
            return message

        async def noting_send(message: Message) -> None:
            nonlocal has_answered
            has_answered = True
            await send(message)

        try:
            await self.app(scope, counting_receive, noting_send)
        except _TooLarge:
            if not has_answered:
                await _refuse(send)


async def _refuse(send: Send) -> None:
    """Answer 413 and close the connection, so that the rest of the body is not read."""
    headers = [(b"content-type", b"application/json"), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": 413, "headers": headers})
    await send({"type": "http.response.body", "body": error_bytes(status=413)})
