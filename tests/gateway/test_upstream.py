"""Which way a call takes, and what is changed in it."""

import json

import pytest

from kubemoot_web.gateway.asking import read_asked
from kubemoot_web.gateway.dialects import Dialect, Operation
from kubemoot_web.gateway.json_reader import JsonReader
from kubemoot_web.gateway.ndjson_reader import NdjsonReader
from kubemoot_web.gateway.sse_reader import SseReader
from kubemoot_web.gateway.translated import TranslatedBody, TranslatedStream
from providers.core.types import EngineKind
from tests.gateway.reading import asked, sent

HELLO = [{"role": "user", "content": "hello"}]


@pytest.mark.parametrize(
    ("dialect", "operation", "fields", "is_context_set", "path", "reader"),
    [
        ("openai", "chat", {"messages": HELLO}, False, "/v1/chat/completions", JsonReader),
        ("openai", "chat", {"messages": HELLO, "stream": True}, False, "/v1/chat/completions", SseReader),
        ("openai", "completion", {"prompt": "x", "stream": True}, False, "/v1/completions", SseReader),
        ("openai", "embed", {"input": "x"}, False, "/v1/embeddings", JsonReader),
        ("openai", "chat", {"messages": HELLO}, True, "/api/chat", TranslatedBody),
        ("openai", "chat", {"messages": HELLO, "stream": True}, True, "/api/chat", TranslatedStream),
        ("openai", "completion", {"prompt": "x"}, True, "/api/generate", TranslatedBody),
        ("openai", "completion", {"prompt": "x", "stream": True}, True, "/api/generate", TranslatedStream),
        ("openai", "embed", {"input": "x"}, True, "/api/embed", TranslatedBody),
        ("ollama", "chat", {"messages": HELLO}, True, "/api/chat", NdjsonReader),
        ("ollama", "chat", {"messages": HELLO, "stream": False}, False, "/api/chat", JsonReader),
        ("ollama", "generate", {"prompt": "x"}, False, "/api/generate", NdjsonReader),
        ("ollama", "embed", {"input": "x", "stream": True}, True, "/api/embed", JsonReader),
        ("ollama", "embed_old", {"prompt": "x"}, True, "/api/embeddings", JsonReader),
        ("anthropic", "messages", {"messages": HELLO}, False, "/api/chat", TranslatedBody),
        ("anthropic", "messages", {"messages": HELLO, "stream": True}, True, "/api/chat", TranslatedStream),
    ],
)
def test_the_way_on_an_ollama_server(dialect, operation, fields, is_context_set, path, reader):
    """C13: the OpenAI wire of Ollama cannot say a context size, and drops it without a word."""
    way = sent(asked(dialect, operation, **fields), is_context_set=is_context_set)

    assert (way.path, type(way.reader)) == (path, reader)


@pytest.mark.parametrize("is_context_set", [True, False])
@pytest.mark.parametrize("engine", [EngineKind.VLLM, EngineKind.LLAMACPP, EngineKind.OPENAI])
def test_other_engines_are_asked_as_the_client_asked(engine, is_context_set):
    way = sent(asked(messages=HELLO), engine=engine, is_context_set=is_context_set)

    assert (way.path, json.loads(way.body)) == ("/v1/chat/completions", {"model": "qwen3:14b", "messages": HELLO})


@pytest.mark.parametrize("engine", [EngineKind.VLLM, EngineKind.LLAMACPP, EngineKind.OPENAI])
@pytest.mark.parametrize(
    ("dialect", "operation", "fields", "path", "reader"),
    [
        ("ollama", "chat", {"messages": HELLO}, "/v1/chat/completions", TranslatedStream),
        ("ollama", "chat", {"messages": HELLO, "stream": False}, "/v1/chat/completions", TranslatedBody),
        ("ollama", "generate", {"prompt": "x"}, "/v1/chat/completions", TranslatedStream),
        ("ollama", "generate", {"prompt": "x", "stream": False}, "/v1/chat/completions", TranslatedBody),
        ("ollama", "generate", {"prompt": "x", "raw": True}, "/v1/completions", TranslatedStream),
        ("ollama", "embed", {"input": "x"}, "/v1/embeddings", TranslatedBody),
        ("ollama", "embed_old", {"prompt": "x"}, "/v1/embeddings", TranslatedBody),
        ("anthropic", "messages", {"messages": HELLO}, "/v1/chat/completions", TranslatedBody),
        ("anthropic", "messages", {"messages": HELLO, "stream": True}, "/v1/chat/completions", TranslatedStream),
    ],
)
def test_the_way_on_a_server_of_openais_wire(engine, dialect, operation, fields, path, reader):
    way = sent(asked(dialect, operation, **fields), engine=engine)

    assert (way.path, type(way.reader), json.loads(way.body)["model"]) == (path, reader, "qwen3:14b")


