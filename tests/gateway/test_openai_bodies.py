"""Whole answers of OpenAI's wire, and vectors, given to clients of Ollama."""

import json

import pytest

from kubemoot_web.gateway.readers import Verdict
from scheduler.core.ledger import CallEnd
from tests.gateway.openai_wire import call_piece, reader, whole
from tests.gateway.reading import bytewise, read

OK = Verdict(end=CallEnd.OK, prompt_tokens=12, completion_tokens=3, load_s=0.0)
HEAD = {"model": "agent/default/analyst", "created_at": "2025-11-29T12:00:00.000000Z"}
CALL = {"id": "x", "function": {"name": "sum", "arguments": {"a": 1}}}


def test_a_whole_chat():
    body = whole("Größe", reasoning_content="hm", tool_calls=[call_piece('{"a": 1}', id="x", name="sum")])
    got, verdict = read(reader(stream=False), bytewise(body))

    message = {"role": "assistant", "content": "Größe", "thinking": "hm", "tool_calls": [CALL]}
    took = {"total_duration": 0, "load_duration": 0, "prompt_eval_count": 12, "eval_count": 3}
    assert json.loads(got) == {**HEAD, "message": message, "done": True, "done_reason": "stop", **took}
    assert verdict == OK


def test_a_whole_text():
    got, verdict = read(reader(operation="generate", stream=False), [whole("yes", reason="length", reasoning="hm")])

    told = json.loads(got)
    assert (told["response"], told["thinking"], told["done_reason"], verdict) == ("yes", "hm", "length", OK)
    assert "message" not in told


@pytest.mark.parametrize(
    ("operation", "path_members"),
    [("embed", {"model": HEAD["model"], "embeddings": [[1.0], [0.5]]}), ("embed_old", {"embedding": [1.0]})],
)
def test_vectors_are_given_in_their_order(operation, path_members):
    data = [{"index": 1, "embedding": [0.5]}, {"index": 0, "embedding": [1.0]}]
    body = json.dumps({"object": "list", "data": data, "usage": {"prompt_tokens": 12, "total_tokens": 12}}).encode()
    got, verdict = read(reader(operation=operation), bytewise(body))

    took = {"total_duration": 0, "load_duration": 0, "prompt_eval_count": 12} if operation == "embed" else {}
    assert json.loads(got) == {**path_members, **took}
    assert verdict == Verdict(end=CallEnd.OK, prompt_tokens=12, load_s=0.0)


@pytest.mark.parametrize("operation", ["chat", "generate", "embed", "embed_old"])
@pytest.mark.parametrize(
    ("body", "end", "words"),
    [
        (b"", CallEnd.TRUNCATED, "ended its answer"),
        (b'{"choices": [', CallEnd.TRUNCATED, "ended its answer"),
        (whole("a", reason="abort").replace(b'"choices"', b'"other"'), CallEnd.ERROR, "no answer"),
        (b'{"error": {"message": "out of memory"}}', CallEnd.ERROR, "out of memory"),
        (b'{"object": "error", "message": "out of memory"}', CallEnd.ERROR, "out of memory"),
        (b'{"error": {"code": 500}}', CallEnd.ERROR, "did not say why"),
        (b'{"data": [], "choices": []}', CallEnd.ERROR, "no answer"),
        (b'{"data": [{"embedding": "AAAA"}], "choices": [1]}', CallEnd.ERROR, "no answer"),
    ],
    ids=["empty", "cut", "something else", "error", "old vLLM", "without a word", "nothing", "odd"],
)
def test_a_body_that_is_no_answer_is_an_error(operation, body, end, words):
    got, verdict = read(reader(operation=operation, stream=False), bytewise(body))

    assert words in json.loads(got)["error"]
    assert verdict == Verdict(end=end)


def test_a_whole_answer_that_the_engine_broke_off_is_not_whole():
    got, verdict = read(reader(stream=False), [whole("a", reason="abort")])

    assert (list(json.loads(got)), verdict.end) == (["error"], CallEnd.TRUNCATED)
