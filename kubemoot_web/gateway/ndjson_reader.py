"""Passing on the lines of Ollama's own wire, and metering them."""

import json
from typing import Any

from kubemoot_web.gateway.dialects import Dialect
from kubemoot_web.gateway.errors import truncation
from kubemoot_web.gateway.readers import Lines, Verdict, told_by_ollama
from kubemoot_web.gateway.renaming import FirstMember
from scheduler.core.ledger import CallEnd

NOT_DONE = (b'"done":false}\n', b'"done": false}\n')  # as the last member, so it is the line's own


class NdjsonReader:
    """Passes lines on as they come."""

    __slots__ = ("_failed", "_final", "_lines", "_rename")

    def __init__(self, *, shown: str | None) -> None:
        """`shown`: the model's name for the client, None when the engine calls it the same."""
        self._lines = Lines()
        self._rename = None if shown is None else FirstMember(shown=shown)
        self._final: dict[str, Any] | None = None
        self._failed = False

    def feed(self, piece: bytes) -> bytes:
        """Take what the engine sent and give what goes to the client now."""
        lines = self._lines.whole(piece)
        if not lines:
            return b""
        if lines.find(b"\n") + 1 == len(lines):
            return self._line(lines)
        kept = [self._line(line) for line in lines.splitlines(keepends=True)]
        return lines if self._rename is None else b"".join(kept)

    def end(self, *, is_broken: bool = False) -> bytes:
        """Give the rest, or an error when the final line never came."""
        rest = self._lines.rest()
        line = self._line(rest) if _read(rest) is not None else b""  # the engine closed without the line's end
        if self._final is not None or self._failed:
            return line
        gap = b"\n" if line else b""
        return line + gap + truncation(Dialect.OLLAMA, True, is_broken=is_broken)

    @property
    def verdict(self) -> Verdict:
        """How the answer ended."""
        if self._failed:
            return Verdict(end=CallEnd.ERROR)
        if self._final is None:
            return Verdict(end=CallEnd.TRUNCATED)
        return told_by_ollama(self._final, end=CallEnd.OK)

    def _line(self, line: bytes) -> bytes:
        if not line.endswith(NOT_DONE):
            document = _read(line) or {}
            if document.get("error"):
                self._failed = True
            if document.get("done") is True:
                self._final = document
        return line if self._rename is None else self._rename(line)


def _read(line: bytes) -> dict[str, Any] | None:
    try:
        document = json.loads(line)
    except (ValueError, RecursionError):  # the client reads it too, and says so itself
        return None
    return document if isinstance(document, dict) else None
