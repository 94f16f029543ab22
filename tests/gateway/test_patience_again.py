"""A client whose first attempt failed is kept patient while its call waits for another place."""

import asyncio
from dataclasses import replace

import pytest

from kubemoot_web.gateway import relaying
from providers.core.engines.base import Trouble
from tests.gateway.relayed import WAY_NAMES, WAYS, Client, Gate, answer_of, until, world_of

ways = pytest.mark.parametrize(("path", "stream"), WAYS, ids=WAY_NAMES)


@ways
async def test_who_waits_for_another_attempt_hears_beats_and_not_where_the_first_one_was(path, stream, monkeypatch):
    monkeypatch.setattr(relaying, "BEAT_S", 0.005)
    client, awake = Client(path, stream=stream), asyncio.Event()
    gate = Gate(await world_of(), Trouble.REFUSED, answer_of(client))

    async def pause(seconds: float) -> None:
        await awake.wait()

    gate.doors = replace(gate.doors, pause=pause)
    running = gate.start(client, hold_s=0)
    await until(lambda: len(client.heard) > 3)
    beats = len(client.heard) - 1
    awake.set()
    await running

    assert beats >= 3
    assert (client.status, client.is_whole, len(gate.asked)) == (200, True, 2)
    assert "x-kubemoot-server" not in dict(client.headers)
