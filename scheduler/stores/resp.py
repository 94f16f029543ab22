"""The wire of Redis (RESP 2): commands as bytes, answers out of a growing buffer.

House rules: no socket here; an answer that is not whole yet leaves the buffer as it is. An error inside a list is a
value like any other; what to do with an error as the whole answer is the reader's business.
"""

from collections.abc import Iterable
from typing import Any

from redis.exceptions import ResponseError

Part = str | bytes | int


class Incomplete(Exception):
    """The answer has not arrived whole; it is at least `size` bytes long, counted from the buffer's begin."""

    def __init__(self, size: int) -> None:
        super().__init__(size)
        self.size = size


def packed(command: Iterable[Part]) -> bytes:
    """Write a command down."""
    parts = [part if isinstance(part, bytes) else str(part).encode() for part in command]
    pieces = [b"*%d\r\n" % len(parts)]
    for part in parts:
        pieces.append(b"$%d\r\n%b\r\n" % (len(part), part))
    return b"".join(pieces)


class Answers:
    """Takes bytes in as they come and gives whole answers, in order."""

    def __init__(self) -> None:
        self._buffer = b""
        self._needed = 0

    def feed(self, data: bytes) -> list[Any]:
        """Take bytes in; give the answers that are whole by now."""
        self._buffer += data
        answers: list[Any] = []
        if len(self._buffer) < self._needed:
            return answers
        at = 0
        try:
            while at < len(self._buffer):
                answer, at = _read(self._buffer, at)
                answers.append(answer)
            self._needed = 0
        except Incomplete as missing:
            self._needed = missing.size - at
        self._buffer = self._buffer[at:]
        return answers


def _read(buffer: bytes, at: int) -> tuple[Any, int]:
    """Read the value that begins at a place; give it and where the next one begins."""
    end = buffer.find(b"\r\n", at)
    if end < 0:
        raise Incomplete(len(buffer) + 1)
    kind, body, next_at = buffer[at], buffer[at + 1 : end], end + 2
    if kind == 36:  # $
        size = int(body)
        if size < 0:
            return None, next_at
        last = next_at + size
        if len(buffer) < last + 2:
            raise Incomplete(last + 2)
        return buffer[next_at:last], last + 2
    if kind == 58:  # :
        return int(body), next_at
    if kind == 42:  # *
        count = int(body)
        if count < 0:
            return None, next_at
        items = []
        for _ in range(count):
            item, next_at = _read(buffer, next_at)
            items.append(item)
        return items, next_at
    if kind == 43:  # +
        return body, next_at
    if kind == 45:  # -
        return ResponseError(body.decode(errors="replace")), next_at
    raise ResponseError(f"an answer of an unknown kind: {buffer[at : at + 40]!r}")
