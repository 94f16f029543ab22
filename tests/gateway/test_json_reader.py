"""Answers that are one object, on their way through."""

import json

import pytest
from hypothesis import given

from kubemoot_web.gateway.dialects import Dialect
from kubemoot_web.gateway.errors import ENDED_EARLY, error_frame
from kubemoot_web.gateway.json_reader import LARGE_BYTES, JsonReader
from kubemoot_web.gateway.readers import Verdict
from scheduler.core.ledger import CallEnd
from tests.gateway.reading import cuts, done, read

OPENAI, OLLAMA = Dialect.OPENAI, Dialect.OLLAMA
ARGUMENTS = {"arguments": {"model": "m", "error": "x", "prompt_eval_count": 9}}
COMPLETION = (
    b'{ "id":"c", "choices":[{"message":{"content":"\\"model\\":"}}], "model": "m", '
    b'"usage":{"prompt_tokens":12,"completion_tokens":3}}\n'
)
VECTOR = [0.123456] * 12_000


def reader(dialect, shown=None):
    return JsonReader(dialect=dialect, shown=shown)


def large(**members):
    body = json.dumps(members, separators=(",", ":")).encode()
    assert len(body) > LARGE_BYTES
    return body


@given(pieces=cuts(COMPLETION))
def test_every_byte_goes_on_when_the_body_is_whole(pieces):
    assert read(reader(OPENAI), pieces) == (COMPLETION, Verdict(end=CallEnd.OK, prompt_tokens=12, completion_tokens=3))


@pytest.mark.parametrize("reason", ["abort", "error"])
@pytest.mark.parametrize("text", ["Grö", "x" * LARGE_BYTES], ids=["short", "long"])
@pytest.mark.parametrize("shown", [None, "x"])
def test_an_answer_that_the_engine_broke_off_is_an_error(reason, text, shown):
    """vLLM, put to sleep in the middle of an answer, gave what it had with a status of 200."""
    choice = {"message": {"content": text}, "finish_reason": reason}
    usage = {"prompt_tokens": 12, "completion_tokens": 3}
    got, verdict = read(reader(OPENAI, shown), [json.dumps({"choices": [choice], "usage": usage}).encode()])

    assert got == error_frame(OPENAI, False, "stream-truncated", ENDED_EARLY)
    assert verdict == Verdict(end=CallEnd.TRUNCATED, prompt_tokens=12, completion_tokens=3)


def test_a_text_about_answers_that_were_broken_off_is_a_text():
    body = json.dumps({"choices": [{"message": {"content": '{"finish_reason":"abort"}'}}]}).encode()

    assert read(reader(OPENAI), [body]) == (body, Verdict(end=CallEnd.OK))


def test_the_name_alone_changes():
    assert read(reader(OPENAI, "x"), [COMPLETION])[0] == COMPLETION.replace(b'"model": "m"', b'"model": "x"')


def test_an_ollama_answer_is_metered():
    body = done("Yes", tool_calls=[{"function": ARGUMENTS}])

    assert read(reader(OLLAMA, "x"), [body]) == (
        body.replace(b'{"model":"qwen3:14b"', b'{"model":"x"'),
        Verdict(end=CallEnd.OK, prompt_tokens=12, completion_tokens=3, load_s=0.5),
    )


@pytest.mark.parametrize("body", [b"", b"{", COMPLETION[:-2], b"<html>", b"[]"])
@pytest.mark.parametrize("dialect", [OPENAI, OLLAMA])
def test_a_body_that_is_not_whole_becomes_an_error(dialect, body):
    got, verdict = read(reader(dialect), [body])

    assert (verdict.end, list(json.loads(got))) == (CallEnd.TRUNCATED, ["error"])


def test_an_error_behind_a_200_is_no_answer():
    assert read(reader(OLLAMA), [b'{"error":"x"}']) == (b'{"error":"x"}', Verdict(end=CallEnd.ERROR))


def test_a_large_list_of_vectors_is_metered_at_its_end():
    body = large(
        object="list", data=[{"embedding": VECTOR}], model="m", usage={"prompt_tokens": 12, "total_tokens": 12}
    )

    got, verdict = read(reader(OPENAI, "x"), [body])

    assert (json.loads(got), verdict) == ({**json.loads(body), "model": "x"}, Verdict(end=CallEnd.OK, prompt_tokens=12))


def test_a_long_chat_says_its_name_early():
    choice = {"index": 0, "message": {"role": "assistant", "content": '"model": "m" ' * 6_000}}
    took = {"prompt_tokens": 12, "completion_tokens": 9_000}
    body = large(id="chatcmpl-1", object="chat.completion", created=1, model="m", choices=[choice], usage=took)

    assert json.loads(read(reader(OPENAI, "x"), [body])[0]) == {**json.loads(body), "model": "x"}


def test_a_large_embedding_of_ollama_begins_with_its_name():
    body = large(model="m", embeddings=[VECTOR], total_duration=1, load_duration=2_000_000_000, prompt_eval_count=12)

    got, verdict = read(reader(OLLAMA, "x"), [body])

    assert json.loads(got) == {**json.loads(body), "model": "x"}
    assert verdict == Verdict(end=CallEnd.OK, prompt_tokens=12, load_s=2.0)


@pytest.mark.parametrize("is_broken", [True, False])
@pytest.mark.parametrize("cut", [70_000, 90_000])
def test_a_large_body_that_was_cut_becomes_an_error(cut, is_broken):
    body = large(data=[{"embedding": [0.5] * 20} for _ in range(2_000)], model="m", usage={"prompt_tokens": 12})
    cut = body.rindex(b"}", 0, cut) + 1  # looks like an end

    assert read(reader(OPENAI), [body[:cut]], is_broken=is_broken)[1] == Verdict(end=CallEnd.TRUNCATED)


def test_a_large_body_without_counts_is_read_whole():
    body = large(embedding=VECTOR)

    assert read(reader(OLLAMA, "x"), [body]) == (body, Verdict(end=CallEnd.OK))
