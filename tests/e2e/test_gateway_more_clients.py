"""More clients, unmodified: Anthropic's own, LangChain's two; and what stands for a model: agents, whatever is able."""

import base64
from collections.abc import Iterator
from typing import Any

import anthropic
import openai
import pytest
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_ollama import ChatOllama, OllamaEmbeddings
from langchain_openai import ChatOpenAI, OpenAIEmbeddings

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


@pytest.fixture(scope="module", autouse=True)
def third(stack: Stack) -> Iterator[str]:
    """Give the third engine's address."""
    with unspoilt_engines(stack) as url:
        yield url


def anthropic_client(stack: Stack, key: str = "") -> anthropic.Anthropic:
    """Make Anthropic's own client."""
    return anthropic.Anthropic(base_url=stack.rest.address, api_key=key or stack.rest.token)


def test_anthropic_speaks(stack: Stack):
    client = anthropic_client(stack)

    answer = client.messages.create(model=MODEL, max_tokens=20, messages=HELLO, system="Be brief.")
    assert (answer.model, answer.stop_reason, answer.usage.output_tokens) == (MODEL, "end_turn", 20)
    with client.messages.stream(model=MODEL, max_tokens=20, messages=HELLO) as stream:
        text = "".join(stream.text_stream)
        assert stream.get_final_message().usage.output_tokens == 20
    assert text == answer.content[0].text
    assert client.messages.count_tokens(model=MODEL, messages=HELLO).input_tokens > 0


@pytest.mark.parametrize("stream", [False, True])
def test_anthropic_calls_a_tool_and_gets_an_answer_to_its_result(stack: Stack, stream: bool):
    client = anthropic_client(stack)
    function = TOOL["function"]
    asked: dict[str, Any] = {
        "model": MODEL,
        "max_tokens": 50,
        "tools": [{"name": function["name"], "input_schema": function["parameters"]}],
    }
    if stream:
        with client.messages.stream(messages=ASK_TOOL, **asked) as events:
            answer = events.get_final_message()
    else:
        answer = client.messages.create(messages=ASK_TOOL, **asked)

    (use,) = [block for block in answer.content if block.type == "tool_use"]
    assert (answer.stop_reason, use.name, use.input) == ("tool_use", "weather", {"city": "Lisbon"})
    result = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": use.id, "content": "sunny"}]}
    after = client.messages.create(
        messages=[*ASK_TOOL, {"role": "assistant", "content": answer.content}, result], **asked
    )
    assert [block.type for block in after.content] == ["text"]


def langchain_speaks(chat: Any) -> None:
    """Let it chat, whole and in pieces, and call a tool."""
    answer = chat.invoke("hello")
    assert (answer.text.startswith("The cluster"), answer.usage_metadata["output_tokens"]) == (True, 48)
    assert "".join(chunk.text for chunk in chat.stream("hello")) == answer.text
    asked = HumanMessage("Please call the tool.")
    called = chat.bind_tools([TOOL]).invoke([asked])
    assert [(call["name"], call["args"]) for call in called.tool_calls] == [("weather", {"city": "Lisbon"})]
    result = ToolMessage("sunny", tool_call_id=called.tool_calls[0]["id"])
    assert chat.bind_tools([TOOL]).invoke([asked, called, result]).text


def test_langchain_speaks_openai(stack: Stack):
    chat = ChatOpenAI(model=MODEL, base_url=f"{stack.rest.address}/v1", api_key=stack.rest.token)
    langchain_speaks(chat)
    vectors = OpenAIEmbeddings(
        model=EMBEDDER,
        base_url=f"{stack.rest.address}/v1",
        api_key=stack.rest.token,
        check_embedding_ctx_length=False,  # it would fetch a tokenizer from the internet
    )
    assert [len(vector) for vector in vectors.embed_documents(["a", "bb"])] == [8, 8]


def test_langchain_speaks_ollama(stack: Stack):
    more: dict[str, Any] = {
        "base_url": stack.rest.address,
        "client_kwargs": {"headers": {"Authorization": f"Bearer {stack.rest.token}"}},
    }
    chat = ChatOllama(model=MODEL, validate_model_on_init=True, **more)
    langchain_speaks(chat)
    for name in (EMBEDDER, f"{EMBEDDER}:latest"):
        embeddings = OllamaEmbeddings(model=name, validate_model_on_init=True, **more)
        assert [len(vector) for vector in embeddings.embed_documents(["a", "bb"])] == [8, 8]


@pytest.mark.parametrize("name", ["agent/analyst", "agent/default/analyst"])
def test_an_agents_own_models_answer_by_its_name(stack: Stack, name: str):
    client = openai_client(stack)
    assert client.chat.completions.create(model=name, messages=HELLO).model == name  # its model is loaded now

    raw = client.chat.completions.with_raw_response.create(model=name, messages=HELLO)

    assert raw.parse().model == name
    assert raw.headers["x-kubemoot-model"].startswith("qwen3:")
    answer = ollama_client(stack).chat(model=name, messages=HELLO)
    assert answer.model == name


def test_whatever_is_able_answers_to_auto(stack: Stack):
    headers = {"X-Kubemoot-Capabilities": "reading"}

    raw = openai_client(stack).chat.completions.with_raw_response.create(
        model="auto", messages=HELLO, extra_headers=headers
    )
    assert (raw.parse().model, raw.headers["x-kubemoot-model"]) == ("auto", "qwen3:14b")
    with pytest.raises(openai.BadRequestError):
        openai_client(stack).chat.completions.create(model="auto", messages=HELLO)
    with pytest.raises(openai.NotFoundError):
        openai_client(stack).chat.completions.create(
            model="auto", messages=HELLO, extra_headers={"X-Kubemoot-Capabilities": "flying"}
        )


def test_pictures_go_through(stack: Stack):
    picture = base64.b64encode(b"\x89PNG" + bytes(2_000_000)).decode()
    content = [
        {"type": "text", "text": "What is this?"},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{picture}"}},
    ]

    for model in (MODEL, SET):
        answer = openai_client(stack).chat.completions.create(
            model=model, messages=[{"role": "user", "content": content}]
        )
        assert answer.choices[0].message.content
    message = {"role": "user", "content": "What is this?", "images": [picture]}
    assert ollama_client(stack).chat(model=MODEL, messages=[message]).message.content
