"""Passing on server-sent events of the OpenAI wire, and metering them."""

import json
import re
from typing import Any

from kubemoot_web.gateway.dialects import Dialect
from kubemoot_web.gateway.errors import truncation
from kubemoot_web.gateway.readers import Lines, Verdict, is_broken_off, told_by_usage
from kubemoot_web.gateway.renaming import FirstMention
from scheduler.core.ledger import CallEnd

FINAL = b"[DONE]"
_says_more = re.compile(rb'"(?:usage|error)"\s*:\s*[^n\s]').search  # some engines put a null of either into every event


def _is_looked_at(lines: bytes) -> bool:
    """Say whether lines may hold more than text: all others go on after these few searches."""
    return b'"usage"' in lines or b'"error"' in lines or b'"abort"' in lines or FINAL in lines


class SseReader:
    """Passes events on as they come; the usage that only we asked for stays here.

    So does the final mark of an answer that the engine itself broke off: clients would take it for a whole one.
    """

    __slots__ = ("_drops", "_failed", "_final", "_is_cut", "_last", "_lines", "_rename", "_swallows", "_usage")

    def __init__(self, *, shown: str | None, drops_usage: bool) -> None:
        """`shown`: the model's name for the client, None when the engine calls it the same."""
        self._lines = Lines()
        self._rename = None if shown is None else FirstMention(shown=shown)
        self._drops = drops_usage
        self._swallows = False
        self._final = False
        self._failed = False
        self._is_cut = False
        self._usage: Any = None
        self._last = b"\n\n"

    def feed(self, piece: bytes) -> bytes:
        """Take what the engine sent and give what goes to the client now."""
        lines = self._lines.whole(piece)
        if not lines:
            return b""
        if _is_looked_at(lines) or self._swallows:
            lines = b"".join(line for line in lines.splitlines(keepends=True) if self._goes_on(line))
        if self._rename is not None:
            lines = self._rename(lines)
        self._last = lines or self._last
        return lines

    def end(self, *, is_broken: bool = False) -> bytes:
        """Give the rest, or an error when the final mark never came."""
        rest = self._lines.rest()
        if rest.strip() == b"data: " + FINAL and not self._is_cut:  # the engine closed without the line's end
            self._final = True
            return rest + b"\n\n"
        if self._final or self._failed:
            return b""
        gap = b"" if self._last.endswith((b"\n\n", b"\n\r\n")) else b"\n"
        return gap + truncation(Dialect.OPENAI, True, is_broken=is_broken)

    @property
    def verdict(self) -> Verdict:
        """How the answer ended."""
        end = CallEnd.ERROR if self._failed else CallEnd.OK if self._final else CallEnd.TRUNCATED
        return told_by_usage(self._usage, end=end)

    def _goes_on(self, line: bytes) -> bool:
        """Note what a line says, and say whether it goes on to the client."""
        swallows, self._swallows = self._swallows, False
        if not line.startswith(b"data:"):
            return not swallows or bool(line.strip())  # the blank line behind an event that was kept back
        data = line[5:].strip()
        if data == FINAL:
            self._final, self._swallows = not self._is_cut, self._is_cut
            return self._final
        self._is_cut = self._is_cut or bool(is_broken_off(data))
        event = _read(data) if _says_more(data) else {}
        if event.get("error"):
            self._failed = True
        if isinstance(event.get("usage"), dict):
            self._usage = event["usage"]
            self._swallows = self._drops and not event.get("choices") and not event.get("error")
        return not self._swallows


def _read(data: bytes) -> dict[str, Any]:
    try:
        event = json.loads(data)
    except (ValueError, RecursionError):  # the client reads it too, and says so itself
        return {}
    return event if isinstance(event, dict) else {}
