"""Answers of OpenAI's wire, read as Ollama's documents and given to clients of Ollama."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubemoot_web.gateway.openai_reader import Events
from kubemoot_web.gateway.readers import Verdict
from scheduler.core.ledger import CallEnd
from tests.gateway.openai_wire import FINAL, call_piece, chunk, ended, lines_of, reader, text, usage
from tests.gateway.reading import bytewise, cuts, event, read

OK = Verdict(end=CallEnd.OK, prompt_tokens=12, completion_tokens=3, load_s=0.0)
HEAD = {"model": "agent/default/analyst", "created_at": "2025-11-29T12:00:00.000000Z"}
TOOK = {
    "total_duration": 0,
    "load_duration": 0,
    "prompt_eval_count": 12,
    "prompt_eval_duration": 0,
    "eval_count": 3,
    "eval_duration": 0,
}
CALL = {"id": "x", "function": {"name": "sum", "arguments": {"a": 1}}}
ANSWER = (
    chunk("", role="assistant")
    + b": keep waiting\n\n"
    + chunk(reasoning_content="hm")
    + chunk("Grö")
    + chunk("ße 🎉")
    + chunk(tool_calls=[call_piece('{"a"', id="x", name="sum")])
    + chunk(tool_calls=[call_piece(": 1}")])
    + chunk("", reason="tool_calls")
    + usage()
    + FINAL
)


def said(content="", **more):
    """Make a line that a client of Ollama gets."""
    return {**HEAD, "message": {"role": "assistant", "content": content, **more}, "done": False}


def last(reason="stop", **took):
    """Make the last line."""
    message = {"role": "assistant", "content": ""}
    return {**HEAD, "message": message, "done": True, "done_reason": reason, **(took or TOOK)}


def documents(*events, clock=lambda: 0.0):
    """Read events as documents."""
    read_line = Events(clock=clock)
    return [document for each in events for line in each.splitlines() for document in read_line(line)]


def test_a_chat_that_streams():
    got, verdict = read(reader(), [ANSWER])

    assert lines_of(got) == [said(thinking="hm"), said("Grö"), said("ße 🎉"), said(tool_calls=[CALL]), last()]
    assert verdict == OK


@pytest.mark.parametrize(
    ("dialect", "operation"), [("ollama", "chat"), ("ollama", "generate"), ("anthropic", "messages")]
)
@given(pieces=cuts(ANSWER))
def test_it_is_the_same_however_it_is_cut(dialect, operation, pieces):
    assert read(reader(dialect, operation, stream=True), pieces) == read(
        reader(dialect, operation, stream=True), [ANSWER]
    )


@given(st.integers(0, len(ANSWER) - len(FINAL)))
def test_an_answer_that_is_cut_off_anywhere_is_never_taken_for_whole(length):
    got, verdict = read(reader(), bytewise(ANSWER[:length]), is_broken=True)

    assert (list(lines_of(got)[-1]), verdict) == (["error"], Verdict(end=CallEnd.TRUNCATED))


@pytest.mark.parametrize("end", [b"\r\n", b"\n"])
def test_it_is_the_same_whichever_way_lines_end(end):
    assert read(reader(), bytewise(ANSWER.replace(b"\n", end))) == read(reader(), [ANSWER])


def test_a_final_mark_without_the_lines_end_is_one():
    assert read(reader(), bytewise(ANSWER.rstrip())) == read(reader(), [ANSWER])


def test_what_is_said_goes_on_at_once():
    read_on = reader()

    assert [bool(read_on.feed(each)) for each in (chunk("a")[:-2], b"\n\n", usage(), FINAL)] == [
        False,
        True,
        False,
        True,
    ]


def test_a_generated_text_has_its_own_members():
    got, verdict = read(reader(operation="generate"), [chunk(reasoning="hm") + chunk("yes") + ended("length")])

    rest = {"response": "", "done": True, "done_reason": "length", **TOOK}
    assert lines_of(got) == [
        {**HEAD, "response": "", "thinking": "hm", "done": False},
        {**HEAD, "response": "yes", "done": False},
        {**HEAD, **rest},
    ]
    assert verdict == OK


def test_a_raw_text():
    body = text("def") + text(" f", reason="stop") + usage() + FINAL
    got, _ = read(reader(operation="generate", raw=True), bytewise(body))

    assert [each["response"] for each in lines_of(got)] == ["def", " f", ""]


@pytest.mark.parametrize(
    ("events", "messages"),
    [
        ([chunk("a", reasoning="hm")], [{"content": "a", "thinking": "hm"}]),
        ([chunk(role="assistant")], []),
        ([chunk(refusal="No.")], [{"content": "No."}]),
        ([chunk([{"type": "text"}])], []),
        ([event(choices=[]), event(choices=None), event(choices=["x"]), event(x=1)], []),
        ([b"data:\n", b"event: ping\n", b"id: 5\n", b"retry: 1\n", b"\n", b": x\n"], []),
        ([b'data:{"choices":[{"delta":{"content":"a"}}]}\n'], [{"content": "a"}]),
        (
            [chunk("so: ", tool_calls=[call_piece("{", name="sum")], reason="length")],
            [{"content": 'so: {"name": "sum", "arguments": "{"}'}],
        ),
        ([chunk(tool_calls=[call_piece("{}", id="x", name="a")]), FINAL], [{"content": "", "tool_calls": [1]}, {}]),
    ],
    ids=str,
)
def test_what_an_event_says(events, messages):
    got = [document["message"] for document in documents(*events)]

    assert len(got) == len(messages)
    for message, expected in zip(got, messages, strict=True):
        if "tool_calls" in message:
            message["tool_calls"] = [1]
        assert message == {"role": "assistant", "content": "", **expected}


def test_log_probabilities_are_passed_on():
    told = [{"token": "a", "logprob": -0.5, "top_logprobs": []}]
    choice = {"index": 0, "delta": {"content": "a"}, "logprobs": {"content": told}}

    assert documents(event(choices=[choice]))[0]["logprobs"] == told


def test_time_is_measured_where_the_engine_does_not_say():
    times = iter([10.0, 12.0, 15.0])
    *_, told = documents(chunk("a"), ended(), clock=lambda: next(times))

    assert told["total_duration"] == 5_000_000_000
    assert (told["prompt_eval_duration"], told["eval_duration"]) == (2_000_000_000, 3_000_000_000)


def test_a_clock_that_is_set_back_measures_nothing():
    times = iter([10.0, 12.0, 5.0])
    *_, told = documents(chunk("a"), ended(), clock=lambda: next(times))

    assert (told["total_duration"], told["eval_duration"]) == (0, 0)


@pytest.mark.parametrize(
    ("timings", "expected"),
    [
        (
            {"cache_n": 2, "prompt_n": 10, "prompt_ms": 1.5, "predicted_n": 4, "predicted_ms": 20},
            {"prompt_eval_count": 12, "prompt_eval_duration": 1_500_000, "eval_count": 4, "eval_duration": 20_000_000},
        ),
        (
            {"prompt_n": "x", "prompt_ms": -1, "predicted_n": -1, "predicted_ms": float("inf")},
            {"prompt_eval_duration": 0, "eval_duration": 0},
        ),
        ({"prompt_ms": float("nan"), "predicted_ms": True}, {"prompt_eval_duration": 0, "eval_duration": 0}),
    ],
    ids=str,
)
def test_what_llamacpp_measured_counts(timings, expected):
    *_, told = documents(chunk("a"), event(choices=[], timings=timings), FINAL)

    kept = {name: value for name, value in told.items() if "eval" in name}
    assert kept == expected


def test_usage_counts_before_what_was_measured():
    *_, told = documents(usage(timings={"prompt_n": 1, "predicted_n": 1}), FINAL)

    assert (told["prompt_eval_count"], told["eval_count"]) == (12, 3)


def test_unknown_counts_stay_unknown():
    got, verdict = read(reader(), [chunk("a") + FINAL])

    assert (lines_of(got)[-1].get("eval_count"), verdict.completion_tokens, verdict.end) == (None, None, CallEnd.OK)


@pytest.mark.parametrize(
    ("body", "is_broken"),
    [
        (b"", False),
        (chunk("a"), False),
        (chunk("a"), True),
        (chunk("a") + chunk("", reason="stop") + usage(), False),
        (chunk("a") + chunk("b")[:20], True),
        (chunk("a") + b'data: {"choices": [{"del\n\n' + ended(), False),
        (chunk("a") + b"data: [1]\n\n" + ended(), False),
        (chunk("a") + ended("abort"), False),
        (chunk("a") + ended("error"), False),
    ],
    ids=["empty", "no end", "broken", "no mark", "half an event", "an event lost", "no event", "aborted", "failed"],
)
def test_an_answer_that_is_not_whole_ends_with_an_error(body, is_broken):
    got, verdict = read(reader(), bytewise(body), is_broken=is_broken)

    *_, told = lines_of(got)
    assert (list(told), verdict) == (["error"], Verdict(end=CallEnd.TRUNCATED))


@pytest.mark.parametrize(
    ("failed", "words"),
    [
        (event(error={"message": "out of memory", "code": 500}), "out of memory"),
        (event(error="out of memory"), "out of memory"),
        (event(object="error", message="out of memory"), "out of memory"),
        (b'error: {"code":500,"message":"out of memory"}\n\n', "out of memory"),
        (event(error={"code": 500}), "The model server failed and did not say why."),
    ],
    ids=["OpenAI", "a text", "old vLLM", "old llama.cpp", "without a word"],
)
def test_an_error_inside_the_answer_is_the_last_that_a_client_hears(failed, words):
    got, verdict = read(reader(), bytewise(chunk("a") + failed + chunk("b") + ended()))

    assert lines_of(got) == [said("a"), {"error": words}]
    assert verdict == Verdict(end=CallEnd.ERROR)


@given(
    st.lists(st.sampled_from([ANSWER[:200], b"data: ", b"\n", b"[DONE]", b"{}", b"null", b'{"choices":[{}]}', b"\xff"]))
)
def test_nothing_that_an_engine_sends_breaks_the_reader(pieces):
    got, verdict = read(reader(), pieces)

    assert lines_of(got)
    assert verdict.end in (CallEnd.OK, CallEnd.TRUNCATED)
