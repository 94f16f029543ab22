"""The line is bounded: as a whole, and for each client key or agent, so that nobody fills it alone."""

import pytest

from scheduler.core.config import SchedulerConfig
from scheduler.ports import LineFull
from tests.contracts.builders import World


@pytest.fixture
def config() -> SchedulerConfig:
    """Give short bounds."""
    return SchedulerConfig(max_waiters=4, max_waiters_per_agent=2)


async def refusal(world: World, id: str, **more: object) -> tuple[str, str, str] | None:
    """Stand in line; give how that was refused: whose limit it is, and the sentence."""
    try:
        await world.waits(id, **more)
    except LineFull as full:
        return full.agent, full.key, str(full)
    return None


async def test_an_agent_with_enough_calls_in_line_is_told_so_and_others_are_taken(world: World) -> None:
    assert [await refusal(world, f"w{n}", agent="default/a") for n in range(2)] == [None, None]

    assert await refusal(world, "w2", agent="default/a") == (
        *("default/a", ""),
        "2 calls of a wait already, which is as many as may. Send fewer at once.",
    )
    assert await refusal(world, "w3", agent="default/b") is None


async def test_calls_with_a_key_count_for_the_key_whatever_agent_they_name(world: World) -> None:
    await world.waits("w1", agent="a", key="km-1")
    await world.waits("w2", agent="b", key="km-1")

    assert await refusal(world, "w3", agent="c", key="km-1") == (
        *("c", "km-1"),
        "2 calls of the key km-1 wait already, which is as many as may. Send fewer at once.",
    )
    assert await refusal(world, "w4", agent="a") is None
    assert await refusal(world, "w5", agent="a", key="km-2") is None


async def test_the_whole_line_is_bounded_too(world: World) -> None:
    for number in range(4):
        await world.waits(f"w{number}", agent=f"a{number}")

    assert await refusal(world, "w9", agent="z") == (
        *("", ""),
        "4 calls wait already, which is as many as may. Send fewer at once.",
    )


@pytest.mark.parametrize("end", ["given up", "lapsed", "picked up", "stood aside"])
async def test_whoever_left_the_line_makes_room(world: World, end: str) -> None:
    await world.gpu("14b")
    await world.waits("w1")
    await world.waits("w2")
    match end:
        case "given up":
            await world.ledger.give_up(waiter="w1", now=world.clock())
        case "lapsed":
            world.clock.advance(30)
            await world.ledger.reap(now=world.clock())
        case "picked up":
            await world.grant("t1", waiter="w1")
            assert await refusal(world, "w3") is not None
            await world.picks_up("w1")
        case _:
            await world.stand_aside("w1")
            assert await refusal(world, "w3") is not None
            await world.picks_up("w1")

    assert await refusal(world, "w3") is None


async def test_a_call_that_asks_again_for_the_place_it_has_is_no_further_one(world: World) -> None:
    await world.waits("w1")
    first = await world.waits("w2")

    assert await world.waits("w2") == first
