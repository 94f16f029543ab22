"""A connection to an engine that carries one request after the other, read by a parser of HTTP without streams between.

House rules: what ends without the end that its head promised is broken; a connection is used again only when its last
answer came to its end, nothing came behind it, and the request was sent whole.
"""

import asyncio
import zlib
from collections.abc import Callable
from typing import Final, cast

import httptools

from providers.clients.engine_answer import EngineAnswer
from providers.core.engines.base import Trouble

MOST_BESIDE: Final = 64 * 1024
"""So many bytes may come that are no body: heads, and what stands between chunks."""
SENT_IN_ONE: Final = 64 * 1024
"""A body up to this size goes out in one piece with its head."""


class EngineWire(asyncio.Protocol):
    """The connection. `on_free` is told when it can carry another request."""

    def __init__(self, *, on_free: Callable[["EngineWire"], None]) -> None:
        """Wait to be connected."""
        self.is_open = False
        self.free_since = 0.0
        self._on_free = on_free
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._parser: httptools.HttpResponseParser | None = None
        self._answer: EngineAnswer | None = None
        self._head: list[tuple[bytes, bytes]] = []
        self._beside = 0
        self._is_interim = False

    def ask(self, *, head: bytes, body: bytes, silence_s: float) -> "EngineAnswer":
        """Send a request on an open connection; its answer comes into what this gives."""
        assert self._transport is not None
        self._answer = answer = EngineAnswer(source=self, loop=self._loop, silence_s=silence_s)
        if len(body) <= SENT_IN_ONE:
            self._transport.write(head + body)
        else:
            self._transport.write(head)
            self._transport.write(body)
        return answer

    def hold(self, *, back: bool) -> None:
        """Let the engine wait, or go on."""
        if self._transport is not None and self.is_open:
            (self._transport.pause_reading if back else self._transport.resume_reading)()

    def close(self) -> None:
        """End the connection at once."""
        self.is_open = False
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Be ready."""
        self._transport = cast("asyncio.Transport", transport)
        self._parser = httptools.HttpResponseParser(self)
        self.is_open = True

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - the loop's own signature
        """Say of an answer under way that it is whole, where the end of the connection is its end, or broken."""
        self.is_open = False
        self._transport = self._parser = None
        answer, self._answer = self._answer, None
        if answer is not None:
            answer.end(trouble=None if answer.lasts_until_close else Trouble.BROKEN)

    def data_received(self, data: bytes) -> None:
        """Read what came."""
        self._beside += len(data)
        answer, parser = self._answer, self._parser
        if answer is None or parser is None:  # nobody asked
            self.close()
            return
        answer.heard_at = self._loop.time()
        try:
            parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade, zlib.error, ValueError):
            self._break_off()
            return
        if self._beside > MOST_BESIDE:
            self._break_off()

    def on_message_begin(self) -> None:
        """Take notice of a head."""
        if self._answer is None:
            raise ValueError("an answer that nobody asked for")
        self._head = []

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep a header."""
        self._head.append((name, value))

    def on_headers_complete(self) -> None:
        """Tell whoever asked that the answer begins."""
        assert self._parser is not None
        assert self._answer is not None
        status = self._parser.get_status_code()
        self._is_interim = status < 200
        if not self._is_interim:
            self._answer.begin(status=status, head=self._head)

    def on_body(self, data: bytes) -> None:
        """Hand on a part of the body."""
        assert self._answer is not None
        self._beside = 0
        self._answer.take(data)

    def on_message_complete(self) -> None:
        """End the answer; the connection is free where the engine keeps it."""
        if self._is_interim:
            return
        assert self._parser is not None
        assert self._answer is not None
        answer, self._answer = self._answer, None
        self._beside = 0
        answer.end(trouble=None)
        if not self._parser.should_keep_alive() or self._is_sending():
            self.close()
        elif self.is_open:
            self.free_since = self._loop.time()
            self._on_free(self)

    def _is_sending(self) -> bool:
        """Say whether the engine answered before it had the whole request: what comes next would stand behind it."""
        return self._transport is not None and self._transport.get_write_buffer_size() > 0

    def _break_off(self) -> None:
        answer, self._answer = self._answer, None
        if answer is not None:
            answer.end(trouble=Trouble.BROKEN)
        self.close()
