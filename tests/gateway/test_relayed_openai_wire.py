"""Clients of Ollama and Anthropic, called through the gateway to a server that speaks OpenAI's wire alone."""

import asyncio
import json

import pytest

from kubemoot_web.gateway import line, readers
from providers.core.engines.base import Trouble
from tests.fakes.scripted_relay import Answer
from tests.gateway.openai_wire import FINAL, call_piece, chunk, ended, lines_of, usage, whole
from tests.gateway.reading import event, events_of
from tests.gateway.relayed import ANTHROPIC, OLLAMA, Client, Gate, until, world_of

GENERATE, EMBED, EMBED_OLD = "/api/generate", "/api/embed", "/api/embeddings"
STREAMS = [OLLAMA, GENERATE, ANTHROPIC]
VECTORS = json.dumps({"data": [{"index": 0, "embedding": [0.5]}], "usage": {"prompt_tokens": 12}}).encode()

streams = pytest.mark.parametrize("path", STREAMS)
both_ways = pytest.mark.parametrize(
    ("path", "stream"), [(path, stream) for path in STREAMS for stream in (True, False)], ids=str
)


def client_of(path, *, stream=True):
    """Make a client that asks something."""
    return Client(path, stream=stream, prompt="hello", input="hello")


async def gate_of(*script, kind="vllm", **config):
    """Make a gateway in front of one server of OpenAI's wire."""
    return Gate(await world_of(kind=kind, **config), *script)


def answer_of(stream, *before):
    """Make a whole answer; `before` comes before its end."""
    return Answer(pieces=(*before, chunk("word"), ended()) if stream else (*before, whole("word")))


def text_of(client):
    """Join the text that a client got, in whichever dialect, and say whether an error came with it."""
    documents = lines_of(client.body) if client.path != ANTHROPIC else []
    events = events_of(client.body) if client.path == ANTHROPIC and b"data: " in client.body else []
    if client.path == ANTHROPIC and not events:
        documents = [json.loads(client.body)]
    texts = [each.get("message", {}).get("content", "") or each.get("response", "") for each in documents]
    texts += [block["text"] for each in documents for block in each.get("content", ())]
    texts += [each["delta"].get("text", "") for each in events if each["type"] == "content_block_delta"]
    return "".join(texts), any("error" in each for each in documents + events)


@pytest.mark.parametrize("kind", ["vllm", "llamacpp", "openai"])
@both_ways
async def test_every_dialect_is_answered_and_metered(path, stream, kind):
    gate = await gate_of(answer_of(stream), kind=kind)

    client = await gate.serve(client_of(path, stream=stream))

    assert (client.status, client.is_whole, text_of(client)) == (200, True, ("word", False))
    (request,) = [request for _, request in gate.relay.asked]
    assert (request.method, request.path) == ("POST", "/v1/chat/completions")
    assert json.loads(request.body)["messages"] == [{"role": "user", "content": "hello"}]
    record = await gate.world.record("c1")
    assert (record.prompt_tokens, record.completion_tokens) == (12, 3)
    assert (await gate.ends(), gate.tickets) == ({"c1": "ok"}, [])


@pytest.mark.parametrize("path", [EMBED, EMBED_OLD])
async def test_vectors_are_given_and_metered(path):
    gate = await gate_of(Answer(pieces=(VECTORS[:9], VECTORS[9:])))

    client = await gate.serve(client_of(path))

    given = json.loads(client.body)
    assert given.get("embeddings", [given.get("embedding")]) == [[0.5]]
    assert dict(client.headers)["content-type"] == "application/json"
    assert (await gate.world.record("c1")).prompt_tokens == 12
    assert gate.relay.asked[0][1].path == "/v1/embeddings"


async def test_lines_are_sent_as_they_come():
    finish = asyncio.Event()
    gate = await gate_of(Answer(pieces=(chunk("a"), chunk("b"), finish, ended())))
    client = client_of(OLLAMA)

    running = gate.start(client)
    await until(lambda: len(client.heard) == 3)
    finish.set()
    await running

    assert dict(client.headers)["content-type"] == "application/x-ndjson"
    assert [each["message"]["content"] for each in lines_of(client.body)] == ["a", "b", ""]


async def test_anthropics_clients_get_thoughts_and_calls_of_tools():
    pieces = (
        chunk(reasoning="hm"),
        chunk(tool_calls=[call_piece('{"a"', id="x", name="sum")]),
        chunk(tool_calls=[call_piece(": 1}")]),
        ended("tool_calls"),
    )
    gate = await gate_of(Answer(pieces=pieces))

    client = await gate.serve(client_of(ANTHROPIC))

    events = events_of(client.body)
    assert [each["content_block"]["type"] for each in events if each["type"] == "content_block_start"] == [
        "thinking",
        "tool_use",
    ]
    assert [each["delta"]["partial_json"] for each in events if "partial_json" in each.get("delta", ())] == ['{"a":1}']
    assert events[-2]["delta"]["stop_reason"] == "tool_use"
    assert events[-2]["usage"] == {"input_tokens": 12, "output_tokens": 3}