@pytest.mark.parametrize(
    ("context_length", "given_options", "options"),
    [
        (32768, "", ',"options":{"num_ctx":32768}'),
        (32768, ',"options":{"num_ctx":4096, "seed":1.0}', ',"options":{"num_ctx":32768, "seed":1.0}'),
        (32768, ',"options":{"num_ctx":0}', ',"options":{"num_ctx":32768}'),
        (32768, ',"options":null', ',"options":{"num_ctx":32768}'),
        (None, ',"options":{"num_ctx":4096, "seed":1.0}', ',"options":{"seed":1.0}'),
        (None, "", ""),
        (
            8192,
            ',"options":{"num_gpu":1,"num_batch":9,"main_gpu":1,"use_mmap":true,"num_thread":2,"top_k":3}',
            ',"options":{"top_k":3,"num_ctx":8192}',
        ),
    ],
)
def test_no_client_makes_an_engine_load_again(context_length, given_options, options):
    """C10: every difference to the options of the copy, also leaving them out, is a new load."""
    body = f'{{"model":"m" ,"big":12345678901234567890{given_options}}}'.encode()
    call = read_asked(dialect=Dialect.OLLAMA, operation=Operation.CHAT, body=body)

    way = sent(call, context_length=context_length)

    changed = ',"options":' in options and ',"options":' not in given_options
    middle = f',"keep_alive":-1{options}' if changed else f'{options},"keep_alive":-1'
    assert way.body.decode() == f'{{"model":"qwen3:14b" ,"big":12345678901234567890{middle}}}'


@pytest.mark.parametrize("keep_alive", ["-1", '"-1"', "0", '"5m"', "300", '""', "null"])
def test_no_client_ends_a_copys_stay(keep_alive):
    """C12: what is sent is a number that every release takes, whatever the client wrote."""
    body = f'{{"model":"m","keep_alive":{keep_alive}}}'.encode()
    call = read_asked(dialect=Dialect.OLLAMA, operation=Operation.GENERATE, body=body)

    assert json.loads(sent(call).body)["keep_alive"] == -1


@pytest.mark.parametrize(
    ("fields", "options"),
    [
        ({"stream": True}, {"include_usage": True}),
        ({"stream": True, "stream_options": None}, {"include_usage": True}),
        ({"stream": True, "stream_options": {"include_usage": False, "x": 1}}, {"include_usage": True, "x": 1}),
        ({"stream": True, "stream_options": {"include_usage": True}}, {"include_usage": True}),
        ({"stream": False}, None),
        ({}, None),
    ],
)
def test_the_usage_of_a_stream_is_always_asked_for(fields, options):
    assert json.loads(sent(asked(messages=HELLO, **fields), is_context_set=False).body).get("stream_options") == options


def test_a_body_that_needs_no_change_goes_on_as_it_is():
    body = b'{ "model":"qwen3:14b", "messages":[] }'
    call = read_asked(dialect=Dialect.OPENAI, operation=Operation.CHAT, body=body)

    assert sent(call, is_context_set=False).body is body


@pytest.mark.parametrize(("dialect", "operation"), [("openai", "chat"), ("anthropic", "messages")])
def test_a_translated_call_says_context_and_stay(dialect, operation):
    said = json.loads(sent(asked(dialect, operation, messages=HELLO), context_length=32768).body)

    assert (said["model"], said["options"]["num_ctx"], said["keep_alive"]) == ("qwen3:14b", 32768, -1)


def test_an_unknown_context_is_not_said():
    assert "num_ctx" not in json.loads(sent(asked(messages=HELLO), context_length=None).body)["options"]


def test_a_way_shows_nothing_of_its_prompt():
    assert "hello" not in repr(sent(asked(messages=HELLO)))
