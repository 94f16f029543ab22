"""Answers of Ollama's own wire, said in the OpenAI dialect."""

import base64
import json
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from kubemoot_web.gateway.readers import count_of, functions_of

_encode: Final = json.JSONEncoder(separators=(",", ":")).encode
FINAL: Final = b"data: [DONE]\n\n"
FINGERPRINT: Final = "fp_ollama"


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """What every part of an answer repeats."""

    id: str
    created: int
    model: str

    def head(self, *, kind: str, prefix: str) -> dict[str, Any]:
        """Begin an answer or a chunk of one."""
        return {
            "id": f"{prefix}{self.id}",
            "object": kind,
            "created": self.created,
            "model": self.model,
            "system_fingerprint": FINGERPRINT,
        }


class ChatStream:
    """Writes `chat.completion.chunk` events: the role first, the reason last, the usage for who asked."""

    __slots__ = ("_calls", "_delta", "_frame", "_head", "_is_begun", "_wants_usage")

    def __init__(self, *, frame: Frame, wants_usage: bool) -> None:
        """Take what every chunk repeats."""
        self._frame = frame
        self._wants_usage = wants_usage
        self._head = frame.head(kind="chat.completion.chunk", prefix="chatcmpl-")
        self._delta = b"data: " + _encode(self._head)[:-1].encode() + b',"choices":[{"index":0,"delta":'
        self._is_begun = False
        self._calls = 0

    def part(self, document: dict[str, Any]) -> bytes:
        """Write the delta of one line, if it says anything."""
        message = document.get("message")
        delta = _said(message) if isinstance(message, dict) else {}
        calls = tool_calls(message, id=self._frame.id, first=self._calls)
        if calls:
            self._calls += len(calls)
            delta["tool_calls"] = calls
        if not delta and self._is_begun:
            return b""
        if not self._is_begun:
            self._is_begun = True
            delta = {"role": "assistant", "content": "", **delta}
        return self._chunk(delta, logprobs=_logprobs(document))

    def last(self, document: dict[str, Any]) -> bytes:
        """Write why it ended, what it took, and the final mark."""
        ended = self._chunk({}, reason=finish_reason(document, has_calls=self._calls > 0))
        return ended + _usage_event(self._head, document if self._wants_usage else None) + FINAL

    def _chunk(self, delta: dict[str, Any], *, reason: str | None = None, logprobs: Any = None) -> bytes:
        more = "" if logprobs is None else ',"logprobs":' + _encode(logprobs)
        return self._delta + f'{_encode(delta)}{more},"finish_reason":{_encode(reason)}}}]}}\n\n'.encode()


class CompletionStream:
    """Writes `text_completion` events."""

    __slots__ = ("_head", "_wants_usage")

    def __init__(self, *, frame: Frame, wants_usage: bool) -> None:
        """Take what every chunk repeats."""
        self._head = frame.head(kind="text_completion", prefix="cmpl-")
        self._wants_usage = wants_usage

    def part(self, document: dict[str, Any]) -> bytes:
        """Write the text of one line, if it has any."""
        return self._chunk(document["response"], None) if document.get("response") else b""

    def last(self, document: dict[str, Any]) -> bytes:
        """Write why it ended, what it took, and the final mark."""
        ended = self._chunk("", finish_reason(document, has_calls=False))
        return ended + _usage_event(self._head, document if self._wants_usage else None) + FINAL

    def _chunk(self, text: str, reason: str | None) -> bytes:
        choice = {"text": text, "index": 0, "logprobs": None, "finish_reason": reason}
        return b"data: " + _encode({**self._head, "choices": [choice]}).encode() + b"\n\n"


def chat_body(frame: Frame) -> Callable[[dict[str, Any]], bytes]:
    """Make the writer of a `chat.completion`."""

    def write(document: dict[str, Any]) -> bytes:
        given = document.get("message")
        message: dict[str, Any] = {"role": "assistant", "content": ""}
        message |= _said(given) if isinstance(given, dict) else {}
        calls = tool_calls(given, id=frame.id, first=0)
        if calls:
            message["tool_calls"] = [{name: value for name, value in call.items() if name != "index"} for call in calls]
        reason = finish_reason(document, has_calls=bool(calls))
        choice = {"index": 0, "message": message, "logprobs": _logprobs(document), "finish_reason": reason}
        head = frame.head(kind="chat.completion", prefix="chatcmpl-")
        return _encode({**head, "choices": [choice], "usage": usage(document)}).encode()

    return write


def completion_body(frame: Frame) -> Callable[[dict[str, Any]], bytes]:
    """Make the writer of a `text_completion`."""

    def write(document: dict[str, Any]) -> bytes:
        reason = finish_reason(document, has_calls=False)
        choice = {"text": document.get("response") or "", "index": 0, "logprobs": None, "finish_reason": reason}
        head = frame.head(kind="text_completion", prefix="cmpl-")
        return _encode({**head, "choices": [choice], "usage": usage(document)}).encode()

    return write


def embedding_body(frame: Frame, *, as_base64: bool) -> Callable[[dict[str, Any]], bytes]:
    """Make the writer of a list of embeddings: numbers, or the same in base64."""

    def write(document: dict[str, Any]) -> bytes:
        vectors = document.get("embeddings")
        data = [
            {"object": "embedding", "index": index, "embedding": _packed(vector) if as_base64 else vector}
            for index, vector in enumerate(vectors if isinstance(vectors, list) else ())
        ]
        tokens = count_of(document.get("prompt_eval_count")) or 0
        took = {"prompt_tokens": tokens, "total_tokens": tokens}
        return _encode({"object": "list", "data": data, "model": frame.model, "usage": took}).encode()

    return write


def tool_calls(message: Any, *, id: str, first: int) -> list[dict[str, Any]]:
    """Say the tool calls of a message; their ids follow from the call's own id, so that they are the same each time."""
    return [
        {
            "index": index,
            "id": f"call_{id}_{index}",
            "type": "function",
            "function": {"name": each.get("name") or "", "arguments": _encode(each.get("arguments") or {})},
        }
        for index, each in enumerate(functions_of(message), start=first)
    ]


def finish_reason(document: dict[str, Any], *, has_calls: bool) -> str:
    """Say why an answer ended."""
    if has_calls:
        return "tool_calls"
    return "length" if document.get("done_reason") == "length" else "stop"


def usage(document: dict[str, Any]) -> dict[str, int]:
    """Say what an answer took."""
    prompt, completion = count_of(document.get("prompt_eval_count")) or 0, count_of(document.get("eval_count")) or 0
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


def _said(message: dict[str, Any]) -> dict[str, Any]:
    said: dict[str, Any] = {}
    if message.get("content"):
        said["content"] = message["content"]
    if message.get("thinking"):
        said["reasoning"] = message["thinking"]
    return said


def _logprobs(document: dict[str, Any]) -> dict[str, Any] | None:
    given = document.get("logprobs")
    if not isinstance(given, list):
        return None
    return {"content": [{"bytes": None, "top_logprobs": [], **each} for each in given if isinstance(each, dict)]}


def _usage_event(head: dict[str, Any], document: dict[str, Any] | None) -> bytes:
    if document is None:
        return b""
    return b"data: " + _encode({**head, "choices": [], "usage": usage(document)}).encode() + b"\n\n"


def _packed(vector: Any) -> Any:
    if not isinstance(vector, list) or not all(isinstance(each, int | float) for each in vector):
        return vector
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()
