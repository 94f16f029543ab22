"""Server-sent events on their way through."""

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubemoot_web.gateway.dialects import Dialect
from kubemoot_web.gateway.errors import BROKE_OFF, ENDED_EARLY, error_frame
from kubemoot_web.gateway.readers import Verdict
from kubemoot_web.gateway.sse_reader import SseReader
from scheduler.core.ledger import CallEnd
from tests.gateway.reading import bytewise, cuts, event, events_of, read

FINAL = b"data: [DONE]\n\n"
USAGE = event(choices=[], model="qwen3:14b", usage={"prompt_tokens": 12, "completion_tokens": 3, "total_tokens": 15})
METERED = Verdict(end=CallEnd.OK, prompt_tokens=12, completion_tokens=3)


def delta(text, **more):
    return event(id="c", model="qwen3:14b", choices=[{"index": 0, "delta": {"content": text}, **more}])


TEXTS = delta("Grö") + delta('ße [DONE] "usage":{} \\"error\\": 你好') + delta("!", finish_reason="stop")
C61 = b"".join(
    map(
        base64.b64decode,
        [
            "ZGF0YTogeyJjaG9pY2VzIjpbXSwicHJvbXB0X2ZpbHRlcl9yZXN1bHRzIjpbXX0KCg==",
            "ZGF0YTogeyJjaG9pY2VzIjpbeyJpbmRleCI6MCwiZGVsdGEiOnsiY29udGVudCI6Im9rIn19XX0KCmRhdGE6IHsiY2hvaWNlcyI6W3siaW5k"
            "ZXgiOjAsImRlbHRhIjp7fSwiZmluaXNoX3JlYXNvbiI6InN0b3AifV19Cgo=",
            "ZGF0YTogeyJjaG9pY2VzIjpbXSwidXNhZ2UiOnsicHJvbXB0X3Rva2VucyI6MTIsImNvbXBsZXRpb25fdG9rZW5zIjozLCJ0b3RhbF90b2tl"
            "bnMiOjE1fX0KCg==",
            "ZGF0YTogeyJ1c2FnZSI6bnVsbH0KCmRhdGE6IFtET05FXQoK",
        ],
    )
)


def reader(*, shown=None, drops_usage=False):
    return SseReader(shown=shown, drops_usage=drops_usage)


@given(pieces=cuts(TEXTS + USAGE + FINAL))
def test_a_client_that_asked_for_usage_gets_every_byte(pieces):
    assert read(reader(), pieces) == (TEXTS + USAGE + FINAL, METERED)


@given(pieces=cuts(TEXTS + USAGE + FINAL))
def test_usage_that_only_we_asked_for_stays_here(pieces):
    assert read(reader(drops_usage=True), pieces) == (TEXTS + FINAL, METERED)


@pytest.mark.parametrize("reason", ["abort", "error"])
@given(data=st.data())
def test_an_answer_that_the_engine_broke_off_is_none_though_it_ends_as_one(reason, data):
    """vLLM, put to sleep in the middle of an answer, ended it as if it were whole; clients took it for one."""
    begun = delta("Grö") + event(choices=[{"index": 0, "delta": {}, "finish_reason": reason}])
    got, verdict = read(reader(drops_usage=True), data.draw(cuts(begun + USAGE + FINAL)))

    told = begun + error_frame(Dialect.OPENAI, True, "stream-truncated", ENDED_EARLY)
    assert got.split() == told.split()  # where it was cut, one blank line more may stand between two events
    assert verdict == Verdict(end=CallEnd.TRUNCATED, prompt_tokens=12, completion_tokens=3)


def test_a_final_mark_without_its_lines_end_makes_no_broken_answer_whole():
    begun = event(choices=[{"index": 0, "delta": {}, "finish_reason": "abort"}])
    got, verdict = read(reader(), [begun, FINAL.strip()])

    assert (FINAL.strip() in got, verdict.end) == (False, CallEnd.TRUNCATED)


def test_a_text_about_answers_that_were_broken_off_is_a_text():
    body = delta('{"finish_reason":"abort"} "abort"') + FINAL

    assert read(reader(), [body]) == (body, Verdict(end=CallEnd.OK))


@pytest.mark.parametrize("cut", [lambda body: [body], bytewise])
@pytest.mark.parametrize("drops_usage", [True, False])
def test_pieces_without_choices_break_nothing(cut, drops_usage):
    """C61: events with no choice at all, or without the member, and a usage of null."""
    got, verdict = read(reader(drops_usage=drops_usage), cut(C61))

    events = events_of(C61)
    assert verdict == METERED
    assert events_of(got) == (events[:3] + events[4:] if drops_usage else events)


def test_a_whole_piece_goes_on_as_the_same_object_at_once():
    piece = delta("a")

    assert reader().feed(piece) is piece


