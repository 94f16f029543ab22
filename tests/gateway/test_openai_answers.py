"""Answers of Ollama's own wire, said in the OpenAI dialect."""

import base64
import json
import struct

import pytest
from hypothesis import given

from kubemoot_web.gateway.readers import Verdict
from scheduler.core.ledger import CallEnd
from tests.gateway.reading import asked, bytewise, cuts, done, events_of, line, read, said, sent

HELLO = [{"role": "user", "content": "hello"}]
METERED = Verdict(end=CallEnd.OK, prompt_tokens=12, completion_tokens=3, load_s=0.5)
USAGE = {"prompt_tokens": 12, "completion_tokens": 3, "total_tokens": 15}
HEAD = {
    "id": "chatcmpl-abc",
    "object": "chat.completion.chunk",
    "created": 1_764_417_600,
    "model": "agent/default/analyst",
    "system_fingerprint": "fp_ollama",
}
CALLS = [
    {"function": {"name": "sum", "arguments": {"a": 1, "b": "ß"}}},
    {"function": {"name": "now", "arguments": {}}},
]


def translated(pieces, operation="chat", **fields):
    """Send a call's answer through its reader."""
    fields = {"messages": HELLO, "prompt": "x", "input": "x", **fields}
    return read(sent(asked("openai", operation, **fields)).reader, pieces)


def chunk(delta, reason=None, **more):
    return {**HEAD, "choices": [{"index": 0, "delta": delta, **more, "finish_reason": reason}]}


def test_a_stream():
    got, verdict = translated([said("Grö"), said("ße"), done()], stream=True)

    assert events_of(got) == [
        chunk({"role": "assistant", "content": "Grö"}),
        chunk({"content": "ße"}),
        chunk({}, "stop"),
        "[DONE]",
    ]
    assert verdict == METERED


@given(pieces=cuts(said("Grö") + said("ße") + done("!")))
def test_a_stream_cut_anywhere_is_the_same_stream(pieces):
    assert translated(pieces, stream=True) == translated([said("Grö"), said("ße"), done("!")], stream=True)


def test_usage_comes_to_who_asked_for_it():
    got, _ = translated([said("a"), done()], stream=True, stream_options={"include_usage": True})

    assert events_of(got)[-2:] == [{**HEAD, "choices": [], "usage": USAGE}, "[DONE]"]


def test_thinking_and_tool_calls_in_a_stream():
    lines = [said(thinking="hm"), said(tool_calls=CALLS[:1]), said(tool_calls=CALLS[1:]), done(reason="stop")]

    got, _ = translated(lines, stream=True)

    def call(index, name, arguments):
        function = {"name": name, "arguments": arguments}
        return {"tool_calls": [{"index": index, "id": f"call_abc_{index}", "type": "function", "function": function}]}

    assert events_of(got) == [
        chunk({"role": "assistant", "content": "", "reasoning": "hm"}),
        chunk(call(0, "sum", '{"a":1,"b":"\\u00df"}')),
        chunk(call(1, "now", "{}")),
        chunk({}, "tool_calls"),
        "[DONE]",
    ]


@pytest.mark.parametrize(
    ("reason", "expected"), [("stop", "stop"), ("length", "length"), ("load", "stop"), ("", "stop")]
)
@pytest.mark.parametrize("stream", [True, False])
def test_why_it_ended(stream, reason, expected):
    got, _ = translated([done("x", reason)], stream=stream)

    document = events_of(got)[-2] if stream else json.loads(got)
    assert document["choices"][0]["finish_reason"] == expected


def test_log_probabilities_are_passed_on():
    given_probabilities = [
        {"token": "a", "logprob": -0.5, "bytes": [97], "top_logprobs": [{"token": "b", "logprob": -1}]}
    ]
    body = line(message={"content": "a"}, logprobs=given_probabilities, done=False)

    got, _ = translated([body, done()], stream=True, logprobs=True)

    assert events_of(got)[0]["choices"][0]["logprobs"] == {"content": given_probabilities}