@pytest.mark.parametrize(
    ("pieces", "end"),
    [
        ((chunk("word"), Trouble.BROKEN), "truncated"),
        ((chunk("word"),), "truncated"),
        ((chunk("word"), chunk("", reason="stop"), usage()), "truncated"),
        ((chunk("word"), chunk("x")[:20], Trouble.BROKEN), "truncated"),
        ((chunk("word"), event(error={"message": "out of memory"})), "error"),
    ],
    ids=["broken", "ended", "no mark", "half an event", "error"],
)
@streams
async def test_a_stream_that_fails_after_output_ends_with_an_error(path, pieces, end):
    """C57, C58: what came so far would be taken for the whole answer."""
    gate = await gate_of(Answer(pieces=pieces))

    client = await gate.serve(client_of(path))

    assert (client.status, client.is_whole, text_of(client)) == (200, True, ("word", True))
    assert (await gate.ends(), gate.tickets) == ({"c1": end}, [])


@pytest.mark.parametrize("path", [*STREAMS, EMBED, EMBED_OLD])
@pytest.mark.parametrize(
    ("answer", "end", "reason"),
    [
        (Answer(pieces=(b'{"choices": [', Trouble.BROKEN)), "truncated", "stream-truncated"),
        (Answer(pieces=(b'{"error": {"message": "out of memory"}}',)), "error", "engine-error"),
        (Answer(pieces=(b"{}",)), "error", "engine-error"),
    ],
    ids=["cut", "error", "no answer"],
)
async def test_an_answer_that_is_none_has_a_status_of_its_own(path, answer, end, reason):
    gate = await gate_of(Answer(pieces=answer.pieces))

    client = await gate.serve(client_of(path, stream=False))

    assert (client.status, dict(client.headers)["x-kubemoot-reason"]) == (500 if path == ANTHROPIC else 502, reason)
    assert text_of(client) == ("", True)
    assert await gate.ends() == {"c1": end}


@both_ways
async def test_what_the_engine_has_against_a_request_is_told_in_the_callers_dialect(path, stream):
    refusal = b'{"error":{"message":"no such thing","type":"BadRequestError","param":null,"code":400}}'
    gate = await gate_of(Answer(status=400, pieces=(refusal,)))

    client = await gate.serve(client_of(path, stream=stream))

    told = json.loads(client.body)["error"]
    assert (client.status, told if path != ANTHROPIC else told["message"]) == (400, "no such thing")
    assert await gate.ends() == {"c1": "refused"}


@pytest.mark.parametrize(
    ("path", "body", "name"),
    [
        (GENERATE, {"prompt": "a", "template": "x"}, "template"),
        (OLLAMA, {"format": "xml"}, "format"),
        (EMBED, {"input": [1]}, "input"),
        (OLLAMA, {"messages": []}, "messages"),
    ],
    ids=str,
)
async def test_what_cannot_be_said_to_the_engine_is_refused_by_its_name(path, body, name):
    gate = await gate_of()

    client = await gate.serve(Client(path, **body))

    assert (client.status, gate.asked, gate.tickets) == (400, [], [])
    assert f"field {name}" in json.loads(client.body)["error"]
    assert await gate.ends() == {"c1": "refused"}


@both_ways
async def test_a_client_that_leaves_ends_the_engines_work(path, stream, monkeypatch):
    monkeypatch.setattr(line, "WATCH_AFTER_S", 0)
    never = asyncio.Event()
    begun = (chunk("word"), never) if stream else (whole("word")[:20], never)
    cut = Answer(pieces=begun)
    gate = await gate_of(cut, answer_of(stream))
    leaver = client_of(path, stream=stream)

    running = gate.start(leaver)
    await until(lambda: len(leaver.heard) > 1 if stream else bool(gate.asked))
    leaver.leave()
    await running
    next_one = await gate.serve(client_of(path, stream=stream))

    assert (cut.is_closed, gate.tickets, next_one.status) == (True, [], 200)
    assert await gate.ends() == {"c1": "cancelled", "c2": "ok"}


@streams
async def test_a_client_that_leaves_with_the_final_mark_in_its_hands_was_served(path):
    never = asyncio.Event()
    gate = await gate_of(Answer(pieces=(chunk("word"), ended(), never)))
    client = client_of(path)

    running = gate.start(client)
    await until(lambda: b"stop" in client.body)
    client.leave()
    await running

    assert await gate.ends() == {"c1": "ok"}
    assert (await gate.world.record("c1")).completion_tokens == 3


@streams
async def test_a_call_of_a_tool_without_an_end_is_given_up(path, monkeypatch):
    monkeypatch.setattr(readers, "MOST_OF_A_LINE", 2000)
    endless = [chunk(tool_calls=[call_piece("x" * 100, name="sum")])] * 20
    answer = Answer(pieces=(*endless, FINAL))
    gate = await gate_of(answer)

    client = await gate.serve(client_of(path))

    assert (answer.is_closed, client.is_whole, text_of(client)) == (True, True, ("", True))
    assert await gate.ends() == {"c1": "truncated"}
