"""Calls of Ollama's and Anthropic's clients, said on OpenAI's wire."""

import json

import pytest

from kubemoot_web.gateway.asking import BadAsk
from providers.core.types import EngineKind
from tests.gateway.reading import asked, sent

HELLO = [{"role": "user", "content": "hello"}]
SCHEMA = {"type": "object", "properties": {"answer": {"type": "string"}}}
TOOL = {"type": "function", "function": {"name": "sum", "parameters": {"type": "object"}}}
LLAMACPP, VLLM, OPENAI = EngineKind.LLAMACPP, EngineKind.VLLM, EngineKind.OPENAI


def said(operation="chat", *, dialect="ollama", engine=VLLM, **fields):
    """Say a call that does not stream."""
    return json.loads(sent(asked(dialect, operation, **{"stream": False, **fields}), engine=engine).body)


def chat(engine=VLLM, **fields):
    """Say a chat, and give what its request has beside a plain one's."""
    plain = {"model": "qwen3:14b", "messages": HELLO, "stream": False}
    request = said(engine=engine, messages=HELLO, **fields)
    assert plain.items() <= request.items()
    return {name: value for name, value in request.items() if name not in plain}


def test_a_chat_that_streams_asks_for_what_it_took():
    """Clients of Ollama stream where they do not say."""
    assert said(messages=HELLO, stream=None) == {
        "model": "qwen3:14b",
        "messages": HELLO,
        "stream": True,
        "stream_options": {"include_usage": True},
    }


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (None, {}),
        ({}, {}),
        (
            {"temperature": 0, "top_p": 0.9, "top_k": 5, "min_p": 0.1, "seed": 7, "num_predict": 100},
            {"temperature": 0, "top_p": 0.9, "top_k": 5, "min_p": 0.1, "seed": 7, "max_tokens": 100},
        ),
        ({"presence_penalty": 1.5, "frequency_penalty": -1}, {"presence_penalty": 1.5, "frequency_penalty": -1}),
        ({"stop": ["a", "b"]}, {"stop": ["a", "b"]}),
        ({"stop": "a"}, {"stop": ["a"]}),
        ({"stop": []}, {}),
        ({"num_predict": -1}, {}),
        ({"num_predict": -2}, {}),
        ({"num_predict": 0}, {}),
        ({"num_predict": 5.0, "seed": 7.0}, {"max_tokens": 5, "seed": 7}),
        ({"seed": 0}, {"seed": 0}),
        ({"seed": -1, "temperature": None, "num_predict": None}, {}),
        ({"num_ctx": 4096, "num_gpu": 1, "num_batch": 9, "num_keep": 5, "use_mmap": True, "mirostat": 1}, {}),
    ],
    ids=str,
)
def test_options(options, expected):
    assert chat(options=options) == expected


@pytest.mark.parametrize(
    ("engine", "context", "fields", "bound"),
    [
        (VLLM, 512, {"num_predict": 511}, 511),
        (VLLM, 512, {"num_predict": 512}, None),
        (LLAMACPP, 512, {"num_predict": 4096}, None),
        (OPENAI, None, {"num_predict": 4096}, 4096),
        (VLLM, 512, {"num_predict": 511, "raw": True}, 511),
        (VLLM, 512, {"num_predict": 4096, "raw": True}, 512),
        (OPENAI, 512, {"num_predict": 4096, "raw": True}, 512),
        (VLLM, 512, {"num_predict": -1, "raw": True}, 512),
        (VLLM, 512, {"raw": True}, 512),
        (VLLM, None, {"raw": True}, None),
        (LLAMACPP, 512, {"raw": True}, None),
        (OPENAI, 512, {"raw": True}, None),
    ],
    ids=str,
)
def test_an_answer_goes_on_to_the_end_of_the_context_where_no_nearer_bound_is_given(engine, context, fields, bound):
    """vLLM refused a bound longer than its context, and ended a raw prompt's answer after 16 tokens without one."""
    call = asked("ollama", "generate", prompt="a", raw=fields.get("raw"), options=fields)

    assert json.loads(sent(call, engine=engine, context_length=context).body).get("max_tokens") == bound


@pytest.mark.parametrize(
    ("engine", "expected"),
    [
        (LLAMACPP, {"repeat_penalty": 1.1}),
        (VLLM, {"repetition_penalty": 1.1}),
        (OPENAI, {"repeat_penalty": 1.1, "repetition_penalty": 1.1}),
    ],
)
def test_the_penalty_for_repeating_has_a_name_of_its_own_at_each_engine(engine, expected):
    assert chat(engine, options={"repeat_penalty": 1.1}) == expected


