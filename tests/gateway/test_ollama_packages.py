"""The newest ollama and langchain-ollama packages, unmodified, read what the gateway writes."""

import ollama
import pytest
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_ollama import ChatOllama, OllamaEmbeddings

from providers.core.types import EngineKind
from tests.gateway.openai_wire import call_piece, chunk, ended, whole
from tests.gateway.reading import done, event, line, said
from tests.gateway.through import CALL, HELLO, MODEL, TOOL, Through


def ollama_client(through):
    return ollama.Client(host="http://gateway", transport=through.transport)


def test_ollama_streams_embeds_and_calls_tools():
    through = Through(
        said("Grö") + said("ße") + done(), done("x", tool_calls=[CALL]), line(model="m", embeddings=[[0.5]])
    )
    client = ollama_client(through)

    streamed = list(client.chat(MODEL, HELLO, stream=True, options={"num_ctx": 9}, keep_alive=0))
    whole = client.chat(MODEL, HELLO, tools=[TOOL])
    vectors = client.embed(MODEL, "x")

    assert ["".join(each.message.content for each in streamed), streamed[-1].eval_count] == ["Größe", 3]
    assert {each.model for each in [*streamed, whole, vectors]} == {MODEL}
    assert whole.message.tool_calls[0].function.arguments == {"a": 1}
    assert vectors.embeddings == [[0.5]]
    assert [asked["keep_alive"] for _, asked in through.asked] == [-1, -1, -1]
    assert through.asked[0][1]["options"] == {"num_ctx": 8192}


@pytest.mark.parametrize("answer", [said("Yes"), said("Yes") + b'{"mod', said("Yes") + line(error="x"), b""])
def test_ollama_raises_when_an_answer_fails_in_the_middle(answer):
    with pytest.raises(ollama.ResponseError):
        list(ollama_client(Through(answer)).chat(MODEL, HELLO, stream=True))


def test_ollama_reads_errors_as_a_sentence():
    with pytest.raises(ollama.ResponseError) as failed:
        ollama_client(Through(fails=("gpu-busy", {}))).chat(MODEL, HELLO)

    assert (failed.value.error, failed.value.status_code) == ("Said so.", 503)


def test_langchain_on_the_ollama_dialect():
    through = Through(
        said("Grö") + said("ße") + done(), said(tool_calls=[CALL]) + done(), line(model="m", embeddings=[[0.5]])
    )
    more = {"base_url": "http://gateway", "client_kwargs": {"transport": through.transport}}
    chat = ChatOllama(model=MODEL, **more)

    whole = chat.invoke([HumanMessage("hello")])
    called = chat.bind_tools([TOOL]).invoke([HumanMessage("hello")])
    vector = OllamaEmbeddings(model=MODEL, **more).embed_query("x")

    assert (whole.content, whole.usage_metadata["output_tokens"]) == ("Größe", 3)
    assert called.tool_calls[0]["args"] == {"a": 1}
    assert vector == [0.5]


VECTORS = b'{"data":[{"index":0,"embedding":[0.5]}],"usage":{"prompt_tokens":2}}'
CALL_EVENTS = chunk(tool_calls=[call_piece('{"a"', id="x", name="sum")]) + chunk(tool_calls=[call_piece(":1}")])


def test_ollama_on_a_server_of_openais_wire():
    through = Through(
        chunk("Grö") + chunk("ße") + ended(),
        whole("x", tool_calls=[call_piece('{"a":1}', id="x", name="sum")]),
        whole("1"),
        VECTORS,
        VECTORS,
        engine=EngineKind.VLLM,
    )
    client = ollama_client(through)

    streamed = list(client.chat(MODEL, HELLO, stream=True, options={"num_ctx": 9, "top_k": 5}, keep_alive=0))
    whole_one = client.chat(MODEL, HELLO, tools=[TOOL], think=True, format={"type": "object"})
    again = client.chat(MODEL, [*HELLO, whole_one.message, {"role": "tool", "content": "1", "tool_name": "sum"}])
    vectors = client.embed(MODEL, "x")
    old = client.embeddings(MODEL, "x")

    assert ["".join(each.message.content for each in streamed), streamed[-1].eval_count] == ["Größe", 3]
    assert {each.model for each in [*streamed, whole_one, again, vectors]} == {MODEL}
    assert whole_one.message.tool_calls[0].function.arguments == {"a": 1}
    assert (vectors.embeddings, old.embedding) == ([[0.5]], [0.5])


def test_ollama_generates_on_a_server_of_openais_wire():
    through = Through(chunk("Grö", reasoning="hm") + chunk("ße") + ended("length"), engine=EngineKind.LLAMACPP)

    *parts, last = ollama_client(through).generate(MODEL, "hello", system="be brief", stream=True)

    assert ("".join(each.response for each in parts), parts[0].thinking) == ("Größe", "hm")
    assert (last.done, last.done_reason, last.prompt_eval_count) == (True, "length", 12)


@pytest.mark.parametrize("answer", [chunk("Yes"), chunk("Yes") + event(error={"message": "x"}), b""])
def test_ollama_raises_when_an_answer_of_openais_wire_fails_in_the_middle(answer):
    with pytest.raises(ollama.ResponseError):
        list(ollama_client(Through(answer, engine=EngineKind.VLLM)).chat(MODEL, HELLO, stream=True))


def test_langchain_on_a_server_of_openais_wire():
    through = Through(
        chunk("Grö") + chunk("ße") + ended(),
        CALL_EVENTS + ended("tool_calls"),
        chunk("1") + ended(),
        VECTORS,
        engine=EngineKind.VLLM,
    )
    more = {"base_url": "http://gateway", "client_kwargs": {"transport": through.transport}}
    chat = ChatOllama(model=MODEL, **more)

    whole_one = chat.invoke([HumanMessage("hello")])
    called = chat.bind_tools([TOOL]).invoke([HumanMessage("hello")])
    result = ToolMessage("1", tool_call_id=called.tool_calls[0]["id"])
    chat.invoke([HumanMessage("hello"), called, result])
    vector = OllamaEmbeddings(model=MODEL, **more).embed_query("x")

    assert (whole_one.content, whole_one.usage_metadata["output_tokens"]) == ("Größe", 3)
    assert called.tool_calls[0]["args"] == {"a": 1}
    assert vector == [0.5]
    *_, (_, turn), _ = through.asked
    _, assistant, tool = turn["messages"]
    assert tool["tool_call_id"] == assistant["tool_calls"][0]["id"]
