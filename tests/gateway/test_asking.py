"""What a call asks for is read without being repeated anywhere."""

import json
import tracemalloc
from functools import partial

import pytest

from kubemoot_web.gateway.asking import LARGE_BODY, BadAsk, estimated_tokens, read_asked
from kubemoot_web.gateway.dialects import Dialect, Operation
from tests.gateway.reading import asked

SECRET = "canary-7431"


@pytest.mark.parametrize(
    ("dialect", "operation", "fields", "stream"),
    [
        ("ollama", "chat", {}, True),
        ("ollama", "generate", {}, True),
        ("ollama", "chat", {"stream": None}, True),
        ("ollama", "chat", {"stream": False}, False),
        ("ollama", "embed", {"stream": True}, False),
        ("ollama", "embed_old", {}, False),
        ("openai", "chat", {}, False),
        ("openai", "chat", {"stream": True}, True),
        ("openai", "completion", {"stream": None}, False),
        ("openai", "embed", {"stream": True}, False),
        ("anthropic", "messages", {}, False),
        ("anthropic", "messages", {"stream": True}, True),
        ("anthropic", "count_tokens", {"stream": True}, False),
    ],
)
def test_whether_an_answer_streams(dialect, operation, fields, stream):
    assert asked(dialect, operation, **fields).stream is stream


@pytest.mark.parametrize(
    ("dialect", "options", "wants"),
    [
        ("openai", {"include_usage": True}, True),
        ("openai", {"include_usage": False}, False),
        ("openai", None, False),
        ("openai", "odd", False),
        ("ollama", {"include_usage": True}, False),
    ],
)
def test_whether_a_client_wants_usage(dialect, options, wants):
    assert asked(dialect, stream_options=options).wants_usage is wants


@pytest.mark.parametrize(
    ("dialect", "options", "num_ctx"),
    [
        ("ollama", {"num_ctx": 8192}, 8192),
        ("ollama", {"num_ctx": 8192.0}, 8192),
        ("ollama", {"num_ctx": 0}, None),
        ("ollama", {"num_ctx": -1}, None),
        ("ollama", {"num_ctx": True}, None),
        ("ollama", {"num_ctx": "8192"}, None),
        ("ollama", {"num_ctx": float("nan")}, None),
        ("ollama", {"num_ctx": 1e400}, None),
        ("ollama", None, None),
        ("openai", {"num_ctx": 8192}, None),
    ],
)
def test_the_context_that_a_client_wishes_for(dialect, options, num_ctx):
    assert asked(dialect, options=options).num_ctx == num_ctx


@pytest.mark.parametrize(
    ("dialect", "operation", "fields", "tokens"),
    [
        ("openai", "chat", {"messages": [{"role": "user", "content": "x" * 4095}]}, None),
        ("openai", "chat", {"messages": [{"role": "user", "content": "x" * 4096}]}, 1024),
        (
            "openai",
            "chat",
            {"messages": [{"content": "x" * 4000}, {"content": [{"type": "text", "text": "y" * 400}]}]},
            1100,
        ),
        ("openai", "chat", {"messages": [{"content": [{"image_url": {"url": "data:" + "x" * 9000}}]}]}, None),
        ("ollama", "chat", {"messages": [{"content": "x", "images": ["x" * 9000]}]}, None),
        ("anthropic", "messages", {"messages": [{"content": [{"source": {"data": "x" * 9000}}]}]}, None),
        ("anthropic", "messages", {"system": "x" * 8000, "messages": []}, 2000),
        ("openai", "chat", {"messages": [], "tools": [{"function": {"description": "x" * 8000}}]}, 2000),
        ("openai", "completion", {"prompt": "x" * 8000}, 2000),
        ("openai", "completion", {"prompt": ["x" * 8000, "x" * 8000]}, 2000),
        ("openai", "completion", {"prompt": [1] * 3000}, 3000),
        ("openai", "completion", {"prompt": []}, None),
        ("ollama", "generate", {"prompt": "x" * 8000, "context": [1] * 100}, 2100),
        ("openai", "embed", {"input": "x" * 9000}, None),
        ("ollama", "embed_old", {"prompt": "x" * 9000}, None),
        ("openai", "chat", {"messages": "x" * 8000}, 2000),
        ("openai", "chat", {"messages": None}, None),
    ],
)
def test_the_estimate_of_a_large_prompt_leaves_pictures_out(dialect, operation, fields, tokens):
    assert asked(dialect, operation, **fields).prompt_tokens == tokens