@pytest.mark.parametrize(
    ("engine", "think", "expected"),
    [
        (VLLM, None, {}),
        (VLLM, "", {}),
        (VLLM, True, {"chat_template_kwargs": {"enable_thinking": True}}),
        (OPENAI, False, {"chat_template_kwargs": {"enable_thinking": False}}),
        (OPENAI, "low", {"reasoning_effort": "low"}),
        (
            LLAMACPP,
            "max",
            {
                "reasoning_effort": "high",
                "chat_template_kwargs": {"enable_thinking": True, "reasoning_effort": "high"},
            },
        ),
    ],
)
def test_thinking(engine, think, expected):
    assert chat(engine, think=think) == expected


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"format": None, "tools": None}, {}),
        ({"format": "", "tools": []}, {}),
        ({"format": "json"}, {"response_format": {"type": "json_object"}}),
        (
            {"format": SCHEMA},
            {"response_format": {"type": "json_schema", "json_schema": {"name": "answer", "schema": SCHEMA}}},
        ),
        ({"tools": [TOOL]}, {"tools": [TOOL]}),
        ({"tools": [{"function": TOOL["function"]}]}, {"tools": [TOOL]}),
        ({"logprobs": True, "top_logprobs": 3}, {"logprobs": True, "top_logprobs": 3}),
        ({"logprobs": True}, {"logprobs": True, "top_logprobs": 0}),
        ({"logprobs": False, "top_logprobs": 3}, {}),
        ({"keep_alive": 0, "truncate": True, "shift": True, "unheard": 1}, {}),
    ],
    ids=str,
)
def test_fields(fields, expected):
    assert chat(**fields) == expected


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"prompt": "hello"}, {"messages": HELLO}),
        (
            {"prompt": "hello", "system": "be brief", "raw": False, "suffix": "", "template": "", "context": []},
            {"messages": [{"role": "system", "content": "be brief"}, *HELLO]},
        ),
        (
            {"prompt": "hello", "images": ["/9j/AA"]},
            {
                "messages": [
                    {
                        "role": "user",
                        "content": [
                            {"type": "text", "text": "hello"},
                            {"type": "image_url", "image_url": {"url": "data:image/jpeg;base64,/9j/AA"}},
                        ],
                    }
                ]
            },
        ),
        (
            {"prompt": "hello", "format": "json", "think": True},
            {
                "messages": HELLO,
                "response_format": {"type": "json_object"},
                "chat_template_kwargs": {"enable_thinking": True},
            },
        ),
        ({"prompt": "<s>hello", "raw": True, "think": True}, {"prompt": "<s>hello", "max_tokens": 8192}),
        (
            {"prompt": "def f(", "suffix": "return x", "options": {"num_predict": 9}},
            {"prompt": "def f(", "suffix": "return x", "max_tokens": 9},
        ),
    ],
    ids=str,
)
def test_a_prompt_is_a_chat_unless_it_is_raw_or_to_be_filled_in(fields, expected):
    assert said("generate", **fields) == {"model": "qwen3:14b", "stream": False, **expected}


