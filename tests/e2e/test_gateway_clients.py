"""OpenAI's and Ollama's own clients, unmodified, against a whole installation: only their base URL changes."""

import json
from collections.abc import Iterator

import openai
import pytest

from tests.e2e.conftest import Stack
from tests.e2e.gateway import (
    ASK_TOOL,
    EMBEDDER,
    HELLO,
    MODEL,
    SET,
    TOOL,
    ollama_client,
    openai_client,
    unspoilt_engines,
)

pytestmark = pytest.mark.e2e
both_ways = pytest.mark.parametrize("model", [MODEL, SET], ids=["passed on", "translated"])


@pytest.fixture(scope="module", autouse=True)
def third(stack: Stack) -> Iterator[str]:
    """Give the third engine's address."""
    with unspoilt_engines(stack) as url:
        yield url


@both_ways
def test_openai_chats(stack: Stack, model: str):
    raw = openai_client(stack).chat.completions.with_raw_response.create(model=model, messages=HELLO)

    answer = raw.parse()
    assert answer.model == model
    assert answer.choices[0].message.content.startswith("The cluster is busy")
    assert answer.choices[0].finish_reason == "stop"
    assert answer.usage.completion_tokens == 48
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + 48
    headers = raw.headers
    assert headers["x-kubemoot-model"] == model
    assert headers["x-kubemoot-server"].startswith("gpu-")
    assert headers["x-kubemoot-action"] in ("use", "load")
    assert int(headers["x-kubemoot-queue-ms"]) >= 0
    assert answer._request_id == headers["x-request-id"] == headers["x-kubemoot-call"]


@both_ways
def test_openai_streams_and_sees_no_usage_that_it_did_not_ask_for(stack: Stack, model: str):
    chunks = list(openai_client(stack).chat.completions.create(model=model, messages=HELLO, stream=True))

    assert all(chunk.choices and chunk.usage is None for chunk in chunks)
    assert {chunk.model for chunk in chunks} == {model}
    assert chunks[0].choices[0].delta.role == "assistant"
    assert chunks[-1].choices[0].finish_reason == "stop"
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks).startswith("The cluster is busy")


@both_ways
def test_openai_streams_with_the_usage_that_it_asked_for(stack: Stack, model: str):
    chunks = list(
        openai_client(stack).chat.completions.create(
            model=model, messages=HELLO, stream=True, stream_options={"include_usage": True}
        )
    )

    *texts, last = chunks
    assert all(chunk.choices for chunk in texts)
    assert (last.choices, last.usage.completion_tokens) == ([], 48)


@both_ways
@pytest.mark.parametrize("stream", [False, True])
def test_openai_calls_a_tool_and_gets_an_answer_to_its_result(stack: Stack, model: str, stream: bool):
    client = openai_client(stack)
    if stream:
        with client.chat.completions.stream(model=model, messages=ASK_TOOL, tools=[TOOL]) as events:
            message = events.get_final_completion().choices[0].message
    else:
        message = client.chat.completions.create(model=model, messages=ASK_TOOL, tools=[TOOL]).choices[0].message

    (call,) = message.tool_calls
    assert (call.function.name, json.loads(call.function.arguments)) == ("weather", {"city": "Lisbon"})
    result = {"role": "tool", "tool_call_id": call.id, "content": "sunny"}
    told = message.model_dump(exclude_none=True, include={"role", "content", "tool_calls"})
    if stream:
        told["tool_calls"] = [{"id": call.id, "type": "function", "function": {"name": "weather", "arguments": "{}"}}]
    after = client.chat.completions.create(model=model, messages=[*ASK_TOOL, told, result], tools=[TOOL])
    assert after.choices[0].message.tool_calls is None
    assert after.choices[0].message.content


@both_ways
def test_openai_gets_json(stack: Stack, model: str):
    answer = openai_client(stack).chat.completions.create(
        model=model, messages=HELLO, response_format={"type": "json_object"}
    )

    assert set(json.loads(answer.choices[0].message.content)) == {"answer"}


