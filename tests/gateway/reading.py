"""Builders for the tests of readers: bodies, cuts of them anywhere, and what came out in the end."""

import json
from itertools import pairwise

from hypothesis import strategies as st

from kubemoot_web.gateway.asking import read_asked
from kubemoot_web.gateway.dialects import Dialect, Operation
from kubemoot_web.gateway.upstream import upstream
from providers.core.types import EngineKind


def read(reader, pieces, *, is_broken=False):
    """Feed an answer and give what the client got, and the verdict."""
    got = b"".join(reader.feed(piece) for piece in pieces)
    return got + reader.end(is_broken=is_broken), reader.verdict


def bytewise(body):
    """Cut a body into single bytes."""
    return [body[at : at + 1] for at in range(len(body))]


def cuts(body):
    """Cut a body anywhere, inside lines and characters too."""
    places = st.lists(st.integers(0, len(body)), max_size=6).map(lambda at: sorted({0, *at, len(body)}))
    return places.map(lambda at: [body[a:b] for a, b in pairwise(at)])


def line(**document):
    """Write one line of Ollama's wire as the engine does."""
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"


def event(**document):
    """Write one event of the OpenAI wire as the engine does."""
    return b"data: " + json.dumps(document, separators=(",", ":"), ensure_ascii=False).encode() + b"\n\n"


def said(content="", **more):
    """Write a line of a chat."""
    message = {"role": "assistant", "content": content, **more}
    return line(model="qwen3:14b", created_at="2026-11-29T12:00:00Z", message=message, done=False)


def done(content="", reason="stop", **more):
    """Write the last line of a chat, with what it took."""
    return line(
        model="qwen3:14b",
        created_at="2026-11-29T12:00:00Z",
        message={"role": "assistant", "content": content, **more},
        done=True,
        done_reason=reason,
        total_duration=2_000_000_000,
        load_duration=500_000_000,
        prompt_eval_count=12,
        prompt_eval_duration=1,
        eval_count=3,
        eval_duration=1,
    )


def asked(dialect="openai", operation="chat", **fields):
    """Read a call from its members."""
    fields = {"model": "agent/default/analyst", **fields}
    return read_asked(dialect=Dialect(dialect), operation=Operation(operation), body=json.dumps(fields).encode())


def sent(call, *, engine=EngineKind.OLLAMA, model="qwen3:14b", context_length=8192, is_context_set=True, call_id="abc"):
    """Choose the way of a call."""
    return upstream(
        call,
        engine=engine,
        model=model,
        context_length=context_length,
        is_context_set=is_context_set,
        call_id=call_id,
        clock=lambda: 1_764_417_600.0,
    )


def events_of(body):
    """Read the data of server-sent events."""
    found = [part.partition(b"data: ")[2] for part in body.split(b"\n\n") if b"data: " in part]
    return [each.decode() if each == b"[DONE]" else json.loads(each) for each in found]