@pytest.mark.parametrize(
    ("operation", "fields", "engine", "param", "words"),
    [
        ("chat", {"messages": []}, VLLM, "messages", "nothing to answer"),
        ("chat", {"messages": "hello"}, VLLM, "messages", "list of objects"),
        ("chat", {"messages": HELLO, "tools": {"a": 1}}, VLLM, "tools", "list of objects"),
        ("chat", {"messages": HELLO, "tools": ["sum"]}, VLLM, "tools", "list of objects"),
        ("chat", {"messages": HELLO, "options": [1]}, VLLM, "options", "must be an object"),
        ("chat", {"messages": HELLO, "options": {"stop": 1}}, VLLM, "options", "text or a list"),
        ("chat", {"messages": HELLO, "options": {"num_predict": "9"}}, VLLM, "options", "num_predict must be a whole"),
        ("chat", {"messages": HELLO, "options": {"num_predict": True}}, VLLM, "options", "num_predict must be a whole"),
        ("chat", {"messages": HELLO, "options": {"seed": 1.5}}, VLLM, "options", "seed must be a whole"),
        ("chat", {"messages": HELLO, "options": {"seed": 1e999}}, VLLM, "options", "seed must be a whole"),
        ("chat", {"messages": HELLO, "format": "xml"}, VLLM, "format", "must be"),
        ("chat", {"messages": HELLO, "think": "hard"}, VLLM, "think", "low, medium, high"),
        ("chat", {"messages": HELLO, "think": 1}, VLLM, "think", "low, medium, high"),
        ("generate", {"prompt": ""}, VLLM, "prompt", "nothing to answer"),
        ("generate", {"prompt": 1}, VLLM, "prompt", "must be a text"),
        ("generate", {"prompt": "a", "system": 1}, VLLM, "system", "must be a text"),
        ("generate", {"prompt": "a", "template": "{{ .Prompt }}"}, VLLM, "template", "leave it out"),
        ("generate", {"prompt": "a", "context": [1, 2]}, OPENAI, "context", "leave it out"),
        ("generate", {"prompt": "a", "images": ["http://x/a.png"]}, VLLM, "images", "in base64"),
        ("generate", {"prompt": "a", "raw": True, "system": "b"}, VLLM, "system", "together with raw"),
        ("generate", {"prompt": "a", "raw": True, "images": ["AA"]}, VLLM, "images", "together with raw"),
        ("generate", {"prompt": "a", "raw": True, "template": "b"}, VLLM, "template", "together with raw"),
        ("generate", {"prompt": "a", "raw": True, "logprobs": True}, VLLM, "logprobs", "together with raw"),
        ("generate", {"prompt": "", "raw": True}, VLLM, "prompt", "nothing to answer"),
        ("generate", {"prompt": "a", "suffix": ["b"]}, VLLM, "suffix", "must be a text"),
        ("generate", {"prompt": "a", "suffix": "b"}, LLAMACPP, "suffix", "cannot fill in"),
        ("embed", {"input": []}, VLLM, "input", "nothing to answer"),
        ("embed", {"input": [1]}, VLLM, "input", "list of texts"),
        ("embed_old", {"prompt": ""}, VLLM, "prompt", "nothing to answer"),
        ("embed_old", {"prompt": ["a"]}, VLLM, "prompt", "must be a text."),
    ],
    ids=str,
)
def test_what_cannot_be_said_is_refused_by_its_name(operation, fields, engine, param, words):
    with pytest.raises(BadAsk, match=words) as refused:
        said(operation, engine=engine, **fields)

    assert refused.value.param == param


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, {}),
        ({"max_tokens": 9, "stop_sequences": ["."], "top_k": 5}, {"max_tokens": 9, "stop": ["."], "top_k": 5}),
        ({"thinking": {"type": "enabled"}}, {"chat_template_kwargs": {"enable_thinking": True}}),
        (
            {"output_format": {"type": "json_schema", "schema": SCHEMA}},
            {"response_format": {"type": "json_schema", "json_schema": {"name": "answer", "schema": SCHEMA}}},
        ),
        ({"tool_choice": {"type": "any"}}, {}),
    ],
    ids=str,
)
def test_a_call_of_anthropics_clients(fields, expected):
    request = said("messages", dialect="anthropic", messages=HELLO, system="be brief", **fields)

    messages = [{"role": "system", "content": "be brief"}, *HELLO]
    assert request == {"model": "qwen3:14b", "messages": messages, "stream": False, **expected}


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        (None, {}),
        ({"type": "auto"}, {}),
        ({"type": "any"}, {"tool_choice": "required"}),
        ({"type": "tool", "name": "sum"}, {"tool_choice": {"type": "function", "function": {"name": "sum"}}}),
        ({"type": "auto", "disable_parallel_tool_use": True}, {"parallel_tool_calls": False}),
        ({"type": ["any"]}, {}),
    ],
    ids=str,
)
def test_which_tool_anthropics_clients_want_called_is_said(choice, expected):
    tools = [{"name": "sum", "input_schema": {"type": "object"}}]
    request = said("messages", dialect="anthropic", messages=HELLO, tools=tools, tool_choice=choice)

    told = {"name": "sum", "description": "", "parameters": {"type": "object"}}
    assert {name: value for name, value in request.items() if "tool" in name} == {
        "tools": [{"type": "function", "function": told}],
        **expected,
    }


def test_what_was_said_shows_nothing_of_its_prompt():
    assert "hello" not in repr(sent(asked("ollama", "chat", messages=HELLO), engine=VLLM))
