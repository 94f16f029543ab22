"""Answers as events, wherever the network cuts them."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from providers.core.engines.base import Delta, Done, Failed, HttpReply, RefusalReason, Refused, Trouble, Truncated
from providers.core.engines.ollama_answers import MAX_LINE_BYTES, AnswerReader, parse_answer, refusal
from tests.engines.conftest import RECORDED

STREAMS = {path.stem: path.read_bytes() for path in RECORDED.glob("stream_*.ndjson")}
YES = Delta(text="Yes")


def read(*pieces):
    reader = AnswerReader()
    return [event for piece in pieces for event in reader.feed(piece)] + reader.close()


EXPECTED = {
    "stream_good": [YES, Done(reason="stop", prompt_tokens=12, completion_tokens=1)],
    "stream_no_final_record": [YES, Truncated()],
    "stream_error_object": [YES, Failed(detail="The engine gave up in the middle of its answer.")],
    "stream_characters": [
        Delta(text="Größe 你好"),
        Delta(text="!"),
        Done(reason="stop", prompt_tokens=3, completion_tokens=2),
    ],
}


@pytest.mark.parametrize("name", STREAMS)
def test_a_stream_ends_as_completed_incomplete_or_failed(name):
    """C58: without its final mark, or with an error object after HTTP 200, an answer is no success."""
    assert read(STREAMS[name]) == EXPECTED[name]


@given(st.sampled_from(sorted(STREAMS)), st.lists(st.integers(0, 400), max_size=12))
def test_any_cut_of_the_bytes_gives_the_same_events(name, cuts):
    """C59: lines and even characters are cut anywhere, and several lines come in one piece."""
    raw = STREAMS[name]
    at = [0, *sorted(min(cut, len(raw)) for cut in cuts), len(raw)]

    assert read(*(raw[a:b] for a, b in pairwise(at))) == EXPECTED[name]


def test_one_byte_at_a_time_gives_the_same_events():
    """C59"""
    raw = STREAMS["stream_characters"]

    assert read(*(raw[i : i + 1] for i in range(len(raw)))) == EXPECTED["stream_characters"]


@given(st.data())
def test_a_stream_cut_off_anywhere_before_its_last_line_is_truncated(data):
    """C58"""
    raw = STREAMS["stream_good"]
    end = data.draw(st.integers(0, len(raw) - 2))

    assert read(raw[:end])[-1] == Truncated()


def test_a_last_line_without_its_newline_still_counts():
    assert read(STREAMS["stream_good"].rstrip()) == EXPECTED["stream_good"]


def test_blank_lines_and_leading_blanks_are_heartbeats():
    assert read(b"\n   \n  " + STREAMS["stream_good"]) == EXPECTED["stream_good"]


def test_what_comes_after_the_end_is_ignored():
    assert read(STREAMS["stream_good"] + b'{"error":"late"}\nnonsense\n') == EXPECTED["stream_good"]


def test_generated_text_thinking_and_the_load_time_are_read_too():
    lines = (
        b'{"response":"4"}\n'
        b'{"message":{"content":"","thinking":"two and two"}}\n'
        b'{"response":"","done":true,"load_duration":2500000000}\n'
    )

    assert read(lines) == [Delta(text="4"), Delta(thinking="two and two"), Done(load_s=2.5)]


@pytest.mark.parametrize(
    "line", [b"nonsense\n", b"[]\n", b'{"message":7}\n', b'{"response":[]}\n', b'{"response":"\xff"}\n']
)
def test_nonsense_within_a_stream_fails_it_and_quotes_nothing(line):
    *_, last = read(line + STREAMS["stream_good"])

    assert isinstance(last, Failed)
    assert "nonsense" not in last.detail


def test_a_line_without_end_does_not_fill_the_memory():
    assert read(b"x" * (MAX_LINE_BYTES + 1)) == [Failed(detail="The engine sent a line without end.")]


@given(st.lists(st.binary(max_size=30), max_size=6))
def test_no_bytes_ever_raise_and_every_answer_ends_once(pieces):
    events = read(*pieces)

    assert [e for e in events if not isinstance(e, Delta)] == events[-1:]


REFUSALS = [
    (200, None),
    (400, RefusalReason.BAD_REQUEST),
    (401, RefusalReason.BAD_REQUEST),
    (404, RefusalReason.NO_SUCH_MODEL),
    (422, RefusalReason.BAD_REQUEST),
    (429, RefusalReason.BUSY),
    (499, RefusalReason.BAD_REQUEST),
    (500, RefusalReason.FAILED),
    (502, RefusalReason.FAILED),
    (503, RefusalReason.BUSY),
]


@pytest.mark.parametrize(("status", "reason"), REFUSALS)
def test_a_bad_request_or_a_full_queue_says_nothing_bad_about_the_engine(status, reason):
    """C14, C25: 503 is busy, 4xx is the caller's; only what is left is the engine's failure."""
    refused = refusal(status=status)

    assert (None if refused is None else refused.reason) == reason


def test_an_answer_that_was_not_streamed_gives_the_same_events():
    body = b'{"message":{"role":"assistant","content":"Yes"},"done":true,"done_reason":"stop","eval_count":1}'

    assert parse_answer(reply=HttpReply(status=200, body=body)) == (YES, Done(reason="stop", completion_tokens=1))
    assert parse_answer(reply=HttpReply(status=503)) == (
        Refused(reason=RefusalReason.BUSY, detail="The engine is busy (HTTP 503): its own queue is full."),
    )
    assert parse_answer(reply=HttpReply(trouble=Trouble.BROKEN)) == (Truncated(),)
