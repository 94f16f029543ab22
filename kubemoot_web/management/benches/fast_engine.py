"""An engine that costs next to nothing: what it answers is made of bytes that were ready, by a bare protocol.

House rules: it understands as much of HTTP as the contenders speak; every piece of an answer names itself and says when
it was sent, so that no two are alike and whoever gets them sees what was lost, swapped or late. `max_tokens` is how
many pieces an answer has, `seed` the milliseconds between two of a stream.
"""

import asyncio
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from typing import cast

from kubemoot_web.management.benches.apart import HOST, apart

MS = 1000.0
HEAD_END = b"\r\n\r\n"
LAST_CHUNK = b"0\r\n\r\n"
WHOLE = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%s"
STREAM = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
BODY = (
    b'{"id":"chatcmpl-%d","object":"chat.completion","created":1700000000,"model":"hot:8b","choices":[{"index":0,'
    b'"message":{"role":"assistant","content":"%s"},"finish_reason":"stop"}],'
    b'"usage":{"prompt_tokens":7,"completion_tokens":%d,"total_tokens":%d}}'
)
PIECE = (
    b'data: {"id":"chatcmpl-%d","object":"chat.completion.chunk","created":1700000000,"model":"hot:8b",'
    b'"choices":[{"index":0,"delta":{"role":"assistant","content":"%d %.6f "},"finish_reason":null}]}\n\n'
)
STOP = (
    b'data: {"id":"chatcmpl-%d","object":"chat.completion.chunk","created":1700000000,"model":"hot:8b",'
    b'"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n'
)
USAGE = (
    b'data: {"id":"chatcmpl-%d","object":"chat.completion.chunk","created":1700000000,"model":"hot:8b","choices":[],'
    b'"usage":{"prompt_tokens":7,"completion_tokens":%d,"total_tokens":%d}}\n\n'
)
DONE = b"data: [DONE]\n\n"
PROMPT_TOKENS = 7
ENGINE_VARIABLE = "BENCH_ENGINE"
"""Where a contender in a process of its own finds the address of the engine."""

_length = re.compile(rb"\r\ncontent-length:\s*(\d+)", re.IGNORECASE).search
_tokens = re.compile(rb'"max_tokens"\s*:\s*(\d+)').search
_pause = re.compile(rb'"seed"\s*:\s*(\d+)').search
_streams = re.compile(rb'"stream"\s*:\s*true').search


def next_request(held: bytes) -> tuple[bytes, bytes] | None:
    """Cut the first whole request off what arrived: its body, and the rest; None while it is not whole."""
    head_end = held.find(HEAD_END)
    if head_end < 0:
        return None
    announced = _length(held, 0, head_end)
    start = head_end + len(HEAD_END)
    end = start + (int(announced[1]) if announced else 0)
    return (held[start:end], held[end:]) if len(held) >= end else None


def _number(found: "re.Match[bytes] | None") -> int:
    return int(found[1]) if found else 0


class _Conversation(asyncio.Protocol):
    """One connection: requests one after the other, each answered before the next is read."""

    calls = 0

    def __init__(self) -> None:
        self._held = b""
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self._held += data
        self._next()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - the loop's own signature
        if self._timer is not None:
            self._timer.cancel()

    def _next(self) -> None:
        while self._timer is None and (cut := next_request(self._held)) is not None:
            body, self._held = cut
            self._answer(body)

    def _answer(self, body: bytes) -> None:
        assert self._transport is not None
        _Conversation.calls += 1
        call, tokens = _Conversation.calls, max(1, _number(_tokens(body)))
        if not _streams(body):
            said = b"".join(b"%d-%d " % (call, number) for number in range(tokens))
            whole = BODY % (call, said, tokens, tokens + PROMPT_TOKENS)
            self._transport.write(WHOLE % (len(whole), whole))
            return
        self._transport.write(STREAM)
        end = b"" if b'"include_usage"' not in body else USAGE % (call, tokens, tokens + PROMPT_TOKENS)
        last = _chunk((STOP % call) + end + DONE) + LAST_CHUNK
        self._say(call, 0, tokens, _number(_pause(body)) / MS, self._loop.time(), last)

    def _say(self, call: int, number: int, tokens: int, pause_s: float, began: float, last: bytes) -> None:
        """Send the piece whose turn it is, and see to the next one."""
        assert self._transport is not None
        self._timer = None
        while number < tokens:
            self._transport.write(_chunk(PIECE % (call, number, monotonic())))
            number += 1
            if pause_s:
                at = began + number * pause_s
                self._timer = self._loop.call_at(at, self._say, call, number, tokens, pause_s, began, last)
                return
        self._transport.write(last)
        self._next()


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


async def _serve(listening: socket.socket) -> None:
    server = await asyncio.get_running_loop().create_server(_Conversation, sock=listening, backlog=4096)
    await server.serve_forever()


@contextmanager
def fast_engine() -> Iterator[int]:
    """Run the engine in a process of its own; give its port."""
    with socket.create_server((HOST, 0), backlog=4096) as listening, apart(_serve, listening):
        yield int(listening.getsockname()[1])
