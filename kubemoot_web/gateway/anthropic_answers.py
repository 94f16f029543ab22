"""Answers of Ollama's own wire, said in the Anthropic dialect."""

import json
from collections.abc import Callable
from typing import Any, Final

from kubemoot_web.gateway.readers import count_of, functions_of

_encode: Final = json.JSONEncoder(separators=(",", ":")).encode
REASONS: Final = {"length": "max_tokens"}


class MessageStream:
    """Writes the events of a message: one block after the other, thinking, text and tool calls each in its own."""

    __slots__ = ("_calls", "_id", "_index", "_is_begun", "_model", "_open", "_tokens")

    def __init__(self, *, id: str, model: str, tokens: int) -> None:
        """`tokens`: what the prompt is estimated to take, until the engine has said."""
        self._id = id
        self._model = model
        self._tokens = tokens
        self._is_begun = False
        self._open: str | None = None
        self._index = 0
        self._calls = 0

    def part(self, document: dict[str, Any]) -> bytes:
        """Write what one line adds."""
        events = b"" if self._is_begun else self._begin()
        given = document.get("message")
        message = given if isinstance(given, dict) else {}
        if message.get("thinking"):
            events += self._grow("thinking", "thinking_delta", message["thinking"])
        if message.get("content"):
            events += self._grow("text", "text_delta", message["content"])
        for block in tool_uses(message, id=self._id, first=self._calls):
            self._calls += 1
            start = {**block, "input": {}}
            events += self._close() + self._start("tool_use", start)
            events += self._delta({"type": "input_json_delta", "partial_json": _encode(block["input"])})
        return events

    def last(self, document: dict[str, Any]) -> bytes:
        """Write why it ended, what it took, and the end."""
        delta = {"stop_reason": stop_reason(document, has_calls=self._calls > 0), "stop_sequence": None}
        told = {"type": "message_delta", "delta": delta, "usage": usage(document)}
        return self._close() + _event("message_delta", told) + _event("message_stop", {"type": "message_stop"})

    def _begin(self) -> bytes:
        self._is_begun = True
        message = _message(
            self._id, self._model, content=[], reason=None, took=usage({}) | {"input_tokens": self._tokens}
        )
        return _event("message_start", {"type": "message_start", "message": message})

    def _grow(self, kind: str, delta: str, text: str) -> bytes:
        opened = b""
        if self._open != kind:
            empty = {"type": kind, kind: ""} | ({"signature": ""} if kind == "thinking" else {})
            opened = self._close() + self._start(kind, empty)
        return opened + self._delta({"type": delta, kind: text})

    def _start(self, kind: str, block: dict[str, Any]) -> bytes:
        self._open = kind
        told = {"type": "content_block_start", "index": self._index, "content_block": block}
        return _event("content_block_start", told)

    def _delta(self, delta: dict[str, Any]) -> bytes:
        return _event("content_block_delta", {"type": "content_block_delta", "index": self._index, "delta": delta})

    def _close(self) -> bytes:
        if self._open is None:
            return b""
        self._open = None
        self._index += 1
        return _event("content_block_stop", {"type": "content_block_stop", "index": self._index - 1})


def message_body(*, id: str, model: str) -> Callable[[dict[str, Any]], bytes]:
    """Make the writer of a whole message."""

    def write(document: dict[str, Any]) -> bytes:
        given = document.get("message")
        message = given if isinstance(given, dict) else {}
        calls = tool_uses(message, id=id, first=0)
        content: list[dict[str, Any]] = []
        if message.get("thinking"):
            content.append({"type": "thinking", "thinking": message["thinking"], "signature": ""})
        if message.get("content"):
            content.append({"type": "text", "text": message["content"]})
        reason = stop_reason(document, has_calls=bool(calls))
        return _encode(_message(id, model, content=content + calls, reason=reason, took=usage(document))).encode()

    return write


def tool_uses(message: dict[str, Any], *, id: str, first: int) -> list[dict[str, Any]]:
    """Say the tool calls of a message; their ids follow from the call's own id, so that they are the same each time."""
    return [
        {
            "type": "tool_use",
            "id": f"toolu_{id}_{index}",
            "name": each.get("name") or "",
            "input": each.get("arguments") or {},
        }
        for index, each in enumerate(functions_of(message), start=first)
    ]


def stop_reason(document: dict[str, Any], *, has_calls: bool) -> str:
    """Say why a message ended. Ollama does not tell a stop sequence from an end."""
    return "tool_use" if has_calls else REASONS.get(str(document.get("done_reason")), "end_turn")


def usage(document: dict[str, Any]) -> dict[str, int]:
    """Say what a message took."""
    return {
        "input_tokens": count_of(document.get("prompt_eval_count")) or 0,
        "output_tokens": count_of(document.get("eval_count")) or 0,
    }


def _message(id: str, model: str, *, content: list[Any], reason: str | None, took: dict[str, int]) -> dict[str, Any]:
    return {
        "id": f"msg_{id}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": content,
        "stop_reason": reason,
        "stop_sequence": None,
        "usage": took,
    }


def _event(name: str, told: dict[str, Any]) -> bytes:
    return f"event: {name}\ndata: {_encode(told)}\n\n".encode()
