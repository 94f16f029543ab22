"""A ledger that takes long to take a place back."""

import asyncio
import gc

import pytest

from scheduler.ports import LedgerUnavailable
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


async def test_a_ledger_that_goes_away_while_nobody_waits_for_it_any_more_leaves_no_traceback():
    """The log of a restarted Valkey was full of them: of every call whose client had left by then."""
    world, problems = await world_of(), []
    client = Client()
    gate = Gate(world, answer_of(client))
    asked, is_gone = asyncio.Event(), asyncio.Event()

    async def lost_release(**_):
        asked.set()
        await is_gone.wait()
        raise LedgerUnavailable("gone")

    world.ledger.release = lost_release
    asyncio.get_running_loop().set_exception_handler(lambda _, problem: problems.append(problem["message"]))
    served = gate.start(client)
    await asked.wait()
    client.leave()
    served.cancel()
    await asyncio.gather(served, return_exceptions=True)

    is_gone.set()
    await asyncio.sleep(0.01)
    gc.collect()

    assert problems == []
