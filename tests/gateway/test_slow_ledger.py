"""A ledger that takes long to take a place back."""

import asyncio

import pytest

from tests.gateway.relayed import WAY_NAMES, WAYS, Client, Gate, answer_of, until, world_of


@pytest.mark.parametrize(("path", "stream"), WAYS, ids=WAY_NAMES)
async def test_no_client_waits_for_its_place_to_be_given_back(path, stream):
    """Answers stayed open until the ledger had answered too: whoever read to the end waited out a silent one."""
    world = await world_of()
    client = Client(path, stream=stream)
    gate = Gate(world, answer_of(client))
    may_go_on = asyncio.Event()
    release = world.ledger.release

    async def slow_release(**what):
        await may_go_on.wait()
        return await release(**what)

    world.ledger.release = slow_release
    served = gate.start(client)
    await until(lambda: client.is_whole)
    assert gate.tickets == ["gpu-1"]

    may_go_on.set()
    await served
    assert gate.tickets == []
