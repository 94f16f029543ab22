"""OpenAI calls, said on Ollama's own wire."""

import json

import pytest

from kubemoot_web.gateway.asking import BadAsk
from kubemoot_web.gateway.ollama_request import written
from tests.gateway.reading import asked, sent

HELLO = [{"role": "user", "content": "hello"}]
DEFAULTS = {"temperature": 1.0, "top_p": 1.0, "num_ctx": 8192}
TOOL = {"type": "function", "function": {"name": "sum", "parameters": {"type": "object", "properties": {}}}}


def said(operation="chat", **fields):
    """Translate a call."""
    return json.loads(sent(asked("openai", operation, **fields)).body)


def test_a_plain_call():
    assert said(messages=HELLO) == {
        "model": "qwen3:14b",
        "stream": False,
        "keep_alive": -1,
        "options": DEFAULTS,
        "messages": HELLO,
    }


@pytest.mark.parametrize(
    ("fields", "options"),
    [
        ({"temperature": 0}, {"temperature": 0}),
        ({"temperature": None, "top_p": 0.5}, {"top_p": 0.5}),
        ({"seed": 12345678901234567890}, {"seed": 12345678901234567890}),
        ({"max_tokens": 7}, {"num_predict": 7}),
        ({"max_completion_tokens": 7}, {"num_predict": 7}),
        ({"max_tokens": 9, "max_completion_tokens": 7}, {"num_predict": 7}),
        ({"frequency_penalty": 0.1, "presence_penalty": 0.2}, {"frequency_penalty": 0.1, "presence_penalty": 0.2}),
        ({"stop": "."}, {"stop": ["."]}),
        ({"stop": [".", "!"]}, {"stop": [".", "!"]}),
        ({"n": 1, "user": "x", "logit_bias": {"1": 2}, "unheard_of": True}, {}),
        ({"options": {"num_ctx": 4}, "keep_alive": 0}, {}),
    ],
)
def test_options(fields, options):
    assert said(messages=HELLO, **fields)["options"] == {**DEFAULTS, **options}
    assert said("completion", prompt="x", **fields)["options"] == {**DEFAULTS, **options}


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"response_format": {"type": "text"}}, {}),
        ({"response_format": {"type": "json_object"}}, {"format": "json"}),
        ({"response_format": {"type": "json_schema", "json_schema": {"schema": {"a": 1}}}}, {"format": {"a": 1}}),
        ({"reasoning_effort": "none"}, {"think": False}),
        ({"reasoning_effort": "low"}, {"think": "low"}),
        ({"reasoning": {"effort": "high"}}, {"think": "high"}),
        ({"logprobs": True, "top_logprobs": 3}, {"logprobs": True, "top_logprobs": 3}),
        ({"logprobs": False, "top_logprobs": 3}, {}),
        ({"tools": [TOOL]}, {"tools": [TOOL]}),
        ({"tools": [TOOL], "tool_choice": "auto"}, {"tools": [TOOL]}),
        ({"tools": [TOOL], "tool_choice": "none"}, {}),
        ({"tools": []}, {}),
    ],
)
def test_what_else_can_be_asked_for(fields, expected):
    plain = said(messages=HELLO)

    assert said(messages=HELLO, **fields) == {**plain, **expected}


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ({"role": "developer", "content": "be brief"}, {"role": "system", "content": "be brief"}),
        ({"role": "user", "content": ""}, {"role": "user", "content": ""}),
        ({"role": "assistant", "content": None}, {"role": "assistant", "content": ""}),
        (
            {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
            {"role": "user", "content": "a\nb"},
        ),
        (
            {
                "role": "user",
                "content": [
                    {"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD", "detail": "low"}},
                    {"type": "text", "text": "what is it?"},
                    {"type": "image_url", "image_url": "data:;base64,REVG"},
                ],
            },
            {"role": "user", "content": "what is it?", "images": ["QUJD", "REVG"]},
        ),
        (
            {"role": "assistant", "content": "a", "reasoning_content": "hm"},
            {"role": "assistant", "content": "a", "thinking": "hm"},
        ),
        (
            {"role": "function", "name": "sum", "content": "3"},
            {"role": "tool", "content": "3", "tool_name": "sum"},
        ),
    ],
)
def test_messages(message, expected):
    assert said(messages=[message])["messages"] == [expected]


