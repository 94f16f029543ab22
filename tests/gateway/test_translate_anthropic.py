"""Anthropic calls, said on Ollama's own wire."""

import json

import pytest

from kubemoot_web.gateway.asking import BadAsk
from tests.gateway.reading import asked, sent

SCHEMA = {"type": "object", "properties": {"answer": {"type": "string"}}}
HELLO = [{"role": "user", "content": "hello"}]


def said(**fields):
    """Translate a call."""
    return json.loads(sent(asked("anthropic", "messages", **fields)).body)


def blocks(*content, role="user"):
    """Translate one message of blocks."""
    return said(messages=[{"role": role, "content": list(content)}])["messages"]


def test_a_plain_call():
    fields = {"max_tokens": 100, "temperature": 0.5, "top_p": 0.9, "top_k": 5, "stop_sequences": ["."]}

    assert said(messages=HELLO, system="be brief", stream=True, metadata={"user_id": "x"}, **fields) == {
        "model": "qwen3:14b",
        "stream": True,
        "keep_alive": -1,
        "options": {"num_predict": 100, "temperature": 0.5, "top_p": 0.9, "top_k": 5, "stop": ["."], "num_ctx": 8192},
        "messages": [{"role": "system", "content": "be brief"}, *HELLO],
    }


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"thinking": {"type": "enabled", "budget_tokens": 1024}}, {"think": True}),
        ({"thinking": {"type": "disabled"}}, {"think": False}),
        ({"thinking": {"type": "unheard of"}}, {}),
        ({"thinking": {"type": ["enabled"]}}, {}),
        ({"tools": [{"type": "web_search_20250305", "name": "web_search"}]}, {}),
        (
            {"tools": [{"name": "sum", "description": "adds", "input_schema": {"type": "object"}}]},
            {
                "tools": [
                    {
                        "type": "function",
                        "function": {"name": "sum", "description": "adds", "parameters": {"type": "object"}},
                    }
                ]
            },
        ),
        (
            {"tools": [{"name": "sum", "input_schema": {}, "strict": True}]},
            {
                "tools": [
                    {
                        "type": "function",
                        "function": {"name": "sum", "description": "", "parameters": {}, "strict": True},
                    }
                ]
            },
        ),
        ({"tools": [{"name": "sum", "input_schema": {}}], "tool_choice": {"type": "none"}}, {}),
        ({"output_config": {"format": {"type": "json_schema", "schema": SCHEMA}}}, {"format": SCHEMA}),
        ({"output_format": {"type": "json_schema", "schema": SCHEMA}}, {"format": SCHEMA}),
        ({"output_config": {"effort": "low"}, "output_format": None}, {}),
    ],
)
def test_what_else_can_be_asked_for(fields, expected):
    assert said(messages=HELLO, **fields) == {**said(messages=HELLO), **expected}


def test_the_system_prompt_may_come_in_blocks():
    system = [
        {"type": "text", "text": "be "},
        {"type": "text", "text": "brief", "cache_control": {"type": "ephemeral"}},
    ]

    assert said(messages=HELLO, system=system)["messages"][0] == {"role": "system", "content": "be brief"}


def test_pictures_and_documents_lie_in_the_call():
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "QUJD"}}
    document = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "a letter"}}

    assert blocks(picture, {"type": "text", "text": "what is it? "}, document) == [
        {"role": "user", "content": "what is it? a letter", "images": ["QUJD"]}
    ]


def test_tools_are_called_and_answer():
    """Results come first, each a message of its own that names its tool; what the person says follows."""
    messages = said(
        messages=[
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "hm", "signature": "s"},
                    {"type": "redacted_thinking", "data": "x"},
                    {"type": "text", "text": "let me see"},
                    {"type": "tool_use", "id": "t1", "name": "sum", "input": {"a": 1}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "3"}]},
                    {"type": "tool_result", "tool_use_id": "t9", "content": "none", "is_error": True},
                    {"type": "tool_result", "tool_use_id": "t1"},
                    {"type": "text", "text": "and now?"},
                ],
            },
        ]
    )["messages"]

    assert messages == [
        {
            "role": "assistant",
            "content": "let me see",
            "thinking": "hm",
            "tool_calls": [{"id": "t1", "function": {"name": "sum", "arguments": {"a": 1}}}],
        },
        {"role": "tool", "content": "3", "tool_call_id": "t1", "tool_name": "sum"},
        {"role": "tool", "content": "none", "tool_call_id": "t9"},
        {"role": "tool", "content": "", "tool_call_id": "t1", "tool_name": "sum"},
        {"role": "user", "content": "and now?"},
    ]


def test_a_message_of_results_alone_says_nothing_more():
    assert blocks({"type": "tool_result", "tool_use_id": "t", "content": "3"}) == [
        {"role": "tool", "content": "3", "tool_call_id": "t"}
    ]


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({}, "messages"),
        ({"messages": ["canary"]}, "messages"),
        ({"messages": [{"role": "canary", "content": "x"}]}, "messages"),
        ({"messages": [{"role": "user", "content": 7}]}, "messages"),
        ({"messages": [{"role": "user", "content": [{"type": "text", "text": 7}]}]}, "messages"),
        (
            {
                "messages": [
                    {"role": "user", "content": [{"type": "image", "source": {"type": "url", "url": "canary"}}]}
                ]
            },
            "messages",
        ),
        (
            {
                "messages": [
                    {"role": "user", "content": [{"type": "document", "source": {"type": "base64", "data": "canary"}}]}
                ]
            },
            "messages",
        ),
        ({"messages": [{"role": "assistant", "content": [{"type": "tool_use", "name": "canary"}]}]}, "messages"),
        (
            {
                "messages": [
                    {"role": "assistant", "content": [{"type": "tool_use", "name": "a", "id": "b", "input": "canary"}]}
                ]
            },
            "messages",
        ),
        ({"messages": [{"role": "user", "content": [{"type": "tool_result", "content": 7}]}]}, "messages"),
        ({"messages": HELLO, "system": 7}, "system"),
        ({"messages": HELLO, "tools": 7}, "tools"),
        ({"messages": HELLO, "output_config": {"format": {"type": "canary", "schema": SCHEMA}}}, "output_config"),
        ({"messages": HELLO, "output_format": {"type": "json_schema", "schema": "canary"}}, "output_config"),
        ({"messages": HELLO, "stop_sequences": [7]}, "stop_sequences"),
    ],
)
def test_what_cannot_be_said_is_refused_without_repeating_it(fields, param):
    with pytest.raises(BadAsk) as refused:
        said(**fields)

    assert (refused.value.param, "canary" in refused.value.message) == (param, False)
