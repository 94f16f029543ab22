"""Attempts before they have a place: what a call waits for, for how long, and what it hears without one."""

import asyncio
from dataclasses import replace

import pytest

from providers.core.engines.base import Trouble
from scheduler.core.ledger import CallEnd, Outcome
from scheduler.services.placing import NoPlace
from tests.services.test_attempts import LARGE, SMALL, Calls, alone, one, until
from tests.services.world import World, call, ticket_of


async def test_a_call_that_is_cancelled_in_line_is_forgotten():
    world = await one()
    ticket_of(await world.submit(call("b", SMALL)))
    calls = Calls(world)
    opening = asyncio.ensure_future(calls.open(SMALL, wait_s=60))
    await until(lambda: bool(world.ledger.replica.waiters))

    opening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await opening

    assert not world.ledger.replica.waiters
    assert calls.relay.asked == []


async def test_a_call_without_a_place_leaves_the_line_and_says_when_to_come_again():
    world = await one()
    ticket_of(await world.submit(call("b", SMALL)))
    calls = Calls(world)

    with pytest.raises(NoPlace) as caught:
        await calls.open(SMALL)

    assert (caught.value.reason, caught.value.model) == ("gpu-busy", SMALL)
    assert caught.value.eta_s == 30.0
    assert not world.ledger.replica.waiters


async def test_a_call_that_can_never_be_placed_is_told_why():
    world = await one()
    await world.ledger.configure(
        servers=[record.config for record in world.ledger.replica.servers.values()],
        footprints={"huge": 100_000},
        weights={},
    )

    with pytest.raises(NoPlace) as caught:
        await Calls(world).open("huge", wait_s=60)

    assert caught.value.reason == "model-too-large"


async def test_a_load_that_began_for_a_call_is_waited_for_however_short_its_patience():
    world = await World().holding()
    calls = Calls(world)
    opening = asyncio.ensure_future(calls.open(LARGE, wait_s=0))
    await until(lambda: bool(world.effects.loads))
    await world.finish_load()

    running = await opening

    assert running.placed.ticket.action == "load"
    await running.end(outcome=Outcome(ok=True, end=CallEnd.OK))
    assert calls.tickets() == {}


async def test_all_attempts_of_a_call_wait_no_longer_together_than_one_would():
    """Each attempt had the whole patience again: three could outlast the client's own time-out."""
    world = await alone()
    calls = Calls(world, Trouble.REFUSED)
    other: list[str] = []

    async def pause(seconds: float) -> None:
        world.clock.advance(50)
        other.append(ticket_of(await world.submit(call("b", SMALL))).id)

    calls.doors = replace(calls.doors, pause=pause)
    with pytest.raises(NoPlace):
        await calls.open(SMALL, wait_s=40)

    assert len(other) == 1
    assert calls.relay.asked[1:] == [], "nothing was left of its patience, and the slot was taken"