def test_a_tools_result_says_which_tool_it_is_of():
    """One side names the call, the other the tool; of a repeated id the last call counts."""
    call = {"id": "c1", "type": "function", "function": {"name": "old", "arguments": ""}}
    again = {"id": "c1", "type": "function", "function": {"name": "sum", "arguments": '{"a": 1.50, "b": "ß"}'}}

    messages = said(
        messages=[
            {"role": "assistant", "tool_calls": [call]},
            {"role": "assistant", "content": None, "tool_calls": [again]},
            {"role": "tool", "tool_call_id": "c1", "content": "3"},
            {"role": "tool", "tool_call_id": "unheard of", "content": "4"},
        ]
    )["messages"]

    assert messages == [
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"id": "c1", "function": {"name": "old", "arguments": {}}}],
        },
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"id": "c1", "function": {"name": "sum", "arguments": {"a": 1.5, "b": "ß"}}}],
        },
        {"role": "tool", "content": "3", "tool_call_id": "c1", "tool_name": "sum"},
        {"role": "tool", "content": "4", "tool_call_id": "unheard of"},
    ]


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"messages": HELLO, "n": 2}, "n"),
        ({"messages": HELLO, "stop": [1]}, "stop"),
        ({"messages": HELLO, "reasoning_effort": "canary"}, "reasoning_effort"),
        ({"messages": HELLO, "reasoning_effort": ["canary"]}, "reasoning_effort"),
        ({}, "messages"),
        ({"messages": "canary"}, "messages"),
        ({"messages": ["canary"]}, "messages"),
        ({"messages": [{"content": "canary"}]}, "messages"),
        ({"messages": [{"role": "user", "content": 7}]}, "messages"),
        ({"messages": [{"role": "user", "content": ["canary"]}]}, "messages"),
        ({"messages": [{"role": "user", "content": [{"type": "text"}]}]}, "messages"),
        ({"messages": [{"role": "user", "content": [{"type": "input_audio", "x": "canary"}]}]}, "messages"),
        (
            {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": "http://canary/"}]}]},
            "messages",
        ),
        ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, "messages"),
        ({"messages": [{"role": "assistant", "tool_calls": ["canary"]}]}, "messages"),
        ({"messages": [{"role": "assistant", "tool_calls": [{"function": {}}]}]}, "messages"),
        (
            {"messages": [{"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": "canary"}}]}]},
            "messages",
        ),
        (
            {"messages": [{"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": "[1]"}}]}]},
            "messages",
        ),
    ],
)
def test_what_cannot_be_said_is_refused_without_repeating_it(fields, param):
    with pytest.raises(BadAsk) as refused:
        said(**fields)

    assert (refused.value.param, "canary" in refused.value.message) == (param, False)


@pytest.mark.parametrize("prompt", [None, [], ["a", "b"], [1, 2], 7])
def test_a_completion_has_one_prompt(prompt):
    with pytest.raises(BadAsk):
        said("completion", prompt=prompt)


@pytest.mark.parametrize("prompt", ["Once", ["Once"]])
def test_a_completion(prompt):
    assert said("completion", prompt=prompt, suffix="end") == {
        "model": "qwen3:14b",
        "stream": False,
        "keep_alive": -1,
        "options": DEFAULTS,
        "prompt": "Once",
        "suffix": "end",
    }


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"input": "a"}, {"input": ["a"]}),
        ({"input": ["a", "b"], "dimensions": 64}, {"input": ["a", "b"], "dimensions": 64}),
    ],
)
def test_embeddings(fields, expected):
    assert said("embed", **fields) == {
        "model": "qwen3:14b",
        "keep_alive": -1,
        "options": {"num_ctx": 8192},
        **expected,
    }


@pytest.mark.parametrize("given_input", [None, [], [1, 2], [[1], [2]], 7])
def test_embeddings_of_anything_but_text_are_refused(given_input):
    with pytest.raises(BadAsk):
        said("embed", input=given_input)


def test_what_nobody_can_write_is_refused():
    schema = {}
    for _ in range(10_000):
        schema = {"items": schema}

    with pytest.raises(BadAsk, match="nested too deeply"):
        written({"format": schema})
