"""All bodies that a process holds have one bound."""

import asyncio
from dataclasses import replace

import httpx
import pytest

from kubemoot_web.access.principal import Principal
from kubemoot_web.gateway import app
from kubemoot_web.gateway.app import Gateway
from kubemoot_web.gateway.room import NoRoom, Room, Rooms
from tests.gateway.relayed import OPENAI, Client, Gate, answer_of, until, world_of
from tests.gateway.test_line import line_of, piece


def test_what_one_takes_another_cannot_have_until_it_is_given_back():
    rooms = Rooms(limit=10)
    one, other = Room(rooms), Room(rooms)
    one.take(4)
    one.take(3)
    with pytest.raises(NoRoom, match="KUBEMOOT_GATEWAY_MAX_HELD_BYTES"):
        other.take(4)
    assert rooms.held == 7

    one.give_back()
    one.give_back()
    other.take(10)

    assert rooms.held == 10


@pytest.mark.parametrize("announced", [(), ((b"content-length", b"6"),), ((b"content-length", b"2"),)])
async def test_a_body_takes_as_much_as_it_is_long_whatever_it_announced(announced):
    rooms = Rooms(limit=6)

    body = await line_of(piece(b"abc"), piece(b"def", more=False), headers=announced).body(limit=9, room=Room(rooms))

    assert (body, rooms.held) == (b"abcdef", 6)


async def test_a_body_that_no_room_is_left_for_is_not_read():
    line = line_of(piece(b"abc", more=False), headers=((b"content-length", b"3"),))

    with pytest.raises(NoRoom):
        await line.body(limit=9, room=Room(Rooms(limit=2)))

    assert await line.body(limit=9) == b"abc"


async def test_who_announces_much_and_sends_nothing_takes_nothing_from_the_others():
    """A few such lines refused everybody's calls for as long as a body may take."""
    rooms = Rooms(limit=6)
    waiting = line_of(piece(b"a"), headers=((b"content-length", b"6"),)).body(limit=9, room=Room(rooms))
    reading = asyncio.create_task(waiting)
    await until(lambda: rooms.held > 0)

    assert rooms.held == 1

    reading.cancel()


async def test_a_body_is_let_go_of_with_the_first_byte_of_its_answer():
    client, begun, go_on = Client(OPENAI, stream=True), asyncio.Event(), asyncio.Event()
    gate, rooms = Gate(await world_of(), answer_of(client, begun, b": first\n\n", go_on)), Rooms(limit=10)
    room = Room(rooms)
    room.take(7)
    relaying = gate.relaying(client, room=room)
    running = asyncio.create_task(relaying.run())
    await until(lambda: len(gate.asked) == 1)
    assert rooms.held == 7
    assert len(relaying._asked.document) == len(client.body_sent)

    begun.set()
    await until(lambda: rooms.held == 0)
    assert not client.is_whole
    assert len(relaying._asked.document) == len(b"{}")

    go_on.set()
    await running
    assert client.is_whole


@pytest.mark.parametrize(("limit", "status"), [(10_000, 200), (20, 529)])
async def test_who_finds_no_room_is_told_when_to_come_again_and_keeps_none(limit, status, monkeypatch):
    async def anybody(_: object) -> Principal:
        return Principal(name="robot", scopes=frozenset({"call"}))

    monkeypatch.setattr(app, "_principal", anybody)
    gateway, rooms = Gateway(None), Rooms(limit=limit)
    monkeypatch.setattr(gateway, "_limits", replace(gateway._limits, rooms=rooms))
    transport = httpx.ASGITransport(app=gateway)
    asked = {"model": "small", "messages": [{"role": "user", "content": "Hello!"}]}

    async with httpx.AsyncClient(transport=transport, base_url="http://kubemoot") as client:
        answer = await client.post("/v1/messages/count_tokens", json=asked)

    assert (answer.status_code, rooms.held) == (status, 0)
    if status != 200:
        assert (answer.headers["retry-after"], answer.headers["x-kubemoot-reason"]) == ("5", "bodies-full")
