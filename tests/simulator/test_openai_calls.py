"""The OpenAI side of the simulated engine, read as it is written and by the official client."""

import base64
import json
import struct

import httpx
import openai
import pytest
from openai import AsyncOpenAI
from pydantic import BaseModel

TOOL = {
    "type": "function",
    "function": {
        "name": "weather",
        "parameters": {
            "type": "object",
            "properties": {"place": {"type": "string"}, "days": {"type": "integer"}, "unit": {"enum": ["C", "F"]}},
        },
    },
}
ARGUMENTS = {"place": "Lisbon", "days": 3, "unit": "C"}
WISH = [{"role": "user", "content": "Please call the tool."}]
ASK = {"model": "qwen3:8b", "messages": [{"role": "user", "content": "two and two?"}], "max_tokens": 2}


@pytest.fixture
async def client(server):
    async with AsyncOpenAI(
        base_url=f"{server.url}/v1", api_key="any", max_retries=0, http_client=httpx.AsyncClient(trust_env=False)
    ) as client:
        yield client


async def events_of(http, path: str, body: dict) -> list:
    """Read a stream's events; the last is the mark of its end."""
    answer = await http.post(path, json=body | {"stream": True})
    assert answer.headers["content-type"] == "text/event-stream"
    *events, rest = answer.text.split("\n\n")
    assert rest == ""
    data = [event.removeprefix("data: ") for event in events]
    return [json.loads(text) if text.startswith("{") else text for text in data]


def said(delta_or_text: dict) -> tuple:
    """Give what a choice says and why it ended."""
    return (delta_or_text.get("text") or delta_or_text.get("delta"), delta_or_text["finish_reason"])


async def test_a_chat_streams_events_that_end_with_the_mark(http):
    *chunks, last = await events_of(http, "/v1/chat/completions", ASK)

    assert last == "[DONE]"
    assert [said(choice) for chunk in chunks for choice in chunk["choices"]] == [
        ({"role": "assistant", "content": "The "}, None),
        ({"role": "assistant", "content": "cluster "}, None),
        ({"role": "assistant", "content": ""}, "stop"),
    ]
    assert {(chunk["object"], chunk["model"]) for chunk in chunks} == {("chat.completion.chunk", "qwen3:8b")}
    assert not any("usage" in chunk for chunk in chunks)


@pytest.mark.parametrize(("path", "more"), [("/v1/chat/completions", {}), ("/v1/completions", {"prompt": "two?"})])
async def test_the_usage_comes_in_an_event_without_choices_when_asked_for(http, path, more):
    *_, usage, last = await events_of(http, path, ASK | more | {"stream_options": {"include_usage": True}})

    assert (usage["choices"], usage["usage"]["completion_tokens"], last) == ([], 2, "[DONE]")


async def test_the_official_client_chats_streams_completes_embeds_and_lists(client):
    whole = await client.chat.completions.create(**ASK)
    stream = await client.chat.completions.create(**ASK, stream=True)
    pieces = [chunk.choices[0].delta.content async for chunk in stream]
    text = await client.completions.create(model="qwen3:8b", prompt="two?", max_tokens=2)
    vectors = await client.embeddings.create(model="nomic-embed-text", input=["a", "bb"])
    listed = await client.models.list()
    one = await client.models.retrieve("qwen3:8b")

    assert whole.choices[0].message.content == "".join(pieces) == text.choices[0].text == "The cluster "
    assert (whole.choices[0].finish_reason, text.object) == ("stop", "text_completion")
    assert whole.usage is not None
    assert whole.usage.total_tokens == whole.usage.prompt_tokens + 2
    assert [len(entry.embedding) for entry in vectors.data] == [8, 8]
    assert "nomic-embed-text:latest" in [model.id for model in listed.data]
    assert one.id == "qwen3:8b"


async def test_a_tool_is_called_whole_or_streamed_and_its_result_is_answered_with_text(client):
    whole = await client.chat.completions.create(model="qwen3:8b", messages=WISH, tools=[TOOL])
    stream = await client.chat.completions.create(model="qwen3:8b", messages=WISH, tools=[TOOL], stream=True)
    choices = [chunk.choices[0] async for chunk in stream]
    (call,) = whole.choices[0].message.tool_calls
    result = {"role": "tool", "tool_call_id": call.id, "content": "call the tool? sunny"}
    after = await client.chat.completions.create(
        **ASK | {"messages": [*WISH, whole.choices[0].message, result]}, tools=[TOOL]
    )

    assert (call.function.name, json.loads(call.function.arguments)) == ("weather", ARGUMENTS)
    assert [choice.finish_reason for choice in choices] == [None, "tool_calls"]
    assert json.loads(choices[0].delta.tool_calls[0].function.arguments) == ARGUMENTS
    assert after.choices[0].message.content == "The cluster "


