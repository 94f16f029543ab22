"""Builders for answers of OpenAI's wire, as vLLM and llama.cpp give them."""

import json

from providers.core.types import EngineKind
from tests.gateway.reading import asked, event, sent

FINAL = b"data: [DONE]\n\n"
USAGE = {"prompt_tokens": 12, "completion_tokens": 3, "total_tokens": 15}
HELLO = [{"role": "user", "content": "hello"}]


def chunk(content=None, *, reason=None, **delta):
    """Write an event of a chat."""
    said = {"content": content} if content is not None else {}
    choice = {"index": 0, "delta": {**said, **delta}, "logprobs": None, "finish_reason": reason}
    return event(id="chatcmpl-1", model="qwen3:14b", choices=[choice], usage=None)


def text(piece, *, reason=None):
    """Write an event of a completion."""
    return event(id="cmpl-1", choices=[{"index": 0, "text": piece, "finish_reason": reason}])


def usage(**more):
    """Write the event that says what an answer took."""
    return event(id="chatcmpl-1", choices=[], usage=USAGE, **more)


def call_piece(arguments="", *, index=0, **more):
    """Make a piece of a tool call."""
    id, name = more.get("id"), more.get("name")
    return {"index": index, "id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


def ended(reason="stop"):
    """Write the end of a chat."""
    return chunk("", reason=reason) + usage() + FINAL


def whole(content="", *, reason="stop", usage=USAGE, **message):
    """Write a whole answer."""
    said = {"role": "assistant", "content": content, **message}
    choice = {"index": 0, "message": said, "logprobs": None, "finish_reason": reason}
    return json.dumps({"id": "chatcmpl-1", "model": "qwen3:14b", "choices": [choice], "usage": usage}).encode()


def reader(dialect="ollama", operation="chat", **fields):
    """Give the reader of a call to vLLM."""
    question = {"prompt": "hello", "input": "hello"} if operation not in ("chat", "messages") else {"messages": HELLO}
    return sent(asked(dialect, operation, **question, **fields), engine=EngineKind.VLLM).reader


def lines_of(body):
    """Read the lines of an answer to a client of Ollama."""
    return [json.loads(line) for line in body.splitlines()]
