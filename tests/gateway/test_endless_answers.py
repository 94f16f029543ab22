"""Engines that go on and on: what they send is not kept without a bound."""

import asyncio

import pytest

from kubemoot_web.gateway import json_reader, readers, translated
from providers.core.engines.base import Trouble
from tests.fakes.scripted_relay import Answer
from tests.gateway.relayed import ANTHROPIC, WAY_NAMES, WAYS, Client, Gate, world_of

ways = pytest.mark.parametrize(("path", "stream"), [*WAYS, (ANTHROPIC, False)], ids=[*WAY_NAMES, "JSON of Anthropic"])


@ways
async def test_an_answer_without_an_end_is_given_up_and_its_place_freed(path, stream, monkeypatch):
    for module, name in (
        (readers, "MOST_OF_A_LINE"),
        (json_reader, "MOST_OF_A_BODY"),
        (translated, "MOST_OF_A_BODY"),
    ):
        monkeypatch.setattr(module, name, 1000)
    for_ever = asyncio.Event()
    answer = Answer(pieces=(*[b"x" * 100] * 11, for_ever))
    gate = Gate(await world_of(), answer)

    client = await gate.serve(Client(path, stream=stream))

    assert (answer.is_closed, gate.tickets, await gate.ends()) == (True, [], {"c1": "truncated"})
    assert b"error" in client.body
    assert (client.is_whole, b"x" * 100 in client.body) == (True, False)


@ways
async def test_what_is_long_but_not_too_long_is_waited_for(path, stream, monkeypatch):
    monkeypatch.setattr(readers, "MOST_OF_A_LINE", 1000)
    gate = Gate(await world_of(), Answer(pieces=(*[b"x" * 100] * 10, Trouble.BROKEN)))

    client = await gate.serve(Client(path, stream=stream))

    assert await gate.ends() == {"c1": "truncated"}
    assert client.is_whole
