"""Reading an answer as documents of Ollama's own wire and giving it to the client in its dialect."""

from collections.abc import Callable, Iterable
from typing import Any, Protocol

from kubemoot_web.gateway.dialects import Dialect
from kubemoot_web.gateway.errors import error_frame, truncation
from kubemoot_web.gateway.json_reader import read_object
from kubemoot_web.gateway.readers import MOST_OF_A_BODY, Kept, Lines, Verdict, told_by_ollama
from scheduler.core.ledger import CallEnd


class StreamWriter(Protocol):
    """Writes an answer in another dialect as it grows."""

    def part(self, document: dict[str, Any]) -> bytes:
        """Write what one line adds."""
        ...

    def last(self, document: dict[str, Any]) -> bytes:
        """Write what ends the answer, from its last line, whose own part is written already."""
        ...


def line_of_ollama(line: bytes) -> tuple[dict[str, Any], ...]:
    """Read a line of Ollama's own wire: it is one document."""
    document = read_object(line)
    return () if document is None else (document,)


class TranslatedStream:
    """Translates line by line."""

    __slots__ = ("_dialect", "_lines", "_read", "_verdict", "_writer")

    def __init__(
        self,
        *,
        dialect: Dialect,
        writer: StreamWriter,
        read: Callable[[bytes], Iterable[dict[str, Any]]] = line_of_ollama,
    ) -> None:
        """Take who writes, and who reads: a line may make several documents, or none."""
        self._dialect = dialect
        self._writer = writer
        self._read = read
        self._lines = Lines()
        self._verdict = Verdict(end=CallEnd.TRUNCATED)

    def feed(self, piece: bytes) -> bytes:
        """Take what the engine sent and give what goes to the client now."""
        lines = self._lines.whole(piece)
        return b"".join(map(self._line, lines.splitlines())) if lines else b""

    def end(self, *, is_broken: bool = False) -> bytes:
        """Give the rest, or an error when the final line never came."""
        rest = self._lines.rest()
        written = self._line(rest) if rest else b""
        if self._verdict.end is not CallEnd.TRUNCATED:
            return written
        return written + truncation(self._dialect, True, is_broken=is_broken)

    @property
    def verdict(self) -> Verdict:
        """How the answer ended."""
        return self._verdict

    def _line(self, line: bytes) -> bytes:
        return b"".join(map(self._document, self._read(line)))

    def _document(self, document: dict[str, Any]) -> bytes:
        if self._verdict.end is not CallEnd.TRUNCATED:
            return b""
        if document.get("error"):
            self._verdict = Verdict(end=CallEnd.ERROR)
            return error_frame(self._dialect, True, "engine-error", str(document["error"]))
        written = self._writer.part(document)
        if document.get("done") is not True:
            return written
        self._verdict = told_by_ollama(document, end=CallEnd.OK)
        return written + self._writer.last(document)


class TranslatedBody:
    """Translates an answer that is one object."""

    __slots__ = ("_dialect", "_kept", "_read", "_verdict", "_write")

    def __init__(
        self,
        *,
        dialect: Dialect,
        write: Callable[[dict[str, Any]], bytes],
        read: Callable[[bytes], dict[str, Any] | None] = read_object,
    ) -> None:
        """Take who writes, and who reads: None is an answer that is not whole."""
        self._dialect = dialect
        self._write = write
        self._read = read
        self._kept = Kept(most=MOST_OF_A_BODY)
        self._verdict = Verdict(end=CallEnd.TRUNCATED)

    def feed(self, piece: bytes) -> bytes:
        """Keep a piece."""
        self._kept.add(piece)
        return b""

    def end(self, *, is_broken: bool = False) -> bytes:
        """Give the whole answer, or an error when it is not whole."""
        document = self._read(self._kept.taken())
        if document is None:
            return truncation(self._dialect, False, is_broken=is_broken)
        if document.get("error"):
            self._verdict = Verdict(end=CallEnd.ERROR)
            return error_frame(self._dialect, False, "engine-error", str(document["error"]))
        self._verdict = told_by_ollama(document, end=CallEnd.OK)
        return self._write(document)

    @property
    def verdict(self) -> Verdict:
        """How the answer ended."""
        return self._verdict
