"""Tool calls that come in pieces are given whole, and never as calls that the model did not make."""

import json

import pytest

from kubemoot_web.gateway import readers
from kubemoot_web.gateway.gathered_calls import GatheredCalls
from kubemoot_web.gateway.readers import TooLong


def piece(arguments="", *, name=None, **more):
    """Make a piece of a call."""
    return {"function": {"name": name, "arguments": arguments}, **more}


def taken(*events):
    """Gather the pieces of several events."""
    gathered = GatheredCalls()
    for event in events:
        gathered.add(event)
    return gathered.taken()


def call(name, arguments, id=""):
    """Make a call of Ollama's wire."""
    return {"id": id, "function": {"name": name, "arguments": arguments}}


@pytest.mark.parametrize(
    ("events", "calls"),
    [
        ([[piece('{"a": 1}', name="sum", id="x")]], [call("sum", {"a": 1}, "x")]),
        (
            [[piece(name="sum", index=0, id="x")], [piece('{"a"', index=0)], [piece(": 1}", index=0)]],
            [call("sum", {"a": 1}, "x")],
        ),
        (
            [
                [piece("{", name="a", index=0, id="x"), piece("{", name="b", index=1, id="y")],
                [piece('"n":2}', index=1), piece('"n":1}', index=0)],
            ],
            [call("a", {"n": 1}, "x"), call("b", {"n": 2}, "y")],
        ),
        (
            [[piece("{", name="sum", index=0, id="x")], [piece("}", name="sum", index=0, id="x")]],
            [call("sum", {}, "x")],
        ),
        (
            [[piece("{}", name="a", index=0, id="x")], [piece("{}", name="a", index=0, id="y")]],
            [call("a", {}, "x"), call("a", {}, "y")],
        ),
        (
            [[piece("{}", name="a", id="x")], [piece("{", name="b", id="y")], [piece("}", id="y")]],
            [call("a", {}, "x"), call("b", {}, "y")],
        ),
        ([[piece("{", name="a", id="x")], [piece("}", name="a", id="x")]], [call("a", {}, "x")]),
        ([[piece("{}", name="a")], [piece("{", name="a")], [piece("}")]], [call("a", {}), call("a", {})]),
        ([[piece("{}", name="a"), piece("{}", name="b")]], [call("a", {}), call("b", {})]),
        ([[piece({"n": 1}, name="a")]], [call("a", {"n": 1})]),
        ([[piece(None, name="a")], [piece(" ")]], [call("a", {})]),
        ([[piece("{}", name="a", index=3, id=7)]], [call("a", {})]),
    ],
    ids=[
        "whole",
        "in pieces",
        "two mixed",
        "id and name again with each piece",
        "two with one index",
        "told apart by ids",
        "one that names itself again",
        "told apart by names",
        "two without anything but names",
        "an object",
        "nothing to say",
        "an odd id",
    ],
)
def test_calls(events, calls):
    assert taken(*events) == {"tool_calls": calls}


@pytest.mark.parametrize("arguments", ['{"a": ', "[1]", "three", '{"a": NaN}', '{"a": 1e999}', "[" * 100_000, "null,"])
def test_what_cannot_be_read_as_a_call_is_given_as_text(arguments):
    """Half of a call's arguments, cut by a bound, would be another call."""
    assert taken([piece(arguments, name="sum")]) == {"content": json.dumps({"name": "sum", "arguments": arguments})}


def test_a_call_of_nothing_is_text():
    assert taken([piece("{}")]) == {"content": '{"name": "", "arguments": "{}"}'}


def test_a_good_call_stays_one_beside_a_bad_one():
    assert taken([piece("{}", name="a", index=0), piece("{", name="b", index=1)]) == {
        "tool_calls": [call("a", {})],
        "content": '{"name": "b", "arguments": "{"}',
    }


@pytest.mark.parametrize("given", [None, [], {}, "x", [None, "x", 1], 5], ids=str)
def test_what_is_no_call_is_none(given):
    assert taken(given) == {}


def test_calls_are_given_once():
    gathered = GatheredCalls()
    gathered.add([piece("{}", name="a")])

    assert (bool(gathered.taken()), gathered.taken()) == (True, {})


@pytest.mark.parametrize("piece_of", [piece("x" * 100, index=0), piece("", name="a"), piece("")], ids=str)
def test_calls_without_an_end_are_given_up(piece_of, monkeypatch):
    monkeypatch.setattr(readers, "MOST_OF_A_LINE", 10_000)
    gathered = GatheredCalls()

    with pytest.raises(TooLong):
        gathered.add([piece_of] * 1000)
