"""Whose turn it is: fair tags of crews, and drains for those who waited too long (scheduling rules, section 4)."""

import pytest

from scheduler.core.ledger import DrainChange, Refusal
from scheduler.core.types import Drain, Priority
from tests.contracts.builders import World, server


async def test_crews_take_turns_by_their_weights(world: World) -> None:
    """Start-time fair queueing: twice the weight, half the distance between one's turns."""
    await world.servers(weights={"A": 2.0, "B": 1.0})

    tags = [(await world.waits(f"{crew}{i}", crew=crew)).start_tag for crew in ("A", "B") for i in range(3)]

    assert tags == [0.0, 0.5, 1.0, 0.0, 1.0, 2.0]


async def test_a_crew_that_was_away_does_not_save_up_turns(world: World) -> None:
    await world.gpu("14b", slots=9)
    for i in range(3):
        await world.waits(f"A{i}", crew="A")
        await world.grant(f"t{i}", waiter=f"A{i}", crew="A", agent=f"a{i}")

    late = await world.waits("B0", crew="B")

    assert late.start_tag == 2.0


async def test_a_direct_grant_takes_its_crews_turn(world: World) -> None:
    await world.gpu("14b", slots=9)
    await world.grant("t1", crew="A")
    await world.grant("t2", crew="A", agent="b")

    assert (await world.waits("A0", crew="A")).start_tag == 2.0
    assert (await world.waits("B0", crew="B")).start_tag == 1.0


async def test_classes_have_queues_of_their_own(world: World) -> None:
    await world.gpu("14b", slots=9)
    await world.grant("t1", crew="A")

    assert (await world.waits("w1", crew="A", priority=Priority.BACKGROUND)).start_tag == 0.0


async def test_a_server_has_one_drain(world: World) -> None:
    await world.gpu("14b")
    await world.waits("w1", "32b")
    await world.waits("w2", "8b", agent="b")

    assert await world.drain("w1") is None
    assert await world.drain("w2", model="8b") is Refusal.DRAINING
    assert world.ledger.replica.drains == {
        "gpu-1": Drain(model="32b", agent="a", victims=("14b",), since=1000.0, waiter="w1")
    }


async def test_beginning_the_same_drain_again_keeps_its_beginning(world: World) -> None:
    await world.gpu("14b")
    await world.waits("w1", "32b")
    await world.drain("w1")
    version = world.ledger.replica.version
    world.clock.advance(30)

    assert await world.drain("w1") is None
    assert world.ledger.replica.version == version
    assert world.ledger.replica.drains["gpu-1"].since == 1000.0


async def test_a_waiter_drains_one_server_at_a_time(world: World) -> None:
    await world.servers(server("gpu-1"), server("gpu-2"))
    await world.waits("w1", "32b")
    await world.drain("w1", name="gpu-1")

    assert await world.drain("w1", name="gpu-2") is None
    assert set(world.ledger.replica.drains) == {"gpu-2"}


async def test_nobody_drains_for_a_waiter_that_is_gone_or_on_a_server_that_is(world: World) -> None:
    await world.gpu("14b")
    assert await world.drain("nobody") is Refusal.WAITER_GONE
    await world.waits("w1", "32b")

    assert await world.drain("w1", name="gpu-9") is Refusal.SERVER_GONE


@pytest.mark.parametrize("end", ["granted", "given up", "stood aside", "lapsed", "ended"])
async def test_a_drain_ends_with_the_wait_it_stands_for(world: World, end: str) -> None:
    await world.gpu("14b", "8b")
    await world.waits("w1", "8b")
    await world.drain("w1", model="8b")
    match end:
        case "granted":
            await world.grant("t1", "8b", waiter="w1")
        case "given up":
            await world.ledger.give_up(waiter="w1", now=1000.0)
        case "stood aside":
            await world.stand_aside("w1")
        case "lapsed":
            world.clock.advance(30)
            await world.ledger.reap(now=1030.0)
        case "ended":
            await world.commit(DrainChange(server="gpu-1", drain=None))

    assert world.ledger.replica.drains == {}
    assert len(await world.events("drain_ended")) == 1


async def test_ending_no_drain_is_no_change(world: World) -> None:
    await world.gpu("14b")
    version = world.ledger.replica.version

    assert await world.commit(DrainChange(server="gpu-1", drain=None)) is None
    assert world.ledger.replica.version == version
