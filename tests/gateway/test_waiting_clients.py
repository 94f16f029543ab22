"""What a client hears while it waits: in line, for a load, for an engine that is silent."""

import asyncio
import json

import pytest

from kubemoot_web.gateway import relaying
from tests.fakes.scripted_relay import Answer
from tests.gateway.relayed import (
    ANTHROPIC,
    EVENT,
    LINE,
    OLLAMA,
    OPENAI,
    WAY_NAMES,
    WAYS,
    Client,
    Gate,
    answer_of,
    until,
    world_of,
)

ways = pytest.mark.parametrize(("path", "stream"), WAYS, ids=WAY_NAMES)


@ways
async def test_a_call_that_gets_no_place_is_told_when_one_is_to_be_expected(path, stream):
    """A computed Retry-After, not the one for whoever knows nothing."""
    holder, client, finish = Client(), Client(path, stream=stream), asyncio.Event()
    gate = Gate(await world_of(), answer_of(holder, finish))
    holding = gate.start(holder)
    await until(lambda: len(gate.asked) == 1)

    await gate.serve(client, wait_s=0)

    assert (client.status == 200, dict(client.headers)["retry-after"]) == (False, "30")
    finish.set()
    await holding


@ways
async def test_an_engine_may_be_silent_for_as_long_as_its_server_says_and_only_a_streams_silence_counts(path, stream):
    """An answer that comes whole is silent until it is there: that is no sign of a wedged engine."""
    client, finish = Client(path, stream=stream), asyncio.Event()
    gate = Gate(await world_of(call_timeout_s=7.0), answer_of(client, finish))
    running = gate.start(client)
    await until(lambda: len(gate.asked) == 1)

    (held,) = gate.held._held.values()
    ((_, request),) = gate.relay.asked
    assert (held.progress.is_told, request.silence_s) == (stream, 7.0)
    finish.set()
    await running


@pytest.mark.parametrize("path", [OPENAI, OLLAMA, ANTHROPIC])
async def test_beats_go_on_until_the_first_byte_and_never_come_into_the_answer(path, monkeypatch):
    """Who heard them in line hears them while its engine is silent, too: its patience is no longer than before."""
    monkeypatch.setattr(relaying, "BEAT_S", 0.001)
    holder, client = Client(), Client(path)
    finish, begin, go_on = asyncio.Event(), asyncio.Event(), asyncio.Event()
    answer = answer_of(client, begin, LINE if path != OPENAI else EVENT, go_on)
    gate = Gate(await world_of(), answer_of(holder, finish), answer)
    holding, running = gate.start(holder), gate.start(client, hold_s=0)
    await until(lambda: len(client.heard) > 3)
    assert dict(client.headers)["x-kubemoot-call"] == "c2"
    finish.set()
    await holding
    await until(lambda: len(gate.asked) == 2)

    before = len(client.heard)
    await until(lambda: len(client.heard) > before + 3)
    begin.set()
    await until(lambda: b"word" in client.body)
    begun = client.body
    await asyncio.sleep(0.02)
    assert client.body == begun
    go_on.set()
    await running

    assert client.is_whole


@ways
async def test_a_silent_engine_is_waited_for_and_asked_once(path, stream):
    """C52: a cold load sends no byte for a minute; a time-out ended it, and the retry began the load again."""
    client, awake = Client(path, stream=stream), asyncio.Event()
    gate = Gate(await world_of(), answer_of(client, awake))
    running = gate.start(client, hold_s=0)
    await until(lambda: len(gate.asked) == 1)
    for _ in range(50):
        await asyncio.sleep(0)
    assert client.heard == []  # its status is still open

    awake.set()
    await running

    assert (client.status, len(gate.asked)) == (200, 1)


@ways
async def test_who_waits_in_line_is_kept_patient_and_then_served(path, stream, monkeypatch):
    """Comments for SSE, pings for Anthropic, blanks for lines and objects: never more than one head."""
    monkeypatch.setattr(relaying, "BEAT_S", 0.005)
    holder, client, finish = Client(), Client(path, stream=stream), asyncio.Event()
    gate = Gate(await world_of(), answer_of(holder, finish), answer_of(client))
    holding = gate.start(holder)
    await until(lambda: gate.tickets == ["gpu-1"])

    running = gate.start(client, hold_s=0)
    await until(lambda: len(client.heard) > 3)
    beats = [message["body"] for message in client.heard[1:]]
    finish.set()
    await holding
    await running

    expected = {(OPENAI, True): b": wait\n\n", (ANTHROPIC, True): b'event: ping\ndata: {"type": "ping"}\n\n'}
    assert set(beats) == {expected.get((path, stream), b" ")}
    assert [message["type"] for message in client.heard].count("http.response.start") == 1
    assert client.is_whole
    if not stream or path == OLLAMA:
        json.loads(client.body)


WHY = "the prompt is too long"


@pytest.mark.parametrize("status", [400, 500])
@ways
async def test_what_fails_after_the_wait_began_to_be_heard_fails_inside_the_answer(path, stream, status, monkeypatch):
    """The status is gone by then: the error must travel in the body, in a form that the client raises."""
    monkeypatch.setattr(relaying, "BEAT_S", 0.005)
    holder, client, finish = Client(), Client(path, stream=stream), asyncio.Event()
    refusal = Answer(status=status, pieces=(json.dumps({"error": {"message": WHY}}).encode(),))
    gate = Gate(await world_of(), answer_of(holder, finish), refusal)
    holding = gate.start(holder)
    await until(lambda: gate.tickets == ["gpu-1"])
    running = gate.start(client, hold_s=0)
    await until(lambda: client.status == 200)

    finish.set()
    await holding
    await running

    told = client.body.split(b"data: ")[-1] if path != OLLAMA and stream else client.body
    error = json.loads(told)["error"]
    said = error if path == OLLAMA else error["message"]
    assert (WHY in said, said.startswith("{")) == (True, False)  # its words alone, not the object around them
    assert (client.is_whole, gate.tickets) == (True, [])
