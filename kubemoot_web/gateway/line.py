"""One request of a client on its connection: its body in, an answer out, and whether the client is still there."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from kubemoot_web.gateway.dialects import Headers
from kubemoot_web.gateway.room import Room

Scope = Mapping[str, Any]
Receive = Callable[[], Awaitable[Mapping[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]

WATCH_AFTER_S = 0.05
"""A call that is over sooner is not worth a task that looks whether its client is still there."""

LONGEST_UPLOAD_S = 300.0
"""So long a body may take: enough for the largest at two megabits a second, too little to hold a line open for."""

STALLED_S = 30.0
"""Whoever takes nothing for so long holds a place that others wait for, and lets its engine seem silent: it is gone."""


class ClientGone(Exception):
    """The client left before its request was read."""


class BodyTooLarge(Exception):
    """More arrived than is allowed."""

    def __init__(self, *, limit: int) -> None:
        super().__init__(f"The body is larger than the {limit} bytes that KUBEMOOT_GATEWAY_MAX_BODY_BYTES allows.")


class BodyTooSlow(Exception):
    """The body did not arrive in time."""

    def __init__(self) -> None:
        super().__init__(f"The body did not arrive within {LONGEST_UPLOAD_S:.0f} seconds.")


class Line:
    """A client that asks for something. Header names are lower-case; of two with one name the last counts."""

    def __init__(self, *, scope: Scope, receive: Receive, send: Send) -> None:
        self.headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        self.raw_headers = scope["headers"]
        self.is_begun = False
        self.is_gone = False
        self._receive = receive
        self._send = send
        self._watch: asyncio.Task[None] | None = None
        self._watch_later: asyncio.TimerHandle | None = None
        self._writing_since: float | None = None

    async def body(self, *, limit: int, room: Room | None = None) -> bytes:
        """Read the request's body, taking `room` for it as it arrives.

        Raises:
            BodyTooLarge: it is larger than the limit; the rest stays unread.
            NoRoom: other calls' bodies take all there is; the rest stays unread.
            BodyTooSlow: it took too long.
            ClientGone: it will never be whole.
        """
        try:
            async with asyncio.timeout(LONGEST_UPLOAD_S):
                return await self._whole_body(limit=limit, room=room)
        except TimeoutError:
            raise BodyTooSlow from None

    async def _whole_body(self, *, limit: int, room: Room | None) -> bytes:
        announced = self.headers.get("content-length", "")
        promised = int(announced) if announced.isdigit() else 0
        if promised > limit:
            raise BodyTooLarge(limit=limit)
        if room is not None:
            room.check(promised)  # no more: who announces much and sends nothing must take nothing from the others
        pieces, length = [], 0
        while True:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise ClientGone
            piece = message.get("body", b"")
            length += len(piece)
            if length > limit:
                raise BodyTooLarge(limit=limit)
            if room is not None:
                room.take(len(piece))
            pieces.append(piece)
            if not message.get("more_body"):
                return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def watch(self, on_gone: Callable[[], None]) -> None:
        """Tell once when the client leaves, or takes nothing of its answer for `STALLED_S`, until `unwatch`."""
        self._watch_later = asyncio.get_running_loop().call_later(WATCH_AFTER_S, self._look_after, on_gone)

    def unwatch(self) -> None:
        """Stop looking whether the client is there."""
        if self._watch_later is not None:
            self._watch_later.cancel()
        if self._watch is not None:
            self._watch.cancel()

    async def begin(self, *, status: int, headers: Headers) -> None:
        """Send the head of the answer."""
        await self._send({"type": "http.response.start", "status": status, "headers": headers})
        self.is_begun = True  # not before: whoever was stopped while it waited here has sent nothing

    async def write(self, data: bytes) -> None:
        """Send a piece of the answer's body at once."""
        self._writing_since = asyncio.get_running_loop().time()
        await self._send({"type": "http.response.body", "body": data, "more_body": True})
        self._writing_since = None

    async def finish(self, data: bytes = b"") -> None:
        """Send the last piece."""
        await self._send({"type": "http.response.body", "body": data})

    async def answer(self, status: int, headers: Headers, body: bytes) -> None:
        """Send a whole answer; it says its own length where the headers do not."""
        if not any(name == b"content-length" for name, _ in headers):
            headers = [*headers, (b"content-length", str(len(body)).encode())]
        await self.begin(status=status, headers=headers)
        await self.finish(body)

    def _look_after(self, on_gone: Callable[[], None]) -> None:
        self._watch = asyncio.get_running_loop().create_task(self._wait_until_gone(on_gone))
        self._look_whether_stalled(on_gone)

    def _look_whether_stalled(self, on_gone: Callable[[], None]) -> None:
        loop = asyncio.get_running_loop()
        if self._writing_since is not None and loop.time() - self._writing_since > STALLED_S:
            self._tell(on_gone)
        else:
            self._watch_later = loop.call_later(STALLED_S / 4, self._look_whether_stalled, on_gone)

    async def _wait_until_gone(self, on_gone: Callable[[], None]) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self._tell(on_gone)

    def _tell(self, on_gone: Callable[[], None]) -> None:
        if not self.is_gone:
            self.is_gone = True
            on_gone()