@both_ways
def test_openai_completes(stack: Stack, model: str):
    client = openai_client(stack)

    assert client.completions.create(model=model, prompt="def f(", max_tokens=5).usage.completion_tokens == 5
    parts = list(client.completions.create(model=model, prompt="def f(", max_tokens=5, stream=True))
    assert all(part.choices for part in parts)


def test_openai_embeds(stack: Stack):
    """The library asks for base64 by itself."""
    answer = openai_client(stack).embeddings.create(model=EMBEDDER, input=["a", "bb"])

    assert [len(each.embedding) for each in answer.data] == [8, 8]
    assert (answer.model, answer.usage.prompt_tokens > 0) == (EMBEDDER, True)


def test_openai_lists_and_retrieves(stack: Stack):
    client = openai_client(stack)

    listed = {model.id: model.model_dump() for model in client.models.list()}

    assert {"agent/default/analyst", EMBEDDER, "huge:400b", SET, MODEL} <= set(listed)
    assert listed["huge:400b"]["status"] == "unloaded"
    for name in ("agent/default/analyst", MODEL):
        assert client.models.retrieve(name).id == name
    with pytest.raises(openai.NotFoundError):
        client.models.retrieve("unheard-of")


async def test_async_openai(stack: Stack):
    async with openai.AsyncOpenAI(base_url=f"{stack.rest.address}/v1", api_key=stack.rest.token) as client:
        answer = await client.chat.completions.create(model=MODEL, messages=HELLO)
        stream = await client.chat.completions.create(model=MODEL, messages=HELLO, stream=True)
        chunks = [chunk async for chunk in stream]
        vectors = await client.embeddings.create(model=EMBEDDER, input="a")
        models = [model.id async for model in client.models.list()]
        with pytest.raises(openai.NotFoundError):
            await client.chat.completions.create(model="unheard-of", messages=HELLO)

    assert answer.choices[0].message.content == "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
    assert len(vectors.data[0].embedding) == 8
    assert MODEL in models


def test_ollama_chats_and_generates(stack: Stack):
    client = ollama_client(stack)

    answer = client.chat(model=MODEL, messages=HELLO)
    assert (answer.model, answer.done, answer.done_reason, answer.eval_count) == (MODEL, True, "stop", 48)
    parts = list(client.chat(model=MODEL, messages=HELLO, stream=True))
    assert [part.done for part in parts] == [False] * (len(parts) - 1) + [True]
    assert "".join(part.message.content for part in parts) == answer.message.content
    assert client.generate(model=MODEL, prompt="hello").response == answer.message.content
    assert json.loads(client.generate(model=MODEL, prompt="hello", format="json").response)
    assert list(client.generate(model=MODEL, prompt="hello", stream=True))[-1].done


def test_ollama_calls_a_tool_and_gets_an_answer_to_its_result(stack: Stack):
    client = ollama_client(stack)

    message = client.chat(model=MODEL, messages=ASK_TOOL, tools=[TOOL]).message
    (call,) = message.tool_calls
    assert (call.function.name, call.function.arguments) == ("weather", {"city": "Lisbon"})
    after = client.chat(
        model=MODEL,
        messages=[*ASK_TOOL, message, {"role": "tool", "tool_name": "weather", "content": "sunny"}],
        tools=[TOOL],
    )
    assert (after.message.tool_calls, bool(after.message.content)) == (None, True)


def test_ollama_embeds(stack: Stack):
    client = ollama_client(stack)

    assert [len(vector) for vector in client.embed(model=EMBEDDER, input=["a", "bb"]).embeddings] == [8, 8]
    assert len(client.embeddings(model=EMBEDDER, prompt="a").embedding) == 8


def test_ollama_lists_and_shows(stack: Stack):
    client = ollama_client(stack)

    assert {MODEL, SET, f"{EMBEDDER}:latest"} <= {model.model for model in client.list().models}
    client.chat(model=MODEL, messages=HELLO)
    (running,) = [model for model in client.ps().models if model.model == MODEL]
    assert running.expires_at.tzinfo is not None
    assert running.size_vram > 0
    assert "tools" in client.show(MODEL).capabilities
    assert client._request_raw("GET", "/api/version").json()["version"] == "0.12.0"
    assert client._request_raw("GET", "/").text == "Ollama is running"
    assert client._request_raw("HEAD", "/").status_code == 200
