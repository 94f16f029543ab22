"""Lines of Ollama's own wire on their way through."""

import base64
import json

import pytest
from hypothesis import given

from kubemoot_web.gateway.errors import ENDED_EARLY
from kubemoot_web.gateway.ndjson_reader import NdjsonReader
from kubemoot_web.gateway.readers import Verdict
from scheduler.core.ledger import CallEnd
from tests.gateway.reading import bytewise, cuts, done, line, read, said

BODY = said("Grö") + said('ße "done":true} 你好') + said("!") + done()
METERED = Verdict(end=CallEnd.OK, prompt_tokens=12, completion_tokens=3, load_s=0.5)
C59 = base64.b64decode(
    "eyJtb2RlbCI6Im0iLCJtZXNzYWdlIjp7InJvbGUiOiJhc3Npc3RhbnQiLCJjb250ZW50IjoiR3LDtsOfZSDkvaDlpb0ifSwiZG9uZSI6ZmFsc2V9Cnsi"
    "bW9kZWwiOiJtIiwibWVzc2FnZSI6eyJyb2xlIjoiYXNzaXN0YW50IiwiY29udGVudCI6IiEifSwiZG9uZSI6dHJ1ZSwiZG9uZV9yZWFzb24iOiJzdG9w"
    "IiwicHJvbXB0X2V2YWxfY291bnQiOjMsImV2YWxfY291bnQiOjJ9Cg=="
)


def reader(shown=None):
    return NdjsonReader(shown=shown)


@given(pieces=cuts(BODY))
def test_every_byte_goes_on(pieces):
    assert read(reader(), pieces) == (BODY, METERED)


@pytest.mark.parametrize("pieces", [[C59], [C59[:53], C59[53:58], C59[58:90], C59[90:]], bytewise(C59)])
def test_lines_and_characters_may_be_cut_anywhere(pieces):
    """C59: read piece by piece, tokens are lost or become replacement characters."""
    got, verdict = read(reader(), pieces)

    assert verdict == Verdict(end=CallEnd.OK, prompt_tokens=3, completion_tokens=2)
    assert "".join(json.loads(each)["message"]["content"] for each in got.splitlines()) == "Größe 你好!"


def test_a_whole_piece_goes_on_as_the_same_object_at_once():
    one, several = said("a"), said("a") + said("b")

    assert (reader().feed(one) is one, reader().feed(several) is several) == (True, True)


@pytest.mark.parametrize(
    ("body", "end", "tokens", "error"),
    [
        (said("Yes"), CallEnd.TRUNCATED, None, ENDED_EARLY),
        (said("Yes") + line(error="The runner failed"), CallEnd.ERROR, None, "The runner failed"),
        (said("Yes") + done(), CallEnd.OK, 3, None),
        (said("Yes") + done().strip(), CallEnd.OK, 3, None),
        (said("Yes") + line(error="The runner failed").strip(), CallEnd.ERROR, None, "The runner failed"),
        (said("Yes") + said("No").strip(), CallEnd.TRUNCATED, None, ENDED_EARLY),
        (said("Yes") + b'{"model":"m","mess', CallEnd.TRUNCATED, None, ENDED_EARLY),
        (said("Yes") + b'{"error"\n', CallEnd.TRUNCATED, None, ENDED_EARLY),
        (b"", CallEnd.TRUNCATED, None, ENDED_EARLY),
    ],
)
@pytest.mark.parametrize("cut", [lambda body: [body], bytewise])
def test_an_answer_without_its_end_is_neither_ok_nor_silent(cut, body, end, tokens, error):
    """C58: a stream that stops short, or carries an error behind its 200, passes for an answer."""
    got, verdict = read(reader(), cut(body))

    assert (verdict.end, verdict.completion_tokens) == (end, tokens)
    assert json.loads(got.splitlines()[-1]).get("error") == error


def test_what_a_tool_is_told_is_not_what_the_engine_says():
    """Arguments are objects on this wire: they may have members of any name."""
    function = {"name": "f", "arguments": {"done": True, "error": "x", "model": "qwen3:14b"}}
    body = said(tool_calls=[{"function": function}])

    got, verdict = read(reader("x"), [body, done()])

    document = json.loads(got.splitlines()[0])
    assert (document["model"], document["message"]["tool_calls"]) == ("x", [{"function": function}])
    assert verdict == METERED


def test_a_last_line_is_the_last_whatever_its_tools_are_told():
    body = done(tool_calls=[{"function": {"name": "f", "arguments": {"done": False, "model": "qwen3:14b"}}}])

    assert read(reader(), [body]) == (body, METERED)


@given(pieces=cuts(BODY))
def test_the_model_is_shown_by_the_name_that_was_asked_for(pieces):
    assert read(reader('a"x'), pieces) == (BODY.replace(b'{"model":"qwen3:14b"', b'{"model":"a\\"x"'), METERED)


@pytest.mark.parametrize(
    ("given_line", "shown"),
    [
        (b'{ "model" : "m", "done":false}\n', b'{"model":"x", "done":false}\n'),
        (b'{"done":false,"model":"m"}\n', b'{"done":false,"model":"x"}\n'),
        (b'{"a":{"model":"m"},"done":false}\n', b'{"a":{"model":"m"},"done":false}\n'),
        (b"rubbish\n", b"rubbish\n"),
    ],
)
def test_the_name_is_found_wherever_it_stands(given_line, shown):
    reading = reader("x")
    reading.feed(b'{"model":"m","done":false}\n')

    assert (reader("x").feed(given_line), reading.feed(given_line)) == (shown, shown)


def test_a_load_is_one_object_that_says_done():
    body = (
        b'{"model":"m","created_at":"x","message":{"role":"assistant","content":""},"done_reason":"load","done":true}'
    )

    assert read(reader(), [body]) == (body, Verdict(end=CallEnd.OK))