def test_a_whole_answer():
    got, verdict = translated(bytewise(done("Größe", thinking="hm", tool_calls=CALLS[:1])))

    function = {"name": "sum", "arguments": '{"a":1,"b":"\\u00df"}'}
    message = {
        "role": "assistant",
        "content": "Größe",
        "reasoning": "hm",
        "tool_calls": [{"id": "call_abc_0", "type": "function", "function": function}],
    }
    assert json.loads(got) == {
        **HEAD,
        "object": "chat.completion",
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": "tool_calls"}],
        "usage": USAGE,
    }
    assert verdict == METERED


def test_a_completion_whole_and_streamed():
    head = {**HEAD, "id": "cmpl-abc", "object": "text_completion"}
    last = json.loads(done())
    last.pop("message")

    def choice(text, reason):
        return {"text": text, "index": 0, "logprobs": None, "finish_reason": reason}

    whole, _ = translated([line(**{**last, "response": "Once"})], "completion")
    streamed, verdict = translated(
        [line(response="On", done=False), line(response="ce", done=False), line(**{**last, "response": ""})],
        "completion",
        stream=True,
        stream_options={"include_usage": True},
    )

    assert json.loads(whole) == {**head, "choices": [choice("Once", "stop")], "usage": USAGE}
    assert events_of(streamed) == [
        {**head, "choices": [choice("On", None)]},
        {**head, "choices": [choice("ce", None)]},
        {**head, "choices": [choice("", "stop")]},
        {**head, "choices": [], "usage": USAGE},
        "[DONE]",
    ]
    assert verdict == METERED


@pytest.mark.parametrize("encoding", [None, "float", "base64"])
def test_embeddings(encoding):
    body = line(model="m", embeddings=[[0.5, -1.0], [0.25, 2.0]], load_duration=0, prompt_eval_count=12)

    got, verdict = translated([body], "embed", encoding_format=encoding)

    answer = json.loads(got)
    vectors = [each["embedding"] for each in answer["data"]]
    if encoding == "base64":
        vectors = [list(struct.unpack("<2f", base64.b64decode(each))) for each in vectors]
    assert vectors == [[0.5, -1.0], [0.25, 2.0]]
    assert [each["index"] for each in answer["data"]] == [0, 1]
    assert (answer["model"], answer["usage"]) == ("agent/default/analyst", {"prompt_tokens": 12, "total_tokens": 12})
    assert verdict == Verdict(end=CallEnd.OK, prompt_tokens=12, load_s=0.0)


@pytest.mark.parametrize(
    ("body", "end", "code"),
    [
        (said("Yes"), CallEnd.TRUNCATED, "stream-truncated"),
        (said("Yes") + done()[:-10], CallEnd.TRUNCATED, "stream-truncated"),
        (said("Yes") + line(error="The runner failed"), CallEnd.ERROR, "engine-error"),
        (said("Yes") + line(error="The runner failed") + done(), CallEnd.ERROR, "engine-error"),
    ],
)
@pytest.mark.parametrize("cut", [lambda body: [body], bytewise])
def test_a_stream_that_fails_ends_with_an_error_and_no_final_mark(cut, body, end, code):
    """C58: the client raises it; without it the text so far would pass for the answer."""
    got, verdict = translated(cut(body), stream=True)

    assert (verdict.end, events_of(got)[-1]["error"]["code"]) == (end, code)
    assert b"[DONE]" not in got


@pytest.mark.parametrize(
    ("body", "end", "code"),
    [
        (b"", CallEnd.TRUNCATED, "stream-truncated"),
        (done()[:-10], CallEnd.TRUNCATED, "stream-truncated"),
        (line(error="The runner failed"), CallEnd.ERROR, "engine-error"),
    ],
)
def test_a_whole_answer_that_fails_is_an_error(body, end, code):
    got, verdict = translated([body])

    assert (verdict.end, json.loads(got)["error"]["code"]) == (end, code)


@pytest.mark.parametrize("message", [None, "odd", {"content": None}, {"tool_calls": ["odd", {}]}])
@pytest.mark.parametrize("stream", [True, False])
def test_an_answer_of_another_shape_breaks_nothing(stream, message):
    got, verdict = translated([line(message=message, done=True)], stream=stream)

    assert (verdict, bool(got)) == (Verdict(end=CallEnd.OK), True)
