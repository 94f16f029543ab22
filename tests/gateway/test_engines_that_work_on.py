"""Engines that work on when a client leaves: the client is let go at once, the place stays until the engine ends."""

import asyncio

import pytest

from kubemoot_web.gateway import line
from kubemoot_web.gateway import readers as reading
from providers.clients.relay import RelayClient
from tests.fakes.raw_server import raw_server
from tests.fakes.scripted_relay import Answer
from tests.gateway.relayed import EVENT, LINE, OLLAMA, WAY_NAMES, WAYS, WHOLE, Client, Gate, answer_of, until, world_of

ways = pytest.mark.parametrize(("path", "stream"), WAYS, ids=WAY_NAMES)


@ways
async def test_a_client_that_leaves_is_let_go_at_once_and_its_place_stays_until_the_engine_ends(
    path, stream, monkeypatch
):
    """A-23: with the place given back, the next call stood in the engine's own queue, where nobody saw it."""
    monkeypatch.setattr(line, "WATCH_AFTER_S", 0)
    leaver, next_one = Client(path, stream=stream), Client(path, stream=stream)
    finish = asyncio.Event()
    worked_on, whole = answer_of(leaver, EVENT[:9], finish), answer_of(next_one)
    gate = Gate(await world_of(aborts_on_disconnect=False), worked_on, whole)
    running = gate.start(leaver)
    await until(lambda: len(gate.asked) == 1)

    leaver.leave()
    await running

    in_line = gate.start(next_one)
    await until(lambda: gate.waiters == 1)
    assert (worked_on.is_closed, gate.tickets, len(gate.asked)) == (False, ["gpu-1"], 1)
    finish.set()
    await in_line
    assert (next_one.status, next_one.is_whole, gate.tickets) == (200, True, [])
    assert await gate.ends() == {"c1": "cancelled", "c2": "ok"}


async def test_a_client_that_takes_nothing_any_more_is_let_go_and_its_place_stays(monkeypatch):
    """Whoever is cut off leaves as much behind as whoever leaves."""
    monkeypatch.setattr(line, "STALLED_S", 0.02)
    finish = asyncio.Event()
    client, answer = Client(), Answer(pieces=(*(EVENT,) * 5, finish))
    client.takes = 3
    gate = Gate(await world_of(aborts_on_disconnect=False), answer)

    await gate.serve(client)

    assert (answer.is_closed, gate.tickets) == (False, ["gpu-1"])
    finish.set()
    await until(lambda: gate.tickets == [])
    assert await gate.ends() == {"c1": "cancelled"}


async def test_an_answer_that_is_cut_off_because_it_is_too_long_keeps_its_place(monkeypatch):
    monkeypatch.setattr(reading, "MOST_OF_A_LINE", 1000)
    finish = asyncio.Event()
    answer = Answer(pieces=(b"x" * 999, b"x" * 999, finish))
    gate = Gate(await world_of(aborts_on_disconnect=False), answer)

    client = await gate.serve(Client(OLLAMA))

    assert (client.is_whole, answer.is_closed, gate.tickets) == (True, False, ["gpu-1"])
    finish.set()
    await until(lambda: gate.tickets == [])
    assert await gate.ends() == {"c1": "truncated"}


async def test_a_client_that_has_everything_and_leaves_leaves_nothing_behind():
    """The final mark says that the engine is done: nobody need wait until it closes its connection."""
    client = Client()
    answer = answer_of(client)
    answer.pieces = (*answer.pieces, asyncio.Event())
    gate = Gate(await world_of(aborts_on_disconnect=False), answer)
    running = gate.start(client)
    await until(lambda: len(client.heard) == len(answer.pieces))

    client.leave()
    await running

    assert (answer.is_closed, gate.tickets) == (True, [])
    assert await gate.ends() == {"c1": "ok"}


async def test_a_client_that_leaves_the_line_leaves_nothing_behind():
    """A-20, A-21: no engine works for whoever never reached one."""
    finish = asyncio.Event()
    holder, leaver = Client(), Client()
    gate = Gate(await world_of(aborts_on_disconnect=False), answer_of(holder, finish))
    holding = gate.start(holder)
    await until(lambda: len(gate.asked) == 1)
    running = gate.start(leaver, hold_s=0)
    await until(lambda: gate.waiters == 1 and leaver.status == 200)

    leaver.leave()
    await running
    finish.set()
    await holding

    assert (gate.waiters, gate.tickets, len(gate.asked)) == (0, [], 1)


async def test_over_a_real_socket_the_connection_stays_until_the_engine_has_said_everything():
    asked, finish, closed = asyncio.Event(), asyncio.Event(), asyncio.Event()
    sent = 0

    async def script(raw, reader, writer):
        nonlocal sent
        await raw.hear(reader)
        await reader.read(65536)
        asked.set()
        await finish.wait()
        assert not reader.at_eof()
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % (len(LINE) * 10_000))
        for _ in range(10_000):  # far more than is kept unread
            writer.write(LINE)
            await writer.drain()
            sent += 1
        closed.set()

    relay = RelayClient()
    async with raw_server(script) as raw:
        gate, client = Gate(await world_of(endpoint=raw.url, aborts_on_disconnect=False), relay=relay), Client(OLLAMA)
        running = gate.start(client)
        async with asyncio.timeout(5):
            await asked.wait()
            client.leave()
            await running
            assert gate.tickets == ["gpu-1"]
            finish.set()
            await closed.wait()
            await until(lambda: gate.tickets == [])

    await relay.close()
    assert sent == 10_000
    assert await gate.ends() == {"c1": "cancelled"}


async def test_a_client_that_stays_is_served_as_by_any_other_engine():
    client = Client(stream=False)
    gate = Gate(await world_of(aborts_on_disconnect=False), answer_of(client))

    await gate.serve(client)

    assert (client.status, client.body, gate.tickets) == (200, WHOLE, [])
    assert await gate.ends() == {"c1": "ok"}