def test_half_a_line_waits_for_its_other_half():
    first, second = delta("a")[:30], delta("a")[30:]
    reading = reader()

    assert (reading.feed(first), reading.feed(second)) == (b"", delta("a"))


@pytest.mark.parametrize(
    "body",
    [
        TEXTS.replace(b"\n", b"\r\n") + USAGE.replace(b"\n", b"\r\n") + FINAL.replace(b"\n", b"\r\n"),
        (TEXTS + USAGE + FINAL).replace(b"data: ", b"data:"),
        b": comment\n\n" + TEXTS + USAGE + FINAL,
        TEXTS + USAGE.replace(b'"usage":', b'"usage" : ') + FINAL,
    ],
)
def test_other_spellings_of_events_are_read_too(body):
    got, verdict = read(reader(drops_usage=True), [body])

    assert (verdict, b"prompt_tokens" in got, b"\n\n\n" in got) == (METERED, False, False)
    assert read(reader(drops_usage=True), bytewise(body)) == (got, verdict)


def test_usage_beside_a_choice_goes_on():
    """Some engines put it into the last event of the text."""
    last = event(
        choices=[{"index": 0, "delta": {}, "finish_reason": "stop"}],
        usage={"prompt_tokens": 12, "completion_tokens": 3},
    )

    assert read(reader(drops_usage=True), [last, FINAL]) == (last + FINAL, METERED)


def test_a_null_in_every_event_is_no_usage():
    body = event(choices=[{"index": 0, "delta": {"content": "a"}}], usage=None, error=None) + FINAL

    assert read(reader(drops_usage=True), [body]) == (body, Verdict(end=CallEnd.OK))


@pytest.mark.parametrize("usage", [{"prompt_tokens": "12", "completion_tokens": -3}, {"prompt_tokens": True}, {"x": 1}])
def test_nonsense_in_usage_is_unknown(usage):
    assert read(reader(), [event(choices=[], usage=usage), FINAL])[1] == Verdict(end=CallEnd.OK)


@given(pieces=cuts(TEXTS + USAGE + FINAL))
def test_the_model_is_shown_by_the_name_that_was_asked_for(pieces):
    got, verdict = read(reader(shown='agent/"x"', drops_usage=True), pieces)

    assert verdict == METERED
    assert got == (TEXTS + FINAL).replace(b'"model":"qwen3:14b"', b'"model":"agent/\\"x\\""')


def test_what_a_text_or_an_argument_says_of_a_model_is_left_alone():
    arguments = json.dumps({"model": "qwen3:14b"})
    call = {
        "index": 0,
        "delta": {"tool_calls": [{"function": {"arguments": arguments}}], "content": '"model":"qwen3:14b"'},
    }
    body = event(choices=[call], model="qwen3:14b")

    assert events_of(read(reader(shown="x"), [body, body])[0])[:2] == [{"choices": [call], "model": "x"}] * 2


@pytest.mark.parametrize("cut", [lambda body: [body], bytewise])
@pytest.mark.parametrize(("is_broken", "words"), [(False, ENDED_EARLY), (True, BROKE_OFF)])
@pytest.mark.parametrize("tail", [b"", b'data: {"choices":[{"ind', b"data: [DON", b"data: {}\n"])
def test_a_stream_without_its_final_mark_ends_with_an_error(cut, is_broken, words, tail):
    """C57, C58: it would pass for a short answer; half an event is nothing that a client could read."""
    got, verdict = read(reader(drops_usage=True), cut(delta("Yes") + tail), is_broken=is_broken)

    assert verdict == Verdict(end=CallEnd.TRUNCATED)
    whole = delta("Yes") + (b"data: {}\n" if tail.endswith(b"\n") else b"")
    assert got.startswith(whole)
    assert got[len(whole) :].lstrip(b"\n") == error_frame(Dialect.OPENAI, True, "stream-truncated", words)
    assert b"[DONE]" not in got


def test_a_final_mark_without_its_line_end_counts():
    assert read(reader(), [TEXTS, b"data: [DONE]"]) == (TEXTS + FINAL, Verdict(end=CallEnd.OK))


@pytest.mark.parametrize("ending", [b"", FINAL])
def test_an_engines_error_is_passed_on_and_booked_as_one(ending):
    """C58: an error behind a 200 is no answer, whatever follows it."""
    body = delta("Yes") + event(error={"message": "the runner failed"}) + ending

    assert read(reader(drops_usage=True), [body]) == (body, Verdict(end=CallEnd.ERROR))


def test_an_empty_answer_is_truncated():
    got, verdict = read(reader(), [])

    assert (verdict.end, events_of(got)[0]["error"]["code"]) == (CallEnd.TRUNCATED, "stream-truncated")
