"""Connections of clients: uvicorn's own, with what it leaves to a proxy that not everybody has.

1. A request that offers another protocol (`Upgrade: h2c`, as Java's own client and `curl --http2` send with each) is
   read as if it had offered none. The parser hands out nothing behind such an offer, so that its body was lost.
2. The head of a request has bounds in size and time. It is read before anybody knows whose it is.
"""

import asyncio
from collections.abc import Iterator
from typing import Any, Final

import httptools
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

MOST_OF_A_HEAD: Final = 64 * 1024
LONGEST_HEAD_S: Final = 30.0
OFFER: Final = frozenset({b"upgrade", b"http2-settings"})
"""Headers by which another protocol is offered, and the words for them in `Connection`."""

TOO_LARGE: Final = f"The head of the request is larger than {MOST_OF_A_HEAD // 1024} KiB."
TOO_SLOW: Final = f"The head of the request did not arrive within {LONGEST_HEAD_S:.0f} seconds."
NO_TUNNEL: Final = "This is no proxy."


class Connection(HttpToolsProtocol):
    """One connection of a client, over which requests follow each other."""

    def __init__(self, *given: Any, **named: Any) -> None:
        """Wait for the first head."""
        super().__init__(*given, **named)
        self._is_in_head = False
        self._is_offered = False
        self._head_bytes = 0
        self._head_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait: also who says nothing takes a connection."""
        super().connection_made(transport)
        self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing any more."""
        self._forget_head()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read what arrived."""
        self._unset_keepalive_if_required()
        rest: bytes | None = data
        while rest is not None:  # once more for each offer: many requests may arrive at once
            rest = self._read(rest)

    def _read(self, data: bytes) -> bytes | None:
        """Read up to an offer, and give what is to be read instead; None where all is read."""
        self._head_bytes += len(data)  # from nothing again where a head begins in it
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as found:
            if not self._should_upgrade():
                return self._without_offer(data[found.args[0] :])
            self.handle_websocket_upgrade()
        except httptools.HttpParserError:
            self._refuse(400, "Invalid HTTP request received.")
        else:
            if self._is_in_head:
                self._bound_head()
        return None

    def on_message_begin(self) -> None:
        """Enter the head of a request."""
        self._is_in_head = True
        self._head_bytes = 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Begin to answer, but not yet where a protocol is offered that nobody speaks here."""
        self._is_in_head = False
        self._forget_head()
        self._is_offered = self.parser.should_upgrade() and not self._should_upgrade()
        if not self._is_offered:
            super().on_headers_complete()

    def on_message_complete(self) -> None:
        """End the request's body."""
        if not self._is_offered:
            super().on_message_complete()

    def _without_offer(self, rest: bytes) -> bytes | None:
        """Write the head as if nothing had been offered, and behind it what is left to read."""
        method = self.parser.get_method()
        if method == b"CONNECT":
            self._refuse(400, NO_TUNNEL)
            return None
        head = [b"%b %b HTTP/%b\r\n" % (method, self.url, self.parser.get_http_version().encode())]
        head += [b"%b: %b\r\n" % header for header in _plain(self.headers)]
        self.parser = httptools.HttpRequestParser(self)
        self.parser.set_dangerous_leniencies(lenient_data_after_close=True)  # as uvicorn sets it
        return b"".join(head) + b"\r\n" + rest

    def _bound_head(self) -> None:
        if self._head_bytes > MOST_OF_A_HEAD:
            self._refuse(431, TOO_LARGE)
        elif self._head_timer is None:
            self._expect_head()

    def _expect_head(self) -> None:
        self._head_timer = self.loop.call_later(LONGEST_HEAD_S, self._give_up_head)

    def _forget_head(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _give_up_head(self) -> None:
        self._head_timer = None
        if self.cycle is not None and not self.cycle.response_complete:
            self._expect_head()  # an answer is still on its way here: nothing may cut it off
        elif self._is_in_head:
            self._refuse(408, TOO_SLOW)
        else:
            self.transport.close()

    def _refuse(self, status: int, message: str) -> None:
        """Say why, and hang up."""
        self.logger.warning(message)
        self._is_in_head = False
        self._forget_head()
        if self.transport.is_closing():
            return
        said = message.encode()
        head = b"content-type: text/plain; charset=utf-8\r\ncontent-length: %d\r\nconnection: close\r\n\r\n" % len(said)
        self.transport.write(STATUS_LINE[status] + head + said)
        self.transport.close()


def _plain(headers: list[tuple[bytes, bytes]]) -> Iterator[tuple[bytes, bytes]]:
    for name, value in headers:
        if name == b"connection":
            words = [word for word in value.split(b",") if word.strip().lower() not in OFFER]
            if words:
                yield name, b",".join(words)
        elif name not in OFFER:
            yield name, value
