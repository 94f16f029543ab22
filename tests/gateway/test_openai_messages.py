"""Messages of Ollama's wire, said on OpenAI's: pictures, tool calls and which call a result answers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubemoot_web.gateway.asking import BadAsk
from kubemoot_web.gateway.openai_messages import Messages

PNG, JPEG, GIF, WEBP, OTHER = "iVBORw0KGgoAA", "/9j/AA", "R0lGODAA", "UklGRAA", "AAAA"


def say(*given, says_more=True):
    """Say the messages of a conversation."""
    return Messages(says_more=says_more).say(list(given))


def calls(*names):
    """Make a message of Ollama's wire that calls tools."""
    return {"role": "assistant", "tool_calls": [{"function": {"name": name, "arguments": {}}} for name in names]}


def result(content="3", **more):
    """Make a tool's result."""
    return {"role": "tool", "content": content, **more}


def answered(*given):
    """List which call each result answers."""
    return [each["tool_call_id"] for each in say(*given) if each["role"] == "tool"]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"role": "user", "content": "hello"}, {"role": "user", "content": "hello"}),
        ({"role": "user"}, {"role": "user", "content": ""}),
        ({"role": "user", "content": None, "images": []}, {"role": "user", "content": ""}),
        (
            {"role": "assistant", "content": "3", "thinking": "hm", "tool_calls": []},
            {"role": "assistant", "content": "3", "reasoning_content": "hm"},
        ),
        (
            {"role": "assistant", "tool_calls": [{"function": {"name": "sum", "arguments": {"a": "ß", "b": 1}}}]},
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [
                    {
                        "id": "call00000",
                        "type": "function",
                        "function": {"name": "sum", "arguments": '{"a":"\\u00df","b":1}'},
                    }
                ],
            },
        ),
        (
            {"role": "assistant", "tool_calls": [{"id": "x", "function": {"name": "now"}}]},
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [{"id": "x", "type": "function", "function": {"name": "now", "arguments": "{}"}}],
            },
        ),
    ],
    ids=str,
)
def test_a_message(given, expected):
    assert say(given) == [expected]


def test_an_engine_that_takes_no_more_than_openai_hears_no_more():
    thought = {"role": "assistant", "content": "3", "thinking": "hm"}

    assert say(thought, result(tool_name="sum"), says_more=False) == [
        {"role": "assistant", "content": "3"},
        {"role": "tool", "content": "3", "tool_call_id": "call00000"},
    ]


@pytest.mark.parametrize(
    ("image", "kind"), [(PNG, "png"), (JPEG, "jpeg"), (GIF, "gif"), (WEBP, "webp"), (OTHER, "png")]
)
def test_a_picture_is_said_as_what_it_is(image, kind):
    (message,) = say({"role": "user", "content": "what?", "images": [image]})

    assert message["content"] == [
        {"type": "text", "text": "what?"},
        {"type": "image_url", "image_url": {"url": f"data:image/{kind};base64,{image}"}},
    ]


def test_a_picture_needs_no_text():
    (message,) = say({"role": "user", "images": [OTHER, OTHER]})

    assert [part["type"] for part in message["content"]] == ["image_url", "image_url"]


@pytest.mark.parametrize(
    ("results", "ids"),
    [
        ([result(), result()], ["call00000", "call00001"]),
        ([result(tool_name="b"), result(tool_name="a")], ["call00001", "call00000"]),
        ([result(name="b"), result()], ["call00001", "call00000"]),
        ([result(tool_call_id="call00001"), result()], ["call00001", "call00000"]),
        ([result(tool_call_id="other"), result()], ["other", "call00000"]),
        ([result(tool_name="c"), result(tool_name="b")], ["call00000", "call00001"]),
        ([result(), result(), result()], ["call00000", "call00001", "call00002"]),
        ([result(tool_call_id=""), result(tool_call_id=7)], ["call00000", "call00001"]),
    ],
    ids=str,
)
def test_a_result_answers_the_call_it_names_or_its_tools_first_or_the_first(results, ids):
    assert answered(calls("a", "b"), *results) == ids


def test_of_two_calls_of_one_tool_the_first_is_answered_first():
    assert answered(calls("a", "a"), result(tool_name="a"), result(tool_name="a")) == ["call00000", "call00001"]


def test_a_later_turns_results_answer_a_later_turns_calls():
    assert answered(calls("a"), calls("a"), result(tool_name="a")) == ["call00001"]


def test_a_result_without_any_call_has_an_id_all_the_same():
    assert answered(result()) == ["call00000"]


def test_made_up_ids_keep_clear_of_those_that_are_given():
    given = {"role": "assistant", "tool_calls": [{"id": "call00000", "function": {"name": "a"}}]}

    said = say(given, calls("b"))

    assert [each["tool_calls"][0]["id"] for each in said] == ["call00000", "call00001"]


TURNS = st.lists(
    st.one_of(
        st.lists(st.sampled_from("ab"), min_size=1, max_size=3).map(lambda names: calls(*names)),
        st.sampled_from([None, "a", "b"]).map(lambda name: result(tool_name=name)),
    )
)


@given(TURNS)
def test_no_id_is_made_twice_and_no_call_answered_twice(turns):
    said = say(*turns)

    made = [call["id"] for each in said for call in each.get("tool_calls", ())]
    given_back = [each["tool_call_id"] for each in said if each["role"] == "tool"]
    assert (len(set(made)), len(set(given_back))) == (len(made), len(given_back))


def test_ids_are_what_the_strictest_template_takes():
    """There are models whose templates refuse every id but nine letters and digits."""
    (id,) = answered(calls("a"), result())

    assert (len(id), id.isalnum()) == (9, True)


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ({"content": "hello"}, "needs a role"),
        ({"role": "user", "content": [{"type": "text", "text": "x"}]}, "must be a text"),
        ({"role": "user", "images": "AA"}, "must be a list"),
        ({"role": "user", "images": ["http://x/a.png"]}, "in base64"),
        ({"role": "user", "images": ["data:image/png;base64,AA"]}, "in base64"),
        ({"role": "user", "images": [1]}, "in base64"),
        ({"role": "user", "images": [""]}, "in base64"),
        ({"role": "assistant", "tool_calls": {"a": 1}}, "must be a list"),
        ({"role": "assistant", "tool_calls": ["sum"]}, "function with a name"),
        ({"role": "assistant", "tool_calls": [{"function": {"name": 1}}]}, "function with a name"),
        ({"role": "assistant", "tool_calls": [{"function": {"name": "a", "arguments": [1]}}]}, "JSON object"),
    ],
    ids=str,
)
def test_what_cannot_be_said_is_refused(message, words):
    with pytest.raises(BadAsk, match=words) as refused:
        say(message)

    assert refused.value.param == "messages"
