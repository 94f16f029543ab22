"""Calls that an engine failed in a row keep others away for a while; then a single one tries."""

import asyncio

import pytest

from scheduler.core.gate import Circuit
from scheduler.core.ledger import CallEnd, Outcome, Refusal
from tests.contracts.builders import OK, World

FAILED = Outcome(ok=False, end=CallEnd.ERROR, status=503)
REFUSED = Outcome(ok=False, end=CallEnd.REFUSED, status=400)


async def calls(world: World, *outcomes: Outcome) -> list[Refusal | None]:
    """Make one call after another; give whether each got its place."""
    refusals = []
    for outcome in outcomes:
        id = f"c{len(await world.events('granted'))}"
        refusals.append(await world.grant(id))
        if refusals[-1] is None:
            await world.releases(id, outcome)
    return refusals


async def open_circuit(world: World) -> None:
    await world.gpu("14b", slots=4)
    assert await calls(world, FAILED, FAILED, FAILED) == [None] * 3


async def test_three_failures_in_a_row_keep_calls_away_for_ten_seconds(world: World) -> None:
    await open_circuit(world)
    server = world.ledger.replica.snapshot(now=1009.9).servers["gpu-1"]

    assert world.record().learned.circuit == Circuit(
        failures=3, openings=1, opened_at=1000.0, rests_until=1010.0, status=503
    )
    assert (server.circuit_open, server.half_open, server.is_open) == (True, False, False)
    world.clock.advance(9.9)
    assert await world.grant("t1") is Refusal.SERVER_CLOSED
    assert [event["rests_until"] for event in await world.events("circuit_opened")] == [1010.0]


async def test_what_went_well_in_between_or_was_the_callers_own_fault_counts_for_nothing(world: World) -> None:
    """C25: the only server was taken out for bad requests, and calls failed instead of waiting."""
    await world.gpu("14b")

    assert await calls(world, FAILED, FAILED, OK, FAILED, FAILED, *(REFUSED,) * 4) == [None] * 9
    assert world.record().learned.circuit.rests_until is None
    assert await calls(world, FAILED, OK) == [None, Refusal.SERVER_CLOSED]


async def test_after_the_rest_a_single_call_tries_and_the_others_wait_for_how_it_ends(world: World) -> None:
    await open_circuit(world)
    world.clock.advance(10)
    half_open = world.ledger.replica.snapshot(now=world.clock()).servers["gpu-1"]

    assert (half_open.is_open, half_open.half_open) == (True, True)
    assert await world.grant("t1") is None
    assert await world.grant("t2") is Refusal.SERVER_CLOSED
    assert world.ledger.replica.snapshot(now=world.clock()).servers["gpu-1"].circuit_open
    await world.releases("t1")
    assert world.record().learned.circuit == Circuit()
    assert await world.grant("t2") is None
    assert await world.grant("t3") is None
    assert [event["opened_at"] for event in await world.events("circuit_closed")] == [1000.0]


async def test_two_that_claim_the_trial_in_one_step_do_not_both_get_it(world: World) -> None:
    await open_circuit(world)
    world.clock.advance(10)

    assert await asyncio.gather(world.grant("t1"), world.grant("t2")) == [None, Refusal.SERVER_CLOSED]


async def test_each_trial_that_fails_doubles_the_rest_up_to_two_minutes(world: World) -> None:
    await open_circuit(world)
    rests = []
    for _ in range(6):
        circuit = world.record().learned.circuit
        assert circuit.rests_until is not None
        rests.append(circuit.rests_until - world.clock())
        world.clock.advance(rests[-1])
        await calls(world, FAILED)

    assert rests == [10, 20, 40, 80, 120, 120]
    assert world.record().learned.circuit.opened_at == 1000.0


@pytest.mark.parametrize("end", ["cancelled", "lapsed", "given up"])
async def test_a_trial_that_says_nothing_leaves_the_next_call_to_try(world: World, end: str) -> None:
    await open_circuit(world)
    world.clock.advance(10)
    match end:
        case "cancelled":
            await world.grant("t1")
            await world.releases("t1", Outcome(ok=False, end=CallEnd.CANCELLED))
        case "lapsed":
            await world.grant("t1")
            world.clock.advance(15)
            await world.ledger.reap(now=world.clock())
        case _:
            await world.waits("w1")
            await world.grant("t1", waiter="w1")
            await world.ledger.give_up(waiter="w1", now=world.clock())

    assert await world.grant("t2") is None
    assert await world.grant("t3") is Refusal.SERVER_CLOSED


async def test_a_call_that_began_before_ends_nothing_by_failing_and_everything_by_going_well(world: World) -> None:
    await world.gpu("14b", slots=4)
    await world.grant("old")
    await world.grant("older")
    await calls(world, FAILED, FAILED, FAILED)
    before = world.record().learned.circuit

    await world.releases("old", FAILED)
    assert world.record().learned.circuit == before
    await world.releases("older")
    assert world.record().learned.circuit == Circuit()


async def test_a_place_held_ahead_of_its_call_is_no_trial_but_its_call_may_be(world: World) -> None:
    await world.gpu("14b", slots=4)
    await world.plans("p1", agent="a")
    await calls(world, FAILED, FAILED, FAILED)
    world.clock.advance(10)

    assert await world.plans("p2", agent="b") is Refusal.SERVER_CLOSED
    assert await world.grant("t1", replaces="p-p1") is None
    assert world.record().learned.circuit.trial == "t1"


async def test_another_endpoint_begins_with_a_closed_circuit(world: World) -> None:
    await open_circuit(world)

    await world.gpu("14b", endpoint="http://elsewhere")

    assert world.record().learned.circuit == Circuit()
