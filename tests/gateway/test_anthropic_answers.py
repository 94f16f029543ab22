"""Answers of Ollama's own wire, said in the Anthropic dialect."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubemoot_web.gateway.readers import Verdict
from scheduler.core.ledger import CallEnd
from tests.gateway.reading import asked, bytewise, cuts, done, events_of, line, read, said, sent

HELLO = [{"role": "user", "content": "hello"}]
METERED = Verdict(end=CallEnd.OK, prompt_tokens=12, completion_tokens=3, load_s=0.5)
CALL = {"function": {"name": "sum", "arguments": {"a": 1}}}
NONSENSE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["message", "content", "thinking", "tool_calls", "function", "arguments", "done", "error"]),
            inner,
        )
    ),
    max_leaves=12,
)


def translated(pieces, *, dialect="anthropic", operation="messages", **fields):
    """Send a call's answer through its reader."""
    fields = {"messages": HELLO, "input": "x", "prompt": "x", **fields}
    return read(sent(asked(dialect, operation, **fields)).reader, pieces)


def message(content, reason, took):
    return {
        "id": "msg_abc",
        "type": "message",
        "role": "assistant",
        "model": "agent/default/analyst",
        "content": content,
        "stop_reason": reason,
        "stop_sequence": None,
        "usage": took,
    }


def test_a_stream_is_one_block_after_the_other():
    calls = [said(tool_calls=[CALL]), said(tool_calls=[CALL])]
    lines = [said(thinking="h"), said(thinking="m"), said("Grö"), said("ße"), *calls, done()]

    got, verdict = translated(lines, stream=True)

    def start(index, **block):
        return {"type": "content_block_start", "index": index, "content_block": block}

    def delta(index, kind, **more):
        return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **more}}

    def stop(index):
        return {"type": "content_block_stop", "index": index}

    assert events_of(got) == [
        {"type": "message_start", "message": message([], None, {"input_tokens": 2, "output_tokens": 0})},
        start(0, type="thinking", thinking="", signature=""),
        delta(0, "thinking_delta", thinking="h"),
        delta(0, "thinking_delta", thinking="m"),
        stop(0),
        start(1, type="text", text=""),
        delta(1, "text_delta", text="Grö"),
        delta(1, "text_delta", text="ße"),
        stop(1),
        start(2, type="tool_use", id="toolu_abc_0", name="sum", input={}),
        delta(2, "input_json_delta", partial_json='{"a":1}'),
        stop(2),
        start(3, type="tool_use", id="toolu_abc_1", name="sum", input={}),
        delta(3, "input_json_delta", partial_json='{"a":1}'),
        stop(3),
        {
            "type": "message_delta",
            "delta": {"stop_reason": "tool_use", "stop_sequence": None},
            "usage": {"input_tokens": 12, "output_tokens": 3},
        },
        {"type": "message_stop"},
    ]
    names = [each.split(b"\n")[0] for each in got.split(b"\n\n") if each]
    assert names == [f"event: {each['type']}".encode() for each in events_of(got)]
    assert verdict == METERED


@given(pieces=cuts(said("Grö") + said("ße") + done("!")))
def test_a_stream_cut_anywhere_is_the_same_stream(pieces):
    assert translated(pieces, stream=True) == translated([said("Grö"), said("ße"), done("!")], stream=True)


def test_a_whole_message():
    got, verdict = translated(bytewise(done("Größe", thinking="hm", tool_calls=[CALL])))

    content = [
        {"type": "thinking", "thinking": "hm", "signature": ""},
        {"type": "text", "text": "Größe"},
        {"type": "tool_use", "id": "toolu_abc_0", "name": "sum", "input": {"a": 1}},
    ]
    assert json.loads(got) == message(content, "tool_use", {"input_tokens": 12, "output_tokens": 3})
    assert verdict == METERED


@pytest.mark.parametrize(("reason", "expected"), [("stop", "end_turn"), ("length", "max_tokens"), ("load", "end_turn")])
def test_why_it_ended(reason, expected):
    assert json.loads(translated([done("x", reason)])[0])["stop_reason"] == expected


@pytest.mark.parametrize(
    ("body", "end"),
    [
        (said("Yes"), CallEnd.TRUNCATED),
        (said("Yes") + line(error="The runner failed"), CallEnd.ERROR),
        (b"", CallEnd.TRUNCATED),
    ],
)
def test_a_stream_that_fails_ends_with_an_error(body, end):
    """C58: the client raises it; without it the text so far would pass for the answer."""
    got, verdict = translated([body], stream=True)

    assert (verdict, events_of(got)[-1]["type"]) == (Verdict(end=end), "error")
    assert b"\n\nevent: error\n" in b"\n\n" + got
    assert b"message_stop" not in got


@given(documents=st.lists(NONSENSE, max_size=4), stream=st.booleans())
@pytest.mark.parametrize(
    ("dialect", "operation"),
    [("anthropic", "messages"), ("openai", "chat"), ("openai", "completion"), ("openai", "embed"), ("ollama", "chat")],
)
def test_no_answer_of_an_engine_makes_a_reader_fail(dialect, operation, documents, stream):
    """The status is out: whatever comes, the client must get an answer or an error, never a connection that breaks."""
    body = b"".join(json.dumps(each).encode() + b"\n" for each in documents)

    got, verdict = translated([body], dialect=dialect, operation=operation, stream=stream)

    assert isinstance(verdict.end, CallEnd)
    assert verdict.end is CallEnd.OK or b"error" in got