def test_a_count_of_tokens_is_never_none():
    assert (estimated_tokens({}), estimated_tokens({"messages": [{"role": "user", "content": "hello"}]})) == (0, 2)


def test_names_are_read_without_case_as_engines_do():
    body = b'{"model":"allowed","MODEL":"other","messages":[]}'

    assert read_asked(dialect=Dialect.OLLAMA, operation=Operation.CHAT, body=body).model == "other"


@pytest.mark.parametrize(
    ("body", "message", "param"),
    [
        (f'{{"messages":"{SECRET}"}}', "The field model is required.", "model"),
        (f'{{"model":"","messages":"{SECRET}"}}', "The field model is required.", "model"),
        (f'{{"model":["{SECRET}"]}}', "The field model must be a text.", "model"),
        (f'{{"model":"m","stream":"{SECRET}"}}', "The field stream must be true or false.", "stream"),
        (f'{{"model":"m","messages":{SECRET}}}', "The body is not valid JSON at character 24.", None),
        (f'["{SECRET}"]', "The body is not a JSON object.", None),
        ("", "The body is not a JSON object.", None),
    ],
)
def test_a_bad_body_is_refused_without_repeating_it(body, message, param):
    with pytest.raises(BadAsk) as refused:
        read_asked(dialect=Dialect.OPENAI, operation=Operation.CHAT, body=body.encode())

    assert (refused.value.message, refused.value.param) == (message, param)
    assert SECRET not in repr(refused.value)
    assert refused.value.__cause__ is None


@pytest.mark.parametrize(("opened", "closed"), [("[", "]"), ('{"a":', "}")])
@pytest.mark.parametrize("deep", [101, 900, 5_000])
@pytest.mark.parametrize("dialect", ["openai", "ollama", "anthropic"])
def test_a_body_that_is_nested_too_deeply_is_refused(dialect, deep, opened, closed):
    operation = Operation.MESSAGES if dialect == "anthropic" else Operation.CHAT
    body = f'{{"model":"m","messages":{opened * deep}1{closed * deep}}}'.encode()

    with pytest.raises(BadAsk, match="nested too deeply"):
        read_asked(dialect=Dialect(dialect), operation=operation, body=body)


@pytest.mark.parametrize(("parts", "is_read"), [(1_000_000, True), (1_000_001, False)])
def test_a_body_of_so_many_parts_that_reading_it_would_hold_up_everybody_is_refused(parts, is_read):
    body = b'{"model":"m","input":[' + b"1," * (parts - 1) + b"1]}"
    read = partial(read_asked, dialect=Dialect.OPENAI, operation=Operation.EMBED, body=body)

    if is_read:
        assert len(read().fields["input"]) == parts
    else:
        with pytest.raises(BadAsk, match="more than 1,000,000 parts"):
            read()


def test_a_call_shows_nothing_of_its_prompt():
    call = asked(messages=[{"role": "user", "content": SECRET}])

    assert SECRET not in repr(call)
    assert call.fields["messages"][0]["content"] == SECRET


@pytest.mark.parametrize("length", [LARGE_BODY // 2, LARGE_BODY * 4])
def test_a_large_body_takes_no_more_memory_than_its_bytes_while_its_call_waits(length):
    """Its text and its values stayed beside it: four times the bound on all bodies was needed."""
    picture = "A" * length
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "what?", "images": [picture]}]}).encode()
    tracemalloc.start()
    call = read_asked(dialect=Dialect.OLLAMA, operation=Operation.CHAT, body=body)

    call.fold_up()

    beside, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (beside > length) is (length < LARGE_BODY)
    assert beside < 10_000 or length < LARGE_BODY
    assert call.fields["messages"][0]["images"] == [picture]
    assert call.document.edited({("model",): "n"}) == body.replace(b'"m"', b'"n"')
