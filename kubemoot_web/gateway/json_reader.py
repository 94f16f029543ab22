"""Passing on an answer that is one JSON object, and metering it."""

import json
import re
from typing import Any, Final

from kubemoot_web.gateway.dialects import Dialect
from kubemoot_web.gateway.errors import truncation
from kubemoot_web.gateway.readers import (
    MOST_OF_A_BODY,
    Kept,
    Verdict,
    is_broken_off,
    told_by_ollama,
    told_by_usage,
)
from kubemoot_web.gateway.renaming import rename_far, rename_member
from scheduler.core.ledger import CallEnd

LARGE_BYTES: Final = 65_536
REACH_BYTES: Final = 1_024
_counts = re.compile(
    rb'"(prompt_eval_count|eval_count|load_duration|prompt_tokens|completion_tokens)"\s*:\s*(\d{1,18})'
)


class JsonReader:
    """Keeps the body until it is whole, so that a broken one becomes an error instead of half an object.

    A large one (vectors, mostly) is not parsed: the process has others to serve. Its ends are looked at, where engines
    put what matters.
    """

    __slots__ = ("_dialect", "_kept", "_shown", "_verdict")

    def __init__(self, *, dialect: Dialect, shown: str | None) -> None:
        """`shown`: the model's name for the client, None when the engine calls it the same."""
        self._dialect = dialect
        self._shown = shown
        self._kept = Kept(most=MOST_OF_A_BODY)
        self._verdict = Verdict(end=CallEnd.TRUNCATED)

    def feed(self, piece: bytes) -> bytes:
        """Keep a piece."""
        self._kept.add(piece)
        return b""

    def end(self, *, is_broken: bool = False) -> bytes:
        """Give the whole body, or an error when it is not whole."""
        body = self._kept.taken()
        document = _far_ends(body) if len(body) > LARGE_BYTES and not is_broken else read_object(body)
        if document is None:
            return truncation(self._dialect, False, is_broken=is_broken)
        end = CallEnd.ERROR if document.get("error") else CallEnd.OK
        if self._dialect is Dialect.OLLAMA:
            self._verdict = told_by_ollama(document, end=end)
        else:
            is_cut = is_broken_off(body) is not None
            self._verdict = told_by_usage(document.get("usage"), end=CallEnd.TRUNCATED if is_cut else end)
            if is_cut:
                return truncation(self._dialect, False, is_broken=False)
        if self._shown is None:
            return body
        if len(body) > LARGE_BYTES:
            return rename_far(body, shown=self._shown, reach=REACH_BYTES)
        return rename_member(body, shown=self._shown)

    @property
    def verdict(self) -> Verdict:
        """How the answer ended."""
        return self._verdict


def read_object(body: bytes) -> dict[str, Any] | None:
    """Read a body that should be one JSON object; None when it is not."""
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def _far_ends(body: bytes) -> dict[str, Any] | None:
    """Read the counts at the end of a large object; without them (an end, or a cut?) read all of it."""
    counts = {name.decode(): int(count) for name, count in _counts.findall(body[-REACH_BYTES:])}
    if not counts or not body.rstrip().endswith(b"}"):
        return read_object(body)
    return {**counts, "usage": counts}
