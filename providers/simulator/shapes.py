"""The forms in which an answer leaves an engine: Ollama's own lines, and the events of its OpenAI side."""

import json
from dataclasses import dataclass
from typing import Any, Protocol

from providers.simulator import wire
from providers.simulator.accents import Accent
from providers.simulator.asking import Asked, ToolCall
from providers.simulator.sending import EVENTS, LINES

NANOSECONDS = 1_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """One token of an answer, or the call of a tool, which comes whole."""

    text: str = ""
    thought: str = ""
    tool: ToolCall | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """An answer that is over."""

    text: str
    thought: str
    tool: ToolCall | None
    tokens: int
    load_s: float
    whole_s: float


class Shape(Protocol):
    """How one kind of answer is written. `kind` is the content type of its streams."""

    kind: str

    def piece(self, piece: Piece) -> bytes:
        """Write one piece of a stream."""
        ...

    def end(self, ended: Ended) -> bytes:
        """Write the end of a stream."""
        ...

    def broke(self, text: str) -> bytes:
        """Write an error into a stream."""
        ...

    def whole(self, ended: Ended) -> dict[str, Any]:
        """Write an answer that is not streamed."""
        ...


class OllamaShape:
    """The lines of /api/chat and /api/generate."""

    kind = LINES

    def __init__(self, *, asked: Asked, is_chat: bool) -> None:
        """Prepare the answer to a request."""
        self._asked = asked
        self._is_chat = is_chat

    def piece(self, piece: Piece) -> bytes:
        """Write one line; the call of a tool comes whole in one, its arguments as an object."""
        return _line(self._head(piece) | {"done": False})

    def end(self, ended: Ended) -> bytes:
        """Write the line that ends a stream."""
        return _line(self._head(Piece()) | self._counts(ended))

    def broke(self, text: str) -> bytes:
        """Write the line of an error."""
        return _line({"error": text})

    def whole(self, ended: Ended) -> dict[str, Any]:
        """Write the one object of an answer that is not streamed."""
        piece = Piece(text=ended.text, thought=ended.thought, tool=ended.tool)
        return self._head(piece) | self._counts(ended)

    def _head(self, piece: Piece) -> dict[str, Any]:
        head = wire.head(self._asked.name)
        if not self._is_chat:
            return head | {"response": piece.text} | ({"thinking": piece.thought} if piece.thought else {})
        message: dict[str, Any] = {"role": "assistant", "content": piece.text}
        if piece.thought:
            message["thinking"] = piece.thought
        if piece.tool is not None:
            function = {"index": 0, "name": piece.tool.name, "arguments": piece.tool.arguments}
            message["tool_calls"] = [{"id": "call_1", "function": function}]
        return head | {"message": message}

    def _counts(self, ended: Ended) -> dict[str, Any]:
        return {
            "done": True,
            "done_reason": "stop",
            "total_duration": int(ended.whole_s * NANOSECONDS),
            "load_duration": int(ended.load_s * NANOSECONDS),
            "prompt_eval_count": self._asked.prompt_tokens,
            "eval_count": ended.tokens,
        }


class OpenAIShape:
    """The events of /v1/chat/completions and /v1/completions."""

    kind = EVENTS

    def __init__(self, *, asked: Asked, accent: Accent, number: int, is_chat: bool, with_usage: bool) -> None:
        """Prepare the answer to a request; `with_usage` asks for the event without choices."""
        self._asked = asked
        self._accent = accent
        self._is_open = accent.opening is None or not is_chat
        self._is_chat = is_chat
        self._with_usage = with_usage
        self._id = f"{'chatcmpl' if is_chat else 'cmpl'}-{number}"

    def piece(self, piece: Piece) -> bytes:
        """Write one event; the call of a tool comes whole in one, its arguments as a text."""
        event = _event(self._chunk([self._choice(self._delta(piece), None)]))
        if self._is_open:
            return event
        self._is_open = True
        opening = {"index": 0, "delta": self._accent.opening, "finish_reason": None}
        return _event(self._chunk([opening])) + event

    def end(self, ended: Ended) -> bytes:
        """Write the event that says why it ended, that of the usage if it was asked for, and the mark of the end."""
        last = _event(self._chunk([self._choice(self._delta(Piece()), _reason(ended))]))
        usage = _event(self._chunk([]) | {"usage": self._usage(ended)}) if self._with_usage else b""
        return last + usage + b"data: [DONE]\n\n"

    def broke(self, text: str) -> bytes:
        """Write the event of an error."""
        return _event(self._accent.error(500, text))

    def whole(self, ended: Ended) -> dict[str, Any]:
        """Write the one object of an answer that is not streamed."""
        piece = Piece(text=ended.text, thought=ended.thought, tool=ended.tool)
        kind = "chat.completion" if self._is_chat else "text_completion"
        said = {"message": self._message(piece)} if self._is_chat else {"text": piece.text}
        choices = [self._choice(said, _reason(ended))]
        return self._chunk(choices) | {"object": kind, "usage": self._usage(ended)}

    def _chunk(self, choices: list[dict[str, Any]]) -> dict[str, Any]:
        chunk = {
            "id": self._id,
            "object": "chat.completion.chunk" if self._is_chat else "text_completion",
            "created": int(wire.wall_clock().timestamp()),
            "model": self._asked.name,
            "choices": choices,
        }
        return chunk if self._accent.fingerprint is None else chunk | {"system_fingerprint": self._accent.fingerprint}

    def _choice(self, said: dict[str, Any], reason: str | None) -> dict[str, Any]:
        return {"index": 0, **said, "finish_reason": reason}

    def _delta(self, piece: Piece) -> dict[str, Any]:
        if not self._is_chat:
            return {"text": piece.text}
        message = self._message(piece)
        if self._accent.opening is not None:  # the role was said, and what is not there is left out
            message = {name: value for name, value in message.items() if value and name != "role"}
        return {"delta": message}

    def _message(self, piece: Piece) -> dict[str, Any]:
        has_text = piece.tool is None or self._accent.opening is None
        message: dict[str, Any] = {"role": "assistant", "content": piece.text if has_text else None}
        if piece.thought:
            message[self._accent.thought_field] = piece.thought
        if piece.tool is not None:
            function = {"name": piece.tool.name, "arguments": json.dumps(piece.tool.arguments)}
            message["tool_calls"] = [{"id": "call_1", "index": 0, "type": "function", "function": function}]
        return message

    def _usage(self, ended: Ended) -> dict[str, int]:
        prompt = self._asked.prompt_tokens
        return {
            "prompt_tokens": prompt,
            "completion_tokens": ended.tokens,
            "total_tokens": prompt + ended.tokens,
        }


def _reason(ended: Ended) -> str:
    return "stop" if ended.tool is None else "tool_calls"


def _line(value: dict[str, Any]) -> bytes:
    return json.dumps(value).encode() + b"\n"


def _event(value: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(value).encode() + b"\n\n"
