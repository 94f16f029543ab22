"""Members are spliced; everything else stays byte for byte."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubemoot_web.gateway.json_edit import REMOVE, Document, NotAnObject


def edited(body, changes):
    """Edit a body."""
    return Document(body).edited(changes)


BLANKS = st.text(alphabet=" \t\r\n", max_size=3)
SPELLINGS = [
    "1e400",
    "-0",
    "12345678901234567890123456789",
    "1.10",
    "0.1000",
    '"\\u00e9\\/"',
    '"é你"',
    "null",
    "[ 1,2 ]",
]
VALUES = st.sampled_from([*SPELLINGS, '{"a" : {"model":1}, "num_ctx":2}', "[]", "{}", "true"])
NAMES = st.sampled_from(["messages", "num_ctx", "seed", "x y", 'quote\\"d', "\\u006dodels", "stream"])


@st.composite
def parts(draw):
    """Make members as raw text, each with the blanks around its name and value."""
    names = draw(st.lists(NAMES, max_size=5))
    return [f'{draw(BLANKS)}"{name}"{draw(BLANKS)}:{draw(BLANKS)}{draw(VALUES)}{draw(BLANKS)}' for name in names]


@given(before=parts(), after=parts(), head=BLANKS, tail=BLANKS)
def test_a_set_member_changes_and_nothing_else_does(before, after, head, tail):
    def body(value):
        return (head + "{" + ",".join([*before, f' "model" : {value} ', *after]) + "}" + tail).encode()

    assert edited(body('"qwen3"'), {("model",): "agent/x"}) == body('"agent/x"')


@given(before=parts(), after=parts(), head=BLANKS, tail=BLANKS)
def test_a_removed_member_leaves_the_others_as_they_were(before, after, head, tail):
    body = (head + "{" + ",".join([*before, '"keep_alive":"5m"', *after]) + "}" + tail).encode()

    result = edited(body, {("keep_alive",): REMOVE}).decode()

    assert json.loads(result, object_pairs_hook=list) == [
        pair for pair in json.loads(body, object_pairs_hook=list) if pair[0] != "keep_alive"
    ]
    assert all(part.strip() in result for part in [*before, *after])
    assert (result.startswith(f"{head}{{"), result.endswith(f"}}{tail}")) == (True, True)


@given(members=parts(), inner=parts())
def test_a_member_of_a_member_changes_alone(members, inner):
    def body(value):
        inside = "{" + ",".join([*inner, f'"main_gpu":{value}']) + "}"
        return ("{" + ",".join([*members, f'"options": {inside}']) + "}").encode()

    assert edited(body("1"), {("options", "main_gpu"): 2}) == body("2")


@given(body=parts().map(lambda each: ("{" + ",".join(each) + "}").encode()))
def test_an_edit_made_twice_is_the_edit_made_once(body):
    changes = {("model",): "m", ("options", "num_ctx"): 8192, ("keep_alive",): REMOVE, ("options", "num_gpu"): REMOVE}

    once = edited(body, changes)

    assert edited(once, changes) == once


@pytest.mark.parametrize(
    ("body", "changes", "expected"),
    [
        ("{}", {("model",): "m"}, '{"model":"m"}'),
        ("{ }", {("model",): "m"}, '{"model":"m" }'),
        ("{}", {("a",): 1, ("b", "c"): 2, ("b", "d"): 3}, '{"a":1,"b":{"c":2,"d":3}}'),
        ('{"a":1 }', {("b",): None}, '{"a":1,"b":null }'),
        ('{"a":1}', {("a",): REMOVE}, "{}"),
        ('{"a":1}', {("a",): REMOVE, ("b",): 2}, '{"b":2}'),
        ('{"a":1, "b":2 ,"a":3}', {("a",): REMOVE}, '{"b":2}'),
        ('{"a":1}', {("options", "x"): REMOVE}, '{"a":1}'),
        ('{"options":null}', {("options", "x"): REMOVE}, '{"options":null}'),
        ('{"options":null}', {("options", "x"): 1}, '{"options":{"x":1}}'),
        ('{"options":"odd"}', {("options", "x"): 1}, '{"options":"odd"}'),
        ('{"options": {"x":1, "y":2}}', {("options", "x"): REMOVE, ("options", "z"): 3}, '{"options": {"y":2,"z":3}}'),
        ('{"model":"a","model":"b"}', {("model",): "c"}, '{"model":"c","model":"c"}'),
        ('{"Model":"a"}', {("model",): "c"}, '{"Model":"c"}'),
        ('{"mod\\u0065l":"a"}', {("model",): "c"}, '{"mod\\u0065l":"c"}'),
        ('{"\u212aeep_alive":0}', {("keep_alive",): -1}, '{"\u212aeep_alive":-1}'),
        ('{"option\u017f":{"num_ctx":1}}', {("options", "num_ctx"): 2}, '{"option\u017f":{"num_ctx":2}}'),
        ('{"a":"\\ud800"}', {("b",): "\ud800"}, '{"a":"\\ud800","b":"\\ud800"}'),
    ],
)
def test_edits(body, changes, expected):
    """Repeated members and other spellings are changed too: an engine may read any of them."""
    assert edited(body.encode(), changes) == expected.encode()


def test_a_body_that_is_right_already_is_handed_back_as_it_is():
    body = b'{ "model":"m" ,"n":1.0}'

    assert edited(body, {("model",): "m", ("keep_alive",): REMOVE}) is body


def test_of_a_repeated_member_the_last_counts():
    assert Document(b'{"model":"a","MODEL":"b","x":{"Y":1}}').fields == {"model": "b", "x": {"Y": 1}}


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "is not a JSON object"),
        (b"[]", "is not a JSON object"),
        (b'"secret"', "is not a JSON object"),
        (b"{", "is not valid JSON at character 1"),
        (b'{"a"', "is not valid JSON at character 4"),
        (b'{"a":', "is not valid JSON at character 5"),
        (b'{"a":secret}', "is not valid JSON at character 5"),
        (b'{"a":1,}', "is not valid JSON at character 7"),
        (b'{"a":1 "b":2}', "is not valid JSON at character 7"),
        (b'{"a":1}secret', "goes on after its end at character 7"),
        (b'{"a":"\xff"}', "is not UTF-8 at byte 6"),
        (b'\xef\xbb\xbf{"a":1}', "begins with a byte order mark"),
        (b'{"a":' + b"[" * 200_000 + b"]" * 200_000 + b"}", "is nested too deeply"),
        (b'{"a":' + b"1" * 5_000 + b"}", "is not valid JSON at character 1"),
    ],
)
def test_what_is_no_object_is_refused_without_repeating_it(body, message):
    with pytest.raises(NotAnObject) as refused:
        edited(body, {("model",): "m"})

    assert str(refused.value) == message
