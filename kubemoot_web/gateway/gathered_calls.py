"""Tool calls of the OpenAI wire: they come in pieces, and are given whole.

House rules: arguments are a text there and an object on Ollama's wire. What a model wrote is never bent into a call
that it did not make: what cannot be read as one is given as the text that it is, as Ollama does.
"""

import json
from dataclasses import dataclass, field
from typing import Any, Final

from kubemoot_web.gateway import readers
from kubemoot_web.gateway.readers import TooLong

OVERHEAD: Final = 256
"""So many bytes a call or a piece of one is reckoned to take beside its text."""

_encode: Final = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode


@dataclass(slots=True, kw_only=True)
class _Call:
    """A call as far as it has come. `given` are arguments that came as an object."""

    index: int | None
    id: str
    name: str = ""
    pieces: list[str] = field(default_factory=list)
    given: dict[str, Any] | None = None


class GatheredCalls:
    """The tool calls of one answer."""

    __slots__ = ("_calls", "_left")

    def __init__(self) -> None:
        """Hold nothing yet."""
        self._calls: list[_Call] = []
        self._left = readers.MOST_OF_A_LINE

    def add(self, pieces: Any) -> None:
        """Take the pieces of calls that one event has, or the calls of a whole message.

        Raises:
            TooLong: they have no end.
        """
        for piece in pieces if isinstance(pieces, list) else ():
            if isinstance(piece, dict):
                self._add(piece)

    def taken(self) -> dict[str, Any]:
        """Give what has come, as members of a message of Ollama's wire, and hold it no longer."""
        calls, self._calls = self._calls, []
        told, unread = [], ""
        for call in calls:
            arguments = _arguments(call)
            if call.name and arguments is not None:
                told.append({"id": call.id, "function": {"name": call.name, "arguments": arguments}})
            else:
                unread += json.dumps({"name": call.name, "arguments": "".join(call.pieces)})
        return ({"tool_calls": told} if told else {}) | ({"content": unread} if unread else {})

    def _add(self, piece: dict[str, Any]) -> None:
        given = piece.get("function")
        function = given if isinstance(given, dict) else {}
        name, arguments = _text(function.get("name")), function.get("arguments")
        text = _text(arguments)
        self._left -= len(text) + OVERHEAD
        if self._left < 0:
            self._calls = []
            raise TooLong
        call = self._call(piece, name)
        call.id = call.id or _text(piece.get("id"))
        call.name = call.name or name
        call.pieces.append(text)
        if isinstance(arguments, dict):
            call.given = arguments

    def _call(self, piece: dict[str, Any], name: str) -> _Call:
        """Find the call that a piece belongs to, or begin it.

        Pieces say it by their index. There are engines that leave the index out, or give every call the same; then an
        id that differs, or else a name, begins a new one.
        """
        index, id = piece.get("index"), _text(piece.get("id"))
        is_numbered = isinstance(index, int)
        near = [each for each in self._calls if each.index == index] if is_numbered else self._calls[-1:]
        last = near[-1] if near else None
        if last is not None:
            is_same = not id or not last.id or id == last.id
            if is_same and (is_numbered or bool(id) or not name):
                return last
        call = _Call(index=index if is_numbered else None, id=id)
        self._calls.append(call)
        return call


def _arguments(call: _Call) -> dict[str, Any] | None:
    """Read the arguments of a call; None where they are no object that JSON has a word for."""
    text = "".join(call.pieces)
    try:
        value = call.given if not text.strip() else json.loads(text)
        value = {} if value is None else value
        _encode(value)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
