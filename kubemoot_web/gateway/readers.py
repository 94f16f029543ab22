"""Reading an answer on its way through: what goes to the client now, and how it ended.

House rules: whole lines go on at once, and the piece itself where nothing is changed; half a line is kept back, for
nobody can read it and an error behind it would be unreadable; a plain piece costs a few byte searches, never a parse.
"""

import re
from dataclasses import dataclass
from typing import Any, Protocol

from scheduler.core.ledger import CallEnd

NANOSECONDS = 1_000_000_000
MOST_OF_A_LINE = 16 * 1024 * 1024
MOST_OF_A_BODY = 256 * 1024 * 1024
"""Thousands of vectors fit. An engine that goes on without an end is broken, and must not take all memory with it."""

BROKEN_OFF = ("abort", "error")
"""With these vLLM ends an answer that it did not finish: it was put to sleep meanwhile, or failed."""
is_broken_off = re.compile(rb'"finish_reason"\s*:\s*"(?:%s)"' % "|".join(BROKEN_OFF).encode()).search
"""Say whether an event or a body of the OpenAI wire ends so; inside a text its quotation marks would be escaped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """How an answer ended, and what it took. None: the engine did not say."""

    end: CallEnd
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    load_s: float | None = None


class AnswerReader(Protocol):
    """Reads the body of a 200, piece by piece, cut anywhere."""

    def feed(self, piece: bytes) -> bytes:
        """Take what the engine sent and give what goes to the client now.

        Raises:
            TooLong: it is more than is kept for an engine.
        """
        ...

    def end(self, *, is_broken: bool = False) -> bytes:
        """Give the rest once the engine's body ended, or an error when the answer's final mark is missing.

        `is_broken`: the connection to the engine died, or fell silent for too long.
        """
        ...

    @property
    def verdict(self) -> Verdict:
        """How the answer ended; `truncated` while its final mark has not come."""
        ...


class TooLong(Exception):
    """An engine sends more, without the end of a line or of its body, than is kept for it."""


class Kept:
    """Pieces that are kept until they are whole, at most so many bytes of them."""

    __slots__ = ("_left", "_pieces")

    def __init__(self, *, most: int) -> None:
        """Keep nothing yet."""
        self._left = most
        self._pieces: list[bytes] = []

    def add(self, piece: bytes) -> None:
        """Keep a piece.

        Raises:
            TooLong: that would be too much; nothing is kept any more.
        """
        self._left -= len(piece)
        if self._left < 0:
            self._pieces = []
            raise TooLong
        self._pieces.append(piece)

    def taken(self) -> bytes:
        """Give all that was kept, and keep it no longer."""
        pieces, self._pieces = self._pieces, []
        return b"".join(pieces)


class Lines:
    """Cuts a body that arrives in pieces into whole lines."""

    __slots__ = ("_held", "_length")

    def __init__(self) -> None:
        """Hold nothing yet."""
        self._held: list[bytes] = []
        self._length = 0

    def whole(self, piece: bytes) -> bytes:
        """Take a piece and give all lines that are whole now, with their ends; empty when there is none.

        Raises:
            TooLong: a line has no end.
        """
        held = self._held
        cut = piece.rfind(b"\n") + 1
        if not held and cut == len(piece):
            return piece
        if not cut:
            self._length += len(piece)
            if self._length > MOST_OF_A_LINE:
                self._held = []
                raise TooLong
            held.append(piece)
            return b""
        lines = b"".join((*held, piece[:cut]))
        self._held = [piece[cut:]] if cut < len(piece) else []
        self._length = len(piece) - cut
        return lines

    def rest(self) -> bytes:
        """Give what came after the last line's end."""
        rest = b"".join(self._held)
        self._held = []
        return rest


def told_by_ollama(document: dict[str, Any], *, end: CallEnd) -> Verdict:
    """Read what an answer took from the last document of Ollama's own wire."""
    load_ns = count_of(document.get("load_duration"))
    return Verdict(
        end=end,
        prompt_tokens=count_of(document.get("prompt_eval_count")),
        completion_tokens=count_of(document.get("eval_count")),
        load_s=None if load_ns is None else load_ns / NANOSECONDS,
    )


def told_by_usage(usage: Any, *, end: CallEnd) -> Verdict:
    """Read what an answer took from the usage of the OpenAI wire."""
    if not isinstance(usage, dict):
        return Verdict(end=end)
    return Verdict(
        end=end,
        prompt_tokens=count_of(usage.get("prompt_tokens")),
        completion_tokens=count_of(usage.get("completion_tokens")),
    )


def functions_of(message: Any) -> list[dict[str, Any]]:
    """Find the functions that a message of Ollama's own wire calls."""
    calls = message.get("tool_calls") if isinstance(message, dict) else None
    functions = [call.get("function") for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []
    return [each for each in functions if isinstance(each, dict)]


def count_of(value: Any) -> int | None:
    """Read a count; None where there is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
