"""A client key holds no more tickets than it may: re-checked with each grant, whoever asks and whatever they hold."""

import asyncio

import pytest

from scheduler.core.ledger import Refusal
from scheduler.core.types import TicketState
from tests.contracts.builders import World, server

ONE = {"key": "k", "key_limit": 1}


async def test_a_key_at_its_limit_gets_no_further_ticket_and_others_do(world: World) -> None:
    await world.gpu("14b", slots=4)

    assert await world.grant("t1", **ONE) is None
    assert await world.grant("t2", agent="b", **ONE) is Refusal.KEY_LIMIT
    assert await world.grant("t3", key="other", key_limit=1) is None
    assert await world.grant("t4") is None


async def test_a_key_is_counted_on_all_servers_together(world: World) -> None:
    await world.servers(server("gpu-1"), server("gpu-2"))
    await world.sees("gpu-1", "14b")
    await world.sees("gpu-2", "14b")
    await world.grant("t1", **ONE)

    assert await world.grant("t2", server="gpu-2", **ONE) is Refusal.KEY_LIMIT


@pytest.mark.parametrize("end", ["release", "lapse", "give_up", "load_fails"])
async def test_whatever_ends_a_ticket_frees_its_place_under_the_key(world: World, end: str) -> None:
    await world.gpu("14b", slots=2)
    await world.waits("w1", "8b")
    match end:
        case "release":
            await world.grant("t1", **ONE)
            await world.releases("t1")
        case "lapse":
            await world.grant("t1", **ONE)
            world.clock.advance(15)
            await world.ledger.reap(now=world.clock())
        case "give_up":
            await world.grant("t1", waiter="w1", **ONE)
            await world.ledger.give_up(waiter="w1", now=world.clock())
        case _:
            await world.grant_load("t1", "8b", waiter="w1", **ONE)
            assert await world.grant("t2", **ONE) is Refusal.KEY_LIMIT
            await world.load_fails("8b")

    assert await world.grant("t3", **ONE) is None
    assert await world.grant("t4", **ONE) is Refusal.KEY_LIMIT


async def test_a_lowered_limit_takes_nothing_away_and_holds_from_then_on(world: World) -> None:
    """A-34. Tickets given before the key had a limit count as well."""
    await world.gpu("14b", slots=4)
    await world.grant("t1", key="k")
    await world.grant("t2", key="k", key_limit=2)

    assert await world.grant("t3", **ONE) is Refusal.KEY_LIMIT
    assert set(world.tickets) == {"t1", "t2"}
    await world.releases("t1")
    assert await world.grant("t3", **ONE) is Refusal.KEY_LIMIT
    await world.releases("t2")
    assert await world.grant("t3", **ONE) is None


async def test_a_call_whose_place_was_held_under_its_own_key_takes_it(world: World) -> None:
    await world.gpu("14b")
    await world.plans("p1", **ONE)

    assert await world.grant("t1", replaces="p-p1", **ONE) is None
    assert {ticket.id: ticket.state for ticket in world.tickets.values()} == {"t1": TicketState.ACTIVE}


async def test_of_many_of_one_key_that_claim_at_once_as_many_get_a_place_as_it_may_have(world: World) -> None:
    await world.gpu("14b", slots=9)

    results = await asyncio.gather(*(world.grant(f"t{number}", key="k", key_limit=2) for number in range(20)))

    assert results == [None, None, *(Refusal.KEY_LIMIT,) * 18]


async def test_that_a_wait_is_for_its_own_key_is_told_and_written_down(world: World) -> None:
    await world.waits("w1", **ONE)

    assert await world.told("w1", "14b", reason="key-limit") is None
    assert world.ledger.replica.waiters["w1"].reason == "key-limit"
    assert await world.told("w1", "14b") is None
    assert world.ledger.replica.waiters["w1"].reason == "gpu-busy"
    assert [event["reason"] for event in await world.events("waiting")] == ["key-limit"]


async def test_what_is_written_down_of_a_wait_names_the_key_from_its_first_word_on(world: World) -> None:
    """History names the key of a call that never got a place only by this."""
    await world.gpu("14b")
    await world.waits("w1", key="k")
    await world.ledger.give_up(waiter="w1", now=world.clock())

    told = await world.events("enqueued", "given_up")
    assert [(event["type"], event["key"]) for event in told] == [("enqueued", "k"), ("given_up", "k")]