async def test_ollamas_own_chat_calls_a_tool_with_its_arguments_as_an_object(http):
    body = {"model": "qwen3:8b", "messages": WISH, "tools": [TOOL]}
    lines = [json.loads(line) for line in (await http.post("/api/chat", json=body)).text.splitlines()]
    whole = (await http.post("/api/chat", json=body | {"stream": False})).json()

    (call,) = lines[0]["message"]["tool_calls"]
    assert (call["function"]["name"], call["function"]["arguments"]) == ("weather", ARGUMENTS)
    assert [line["done"] for line in lines] == [False, True]
    assert whole["message"]["tool_calls"] == [call]


class Reply(BaseModel):
    """What is asked for as JSON."""

    answer: str


async def test_an_answer_in_json_is_json(client, http):
    parsed = await client.chat.completions.parse(**ASK, response_format=Reply)
    native = await http.post("/api/chat", json={**ASK, "format": "json", "stream": False})

    assert parsed.choices[0].message.parsed is not None
    assert parsed.choices[0].message.parsed.answer.startswith("The cluster ")
    assert set(json.loads(native.json()["message"]["content"])) == {"answer"}


async def test_thoughts_come_apart_from_the_answer(http):
    whole = await http.post("/v1/chat/completions", json=ASK | {"reasoning_effort": "low"})
    native = await http.post("/api/chat", json={**ASK, "think": True, "stream": False, "options": {"num_predict": 1}})

    message = whole.json()["choices"][0]["message"]
    assert (message["reasoning"], message["content"]) == ("The cluster is ", "The cluster ")
    assert native.json()["message"] == {"role": "assistant", "content": "The ", "thinking": "The cluster is "}


async def test_vectors_may_be_packed_and_inputs_may_be_token_numbers(http):
    body = {"model": "nomic-embed-text", "input": [[1, 2], [3]]}
    plain = (await http.post("/v1/embeddings", json=body)).json()
    packed = (await http.post("/v1/embeddings", json=body | {"encoding_format": "base64"})).json()
    older = (await http.post("/api/embeddings", json={"model": "nomic-embed-text", "prompt": "a"})).json()

    unpacked = struct.unpack("<8f", base64.b64decode(packed["data"][0]["embedding"]))
    assert unpacked == pytest.approx(plain["data"][0]["embedding"])
    assert (len(plain["data"]), plain["usage"]["prompt_tokens"], len(older["embedding"])) == (2, 3, 8)


async def test_a_call_on_this_side_uses_the_default_context_and_reloads_what_has_another(http, server):
    """C10: it cannot carry a context, whatever stands in its body."""
    await http.post("/api/chat", json={**ASK, "options": {"num_ctx": 8192, "num_predict": 1}})
    await http.post("/v1/chat/completions", json={**ASK, "options": {"num_ctx": 8192}, "num_ctx": 8192})

    loads = [event["numCtx"] for event in server.engine.journal.events if event["event"] == "load_start"]
    assert (loads, server.engine.journal.reloads) == ([8192, 4096], 1)


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("POST", "/v1/chat/completions", {"model": "no-such:1b", "messages": WISH}, 404),
        ("POST", "/v1/chat/completions", {"messages": WISH}, 400),
        ("POST", "/v1/chat/completions", {"model": "qwen3:8b", "messages": []}, 400),
        ("POST", "/v1/chat/completions", {"model": "nomic-embed-text", "messages": WISH}, 400),
        ("POST", "/v1/embeddings", {"model": "nomic-embed-text", "input": []}, 400),
        ("GET", "/v1/models/no-such:1b", None, 404),
    ],
)
async def test_errors_have_this_sides_shape(http, method, path, body, status):
    answer = await http.request(method, path, json=body)

    assert answer.status_code == status
    assert set(answer.json()["error"]) == {"message", "type", "param", "code"}


async def test_there_is_nothing_else_on_this_side(http):
    assert (await http.post("/v1/responses", json=ASK)).status_code == 404


async def test_the_official_client_raises_what_is_refused(client, server):
    server.engine.faults.switch({"busy503": True})

    with pytest.raises(openai.InternalServerError) as raised:
        await client.chat.completions.create(**ASK)

    assert raised.value.status_code == 503


async def test_what_a_model_can_do_is_shown(http):
    shown = (await http.post("/api/show", json={"model": "qwen3:8b"})).json()

    assert set(shown) == {"capabilities", "model_info", "details", "parameters", "template"}
    assert shown["capabilities"] == ["completion", "tools", "thinking"]


async def test_words_never_repeat_without_end(http):
    """Some clients stop at a hundred equal chunks, some at a repeating run of them."""
    whole = await http.post("/v1/chat/completions", json=ASK | {"max_tokens": 64})

    words = whole.json()["choices"][0]["message"]["content"].split()
    assert [word for word in words if word.endswith(".")] == ["1.", "2.", "3.", "4."]
