"""A call that is cut off at any moment of its way, once or twice: nothing stays held, and nobody stays in line."""

import asyncio
from itertools import count

import pytest

from kubemoot_web.gateway.asking import read_asked
from kubemoot_web.gateway.dialects import ROUTES
from kubemoot_web.gateway.relaying import Relaying
from kubemoot_web.gateway.room import Room, Rooms
from providers.core.engines.base import Trouble
from tests.fakes.scripted_relay import Answer
from tests.gateway.relayed import DONE, EVENT, MODEL, Client, Gate, Script, make_call, until, world_of

SETTLED = 50
"""So many turns of the loop let everything end that goes on by itself."""


def relaying(gate: Gate, client: Client) -> Relaying:
    """Make a call that nothing wraps, so that it is cut off just where it stands."""
    route = ROUTES[client.path]
    asked = read_asked(dialect=route.dialect, operation=route.operation, body=client.body_sent)
    call = make_call("a", MODEL)
    return Relaying(
        doors=gate.doors,
        line=client.line,
        asked=asked,
        room=Room(Rooms(limit=10_000)),
        call=call,
        id="cut",
        wait_s=60,
        hold_s=0,
    )


async def turns(number: int) -> None:
    """Let the loop turn."""
    for _ in range(number):
        await asyncio.sleep(0)


def whole() -> Answer:
    """Make an answer."""
    return Answer(pieces=(EVENT, EVENT, DONE))


@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize("script", ["at once", "again", "elsewhere", "in line"])
async def test_nothing_is_left_of_a_call_that_is_cut_off(script: str, times: int) -> None:
    scripts: dict[str, tuple[Script, ...]] = {"again": (Trouble.REFUSED,), "elsewhere": (Answer(status=500),)}
    for moment in count():
        finish = asyncio.Event()
        holding = (Answer(pieces=(EVENT, finish, DONE)),) if script == "in line" else scripts.get(script, ())
        gate = Gate(await world_of(servers=2 if script == "elsewhere" else 1), *holding, whole())
        others = [gate.start(Client())] if script == "in line" else []
        await until(lambda gate=gate, others=others: len(gate.tickets) == len(others))

        task = asyncio.create_task(relaying(gate, Client()).run())
        for turn in range(moment):
            await turns(1)
            if turn == 10:
                finish.set()
        is_over = task.done()
        for _ in range(times):
            task.cancel()
            await turns(1)
        finish.set()
        await asyncio.gather(task, *others, return_exceptions=True)
        await turns(SETTLED)

        assert (moment, gate.tickets, gate.waiters) == (moment, [], 0)
        await gate.held.close()
        if is_over:
            assert moment > 3
            return
