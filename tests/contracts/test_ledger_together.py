"""Changes that many callers ask for at once: each is checked after those before it, and each caller hears its own."""

import asyncio

from scheduler.core.ledger import Refusal
from tests.contracts.builders import World, server


async def test_of_many_that_claim_at_once_as_many_get_a_place_as_there_are_slots(world: World) -> None:
    await world.gpu("14b", slots=3)

    results = await asyncio.gather(*(world.grant(f"t{number}") for number in range(200)))

    assert [number for number, refusal in enumerate(results) if refusal is None] == [0, 1, 2]
    assert set(results[3:]) == {Refusal.NO_SLOT}
    assert set(world.tickets) == {"t0", "t1", "t2"}


async def test_a_place_given_back_can_be_claimed_in_the_same_breath(world: World) -> None:
    await world.gpu("14b")
    await world.grant("t1")

    results = await asyncio.gather(world.grant("t2"), world.releases("t1"), world.grant("t3"), world.releases("t1"))

    assert results == [Refusal.NO_SLOT, True, None, False]
    assert set(world.tickets) == {"t3"}


async def test_a_place_claimed_and_given_back_in_the_same_breath_leaves_nothing(world: World) -> None:
    await world.gpu("14b")

    results = await asyncio.gather(world.grant("t1"), world.releases("t1"), world.grant("t2"), world.releases("t2"))

    assert results == [None, True, None, True]
    assert world.tickets == {}
    assert await world.grant("t3") is None
    kinds = [event["type"] for event in await world.events("granted", "delivered", "released")]
    assert kinds == ["granted", "delivered", "released"] * 2 + ["granted", "delivered"]


async def test_a_load_begun_before_them_is_seen_by_those_that_claim_in_the_same_breath(world: World) -> None:
    """The victim is spoken for, the memory is taken, and whoever wants the model joins its load."""
    await world.gpu("14b", "8b", slots=2)

    results = await asyncio.gather(
        world.grant_load("t1", "32b", evicts=("14b",)),
        world.grant("t2", "14b"),
        world.grant("t3", "32b"),
        world.grant_load("t4", "32b"),
        world.grant("t5", "32b"),
        world.grant("t6", "8b"),
    )

    assert results == [None, Refusal.NO_COPY, None, Refusal.COPY_EXISTS, Refusal.NO_SLOT, None]


async def test_what_a_planned_place_lends_counts_in_the_same_breath(world: World) -> None:
    await world.gpu("14b")
    await world.plans("p1", agent="a")

    results = await asyncio.gather(
        world.grant("t1", agent="b"), world.grant("t2", agent="a"), world.grant("t3", agent="a")
    )

    assert results == [Refusal.NO_SLOT, None, Refusal.NO_SLOT]


async def test_a_caller_that_went_away_before_its_change_was_sent_claims_nothing(world: World) -> None:
    await world.gpu("14b", slots=2)
    tasks = [asyncio.create_task(world.grant(f"t{number}")) for number in range(2)]
    if hasattr(world.ledger, "_batch"):
        await asyncio.sleep(0)
    tasks[0].cancel()

    await asyncio.gather(*tasks, return_exceptions=True)

    assert set(world.tickets) == {"t1"}


async def test_a_place_given_back_and_granted_elsewhere_in_the_same_breath_is_held_there_alone(world: World) -> None:
    """A grant planned on an older picture: its waiter had got a place meanwhile, which goes back in the same step."""
    await world.servers(server("gpu-1"), server("gpu-2"))
    for name in ("gpu-1", "gpu-2"):
        await world.sees(name, "14b")
    await world.waits("w1")
    await world.grant("t-w1", waiter="w1")

    results = await asyncio.gather(world.releases("t-w1"), world.grant("t-w1", server="gpu-2", waiter="w1"))

    assert results == [True, None]
    assert await world.grant("t2", server="gpu-2") is Refusal.NO_SLOT
    assert await world.grant("t3", server="gpu-1") is None
