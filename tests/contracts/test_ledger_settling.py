"""Callers that sleep until their own wait is over."""

import asyncio

import pytest

from scheduler.ports import Ledger
from tests.contracts.builders import World

SOON_S = 0.05
LONG_S = 10.0


async def asleep(ledger: Ledger, *waiters: str) -> dict[str, asyncio.Task[bool]]:
    """Let callers fall asleep."""
    tasks = {
        waiter: asyncio.create_task(ledger.wait_until_settled(waiter=waiter, timeout_s=LONG_S)) for waiter in waiters
    }
    await asyncio.sleep(0)
    return tasks


async def woken(tasks: dict[str, asyncio.Task[bool]]) -> list[str]:
    """Name who woke up, and end the sleep of the others."""
    await asyncio.wait(tasks.values(), timeout=SOON_S)
    names = [name for name, task in tasks.items() if task.done()]
    for task in tasks.values():
        task.cancel()
    await asyncio.gather(*tasks.values(), return_exceptions=True)
    return names


async def test_a_place_wakes_its_own_caller_and_nobody_else(world: World) -> None:
    """A thousand callers that wake at each change of the ledger would keep a core busy with finding out nothing."""
    await world.gpu("14b")
    for number in range(100):
        await world.waits(f"w{number}", agent=f"a{number}")
    tasks = await asleep(world.ledger, *(f"w{number}" for number in range(100)))
    before = world.ledger.wake_ups

    await world.told("w3", "14b")
    await world.grant("t1", waiter="w7")

    assert await woken(tasks) == ["w7"]
    assert world.ledger.wake_ups - before == 1


async def test_a_place_that_still_loads_wakes_its_caller_only_when_it_is_ready(world: World) -> None:
    await world.gpu()
    await world.waits("w1")
    tasks = await asleep(world.ledger, "w1")
    await world.grant_load("t1", "14b", waiter="w1")
    await asyncio.wait(tasks.values(), timeout=SOON_S)
    assert not tasks["w1"].done()

    await world.loaded("14b")

    assert await tasks["w1"] is True


@pytest.mark.parametrize("end", ["stand_aside", "give_up"])
async def test_who_stands_aside_or_is_gone_wakes_too(world: World, end: str) -> None:
    await world.waits("w1")
    tasks = await asleep(world.ledger, "w1")

    if end == "stand_aside":
        await world.stand_aside("w1")
    else:
        await world.ledger.give_up(waiter="w1", now=1000.0)

    assert await tasks["w1"] is True


async def test_an_end_that_came_before_the_sleep_is_not_slept_through(world: World) -> None:
    await world.gpu("14b")
    await world.waits("w1")
    await world.grant("t1", waiter="w1")

    assert await world.ledger.wait_until_settled(waiter="w1", timeout_s=LONG_S) is True
    assert await world.ledger.wait_until_settled(waiter="nobody", timeout_s=LONG_S) is True


async def test_a_sleep_ends_with_its_time_and_leaves_nothing_behind(world: World) -> None:
    await world.gpu("14b")
    await world.waits("w1")
    assert await world.ledger.wait_until_settled(waiter="w1", timeout_s=0.001) is False
    before = world.ledger.wake_ups

    await world.grant("t1", waiter="w1")

    assert world.ledger.wake_ups == before


async def test_two_that_ask_for_one_wait_both_wake(world: World) -> None:
    await world.gpu("14b")
    await world.waits("w1")
    one, other = [await asleep(world.ledger, "w1") for _ in range(2)]

    await world.grant("t1", waiter="w1")

    assert [await one["w1"], await other["w1"]] == [True, True]


async def test_who_is_to_look_again_wakes_without_an_end_and_counts_as_nobodys_wake_up(world: World) -> None:
    await world.waits("w1")
    await world.waits("w2")
    one, other = [await asleep(world.ledger, id) for id in ("w1", "w2")]
    before = world.ledger.wake_ups

    world.ledger.wake(waiter="w1")
    world.ledger.wake(waiter="nobody")

    assert await one["w1"] is False
    assert not other["w2"].done()
    assert world.ledger.wake_ups == before
    other["w2"].cancel()
