"""A client that leaves ends the engine's work and frees its place: queued or running, streaming or not."""

import asyncio
from contextlib import suppress

import pytest

from kubemoot_web.gateway import line
from providers.clients.relay import RelayClient
from scheduler.core.ledger import ServerConfig
from tests.fakes.raw_server import raw_server
from tests.fakes.scripted_relay import Answer
from tests.gateway.relayed import (
    DONE,
    EVENT,
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
from tests.services.world import call

ways = pytest.mark.parametrize(("path", "stream"), WAYS, ids=WAY_NAMES)


@ways
async def test_after_twenty_clients_that_left_the_place_is_still_there(path, stream, monkeypatch):
    """C33: a cancelled stream kept its slot; after a few the server was busy for ever with nothing running."""
    monkeypatch.setattr(line, "WATCH_AFTER_S", 0)  # forty of them would be waited for
    gate = Gate(await world_of())
    for _ in range(20):
        leaver, next_one, waiting = (Client(path, stream=stream) for _ in range(3))
        never, finish = asyncio.Event(), asyncio.Event()
        cut, whole = Answer(pieces=(EVENT[:9], never)), answer_of(next_one, finish)
        gate.relay.script += [cut, whole]

        gate.relay.asked.clear()
        running = gate.start(leaver)
        await until(lambda: len(gate.asked) == 1)
        leaver.leave()
        await running
        assert (cut.is_closed, gate.tickets) == (True, [])

        running = gate.start(next_one)
        in_line = gate.start(waiting)
        await until(lambda: len(gate.asked) == 2 and gate.waiters == 1)
        assert gate.tickets == ["gpu-1"]
        waiting.leave()
        await in_line
        assert (gate.waiters, gate.tickets) == (0, ["gpu-1"])
        finish.set()
        await running
        assert (next_one.status, next_one.is_whole) == (200, True)

    assert (gate.tickets, gate.waiters) == ([], 0)
    assert sorted((await gate.ends()).values()) == ["cancelled"] * 20 + ["ok"] * 20


@ways
@pytest.mark.parametrize("has_head", [False, True], ids=["no head", "no byte"])
async def test_a_client_that_leaves_before_the_first_byte_ends_the_engines_work(path, stream, has_head):
    """C34: nobody listened before the first byte; the engine worked on for nobody."""
    leaver, next_one = Client(path, stream=stream), Client(path, stream=stream)
    never = asyncio.Event()
    silent = Answer(pieces=(never,))
    gate = Gate(await world_of(), silent if has_head else never, answer_of(next_one))
    running = gate.start(leaver)
    await gate.relay.opened.wait()
    for _ in range(5):
        await asyncio.sleep(0)

    leaver.leave()
    await running

    assert (gate.tickets, leaver.heard) == ([], [])
    assert silent.is_closed is has_head
    await gate.serve(next_one)
    assert next_one.status == 200
    assert await gate.ends() == {"c1": "cancelled", "c2": "ok"}


@ways
async def test_a_client_that_leaves_the_line_is_never_placed(path, stream):
    """A-20: removed at once, no contact with any engine."""
    finish = asyncio.Event()
    holder, leaver = Client(), Client(path, stream=stream)
    gate = Gate(await world_of(), answer_of(holder, finish))
    holding = gate.start(holder)
    await until(lambda: len(gate.asked) == 1)
    running = gate.start(leaver, hold_s=0)
    await until(lambda: gate.waiters == 1 and leaver.status == 200)

    leaver.leave()
    await running

    assert (gate.waiters, gate.tickets) == (0, ["gpu-1"])
    finish.set()
    await holding
    assert (len(gate.asked), gate.tickets) == (1, [])


@pytest.mark.parametrize("wait_s", [0, 60])
async def test_a_client_that_leaves_while_its_model_loads_gives_its_place_back(wait_s):
    """The load goes on for whoever comes next; nobody holds a ticket meanwhile."""
    world = await world_of()
    record = world.ledger.replica.servers["gpu-1"].config
    await world.ledger.configure(
        servers=[ServerConfig(name="gpu-1", kind="ollama", endpoint=record.endpoint, total_mib=65536)],
        footprints={"qwen3:32b": 20480},
        weights={},
    )
    gate, client = Gate(world), Client(model="qwen3:32b")
    running = gate.start(client, call("a", "qwen3:32b"), wait_s=wait_s, hold_s=0)
    await until(lambda: bool(world.effects.loads) and client.status == 200)

    client.leave()
    await running
    await world.finish_load()

    assert (gate.tickets, gate.waiters, gate.asked) == ([], 0, [])


async def test_a_client_that_takes_nothing_any_more_is_gone(monkeypatch):
    """It would hold its place for ever, and its engine, which cannot write on, would be taken for a silent one."""
    monkeypatch.setattr(line, "STALLED_S", 0.02)
    client, answer = Client(), Answer(pieces=(EVENT,) * 5)
    client.takes = 3
    gate = Gate(await world_of(), answer)

    await gate.serve(client)

    assert (answer.is_closed, gate.tickets, len(client.heard)) == (True, [], 3)
    assert await gate.ends() == {"c1": "cancelled"}


@pytest.mark.parametrize("watch_after_s", [0, 0.02], ids=["a call that was looked after", "one that was too short"])
async def test_nobody_looks_after_a_client_whose_call_is_over(watch_after_s, monkeypatch):
    """Its connection goes on: whoever still listened there would take it for gone with the next call's news."""
    monkeypatch.setattr(line, "WATCH_AFTER_S", watch_after_s)
    client, finish = Client(), asyncio.Event()
    gate = Gate(await world_of(), answer_of(client, finish))
    running = gate.start(client)
    await until(lambda: len(gate.asked) == 1)
    finish.set()
    await running

    client.leave()
    await asyncio.sleep(0.05)

    assert (client.status, client.is_whole, client.line.is_gone) == (200, True, False)


@pytest.mark.parametrize("path", [OPENAI, OLLAMA])
async def test_a_client_that_has_everything_and_leaves_has_had_an_answer(path):
    """Client libraries close the connection at the final mark, before the engine has closed its own."""
    client = Client(path)
    answer = answer_of(client)
    answer.pieces = (*answer.pieces, asyncio.Event())
    gate = Gate(await world_of(), answer)
    running = gate.start(client)
    await until(lambda: len(client.heard) == len(answer.pieces))

    client.leave()
    await running

    assert (answer.is_closed, gate.tickets) == (True, [])
    assert await gate.ends() == {"c1": "ok"}


@pytest.mark.parametrize("stream", [True, False], ids=["stream", "whole"])
async def test_the_engine_sees_its_connection_close(stream):
    """C63, over a real socket: the gateway read on to the end for a client that had gone."""
    sent, flowing, closed = 0, asyncio.Event(), asyncio.Event()

    async def script(raw, reader, writer):
        nonlocal sent
        await raw.hear(reader)
        await reader.read(65536)  # the request's body
        writer.write(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
        chunk = EVENT if stream else b" "
        try:
            while not reader.at_eof():
                writer.write(b"%x\r\n%s\r\n" % (len(chunk), chunk))
                sent += 1
                flowing.set()
                with suppress(TimeoutError):
                    await asyncio.wait_for(reader.read(1), 0.01)
        finally:
            closed.set()

    relay = RelayClient()
    async with raw_server(script) as raw:
        world = await world_of(endpoint=raw.url)
        gate, client = Gate(world, relay=relay), Client(stream=stream)
        running = gate.start(client)
        async with asyncio.timeout(5):
            await flowing.wait()
            await until(lambda: bool(client.heard) is stream)

        before = sent
        client.leave()
        async with asyncio.timeout(1):
            await running
            await closed.wait()

    await relay.close()
    assert (sent - before < 20, gate.tickets) == (True, [])
    assert await gate.ends() == {"c1": "cancelled"}


async def test_a_place_that_was_taken_back_is_told_inside_the_answer_and_closes_the_connection():
    """A-26: whoever was not heard of for too long has no place any more; its work at the engine ends."""
    client, never = Client(), asyncio.Event()
    answer = Answer(pieces=(EVENT, never))
    gate = Gate(await world_of(), answer)
    running = gate.start(client)
    await until(lambda: client.body == EVENT)
    (held,) = gate.held._held.values()

    held.on_lapse()
    await running

    assert answer.is_closed
    assert client.is_whole
    assert b'"error"' in client.body.removeprefix(EVENT)
    assert DONE not in client.body
