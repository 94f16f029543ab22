"""Why a call got no place: what it is told is what kept it from one."""

import asyncio
from dataclasses import replace

import pytest

from scheduler.core.gate import Admission, AdmissionState
from scheduler.services.placing import Doors, NoPlace, place
from tests.fakes.scripted_relay import ScriptedRelay
from tests.services.world import World, call, doors_of, ticket_of

SMALL = "qwen3:14b"


async def one() -> World:
    """One server holds the model, and there is no other."""
    world = await World().holding(gpu_1=(SMALL,))
    first = world.ledger.replica.servers["gpu-1"].config
    await world.ledger.configure(servers=[first], footprints={}, weights={})
    return world


def doors(world: World) -> Doors:
    """Make the doors of a world that asks no engine."""
    return doors_of(world, ScriptedRelay())


async def test_a_call_whose_only_server_takes_no_calls_is_not_told_that_it_was_busy():
    world = await one()
    paused = Admission(state=AdmissionState.PAUSED, since=world.clock())
    await world.ledger.admission_set(server="gpu-1", admission=paused)

    with pytest.raises(NoPlace) as caught:
        await place(doors=doors(world), call=call("a", SMALL), id="w", wait_s=0)

    assert (caught.value.reason, caught.value.model, caught.value.eta_s) == ("gpu-closed", SMALL, None)


async def test_a_call_that_its_own_key_kept_waiting_is_not_told_that_gpus_were_busy():
    world = await one()
    of_key = replace(call("a", SMALL), key="k", key_limit=1)
    ticket_of(await world.submit(of_key))

    with pytest.raises(NoPlace) as caught:
        await place(doors=doors(world), call=of_key, id="second", wait_s=0)

    assert (caught.value.reason, caught.value.model, caught.value.eta_s) == ("key-limit", SMALL, None)


async def test_a_call_that_lost_its_turn_is_told_so_and_for_which_model():
    world = await one()
    ticket_of(await world.submit(call("b", SMALL)))
    waits = asyncio.create_task(place(doors=doors(world), call=call("a", SMALL), id="w", wait_s=60))
    while not world.ledger.replica.waiters:  # noqa: ASYNC110 - nothing rings when a fake changes
        await asyncio.sleep(0)
    await world.ledger.give_up(waiter="w", now=world.clock())

    with pytest.raises(NoPlace) as caught:
        await waits

    assert (caught.value.reason, caught.value.model) == ("wait-lost", SMALL)
