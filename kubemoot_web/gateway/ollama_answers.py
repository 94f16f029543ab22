"""Answers for clients of Ollama, where the engine speaks another wire: chat documents, in the shape of each path."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Final

from kubemoot_web.gateway.dialects import Operation

_encode: Final = json.JSONEncoder(separators=(",", ":")).encode


class OllamaStream:
    """Writes the lines of a chat or a generated text."""

    __slots__ = ("_write",)

    def __init__(self, *, operation: Operation, model: str, clock: Callable[[], float]) -> None:
        """`model`: as the client spells it."""
        self._write = document_body(operation=operation, model=model, clock=clock)

    def part(self, document: dict[str, Any]) -> bytes:
        """Write a line; the last one is written whole."""
        return b"" if document.get("done") is True else self._write(document) + b"\n"

    def last(self, document: dict[str, Any]) -> bytes:
        """Write the last line."""
        return self._write(document) + b"\n"


def document_body(*, operation: Operation, model: str, clock: Callable[[], float]) -> Callable[[dict[str, Any]], bytes]:
    """Make the writer of a document: of a whole answer, or of a line."""
    is_chat = operation is Operation.CHAT

    def write(document: dict[str, Any]) -> bytes:
        told = document if is_chat else _generated(document)
        return _encode({"model": model, "created_at": _moment(clock()), **told}).encode()

    return write


def embed_body(model: str) -> Callable[[dict[str, Any]], bytes]:
    """Make the writer of vectors."""
    return lambda document: _encode({"model": model, **document}).encode()


def embed_old_body(document: dict[str, Any]) -> bytes:
    """Write the one vector that the old path gives."""
    return _encode({"embedding": document["embeddings"][0]}).encode()


def _generated(document: dict[str, Any]) -> dict[str, Any]:
    message = document["message"]
    thinking = {"thinking": message["thinking"]} if message.get("thinking") else {}
    rest = {name: value for name, value in document.items() if name != "message"}
    return {"response": message["content"], **thinking, **rest}


def _moment(now: float) -> str:
    return datetime.fromtimestamp(now, tz=UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
