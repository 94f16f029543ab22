"""Places held for selected agents, with the decision that chose them (scheduling rules, section 6)."""

import pytest

from scheduler.core.ledger import Intent, Plan, Reaped, Refusal, Use
from scheduler.core.types import TicketState
from tests.contracts.builders import CHOSEN, World, ticket

INTENT = Intent(agent="a", thread="th", models=("14b", "32b"), at=1000.0)
EMPTY = Plan(id="p1", agent="a", thread="th", created_at=1000.0)
HELD = EMPTY.with_ticket("p-p1", trace=CHOSEN)


async def test_a_selected_agents_intent_stands_until_a_place_is_held_for_it(world: World) -> None:
    await world.gpu("14b")
    await world.selected("p1")
    assert world.ledger.replica.intents == {"a#th": INTENT}
    assert world.ledger.replica.selected == {model: Use(count=1, at=1000.0) for model in INTENT.models}

    assert await world.grant("p-p1", state=TicketState.PLANNED, holds=HELD, call="") is None

    assert world.ledger.replica.intents == {}
    assert world.ledger.replica.plans == {"p1": HELD}
    assert world.tickets == {"p-p1": ticket("p-p1", state=TicketState.PLANNED, plan="p1", call="")}
    assert [e["plan"] for e in await world.events("planned")] == ["p1"]


async def test_selections_are_counted_with_a_half_life(world: World) -> None:
    await world.selected("p1")
    world.clock.advance(600)
    await world.selected("p2")

    assert world.ledger.replica.selected == {model: Use(count=1.5, at=1600.0) for model in INTENT.models}


async def test_a_plan_stays_planned_while_its_load_runs(world: World) -> None:
    """It is lent to its agent's earlier calls, and nobody is to be handed a ticket of it."""
    await world.gpu()
    await world.plans("p1", "14b", load=True)

    assert world.tickets["p-p1"].state is TicketState.PLANNED
    await world.loaded("14b")
    assert world.tickets["p-p1"].state is TicketState.PLANNED


async def test_the_first_call_takes_its_plan_in_one_step(world: World) -> None:
    await world.gpu("14b")
    await world.plans("p1", "14b")

    assert await world.grant("t1", "14b", replaces="p-p1") is None

    assert world.tickets == {"t1": ticket("t1")}
    assert world.ledger.replica.plans == {}
    assert world.ledger.replica.intents == {}


async def test_a_plan_no_good_any_more_is_given_back_in_the_step_that_places_the_call_afresh(world: World) -> None:
    await world.gpu("8b", "14b")
    await world.plans("p1", "14b")

    assert await world.grant_load("t1", "32b", evicts=("14b",), replaces="p-p1") is None
    assert set(world.tickets) == {"t1"}


async def test_a_plan_that_is_gone_cannot_be_taken(world: World) -> None:
    await world.gpu("14b")
    await world.plans("p1", "14b")
    await world.ledger.drop_plan(plan="p1", now=1000.0)

    assert await world.grant("t1", replaces="p-p1") is Refusal.TICKET_GONE


async def test_a_refused_grant_leaves_the_plan_as_it_was(world: World) -> None:
    await world.gpu("14b")
    await world.plans("p1", "14b")

    assert await world.grant("t1", "8b", replaces="p-p1") is Refusal.NO_COPY
    assert set(world.tickets) == {"p-p1"}


async def test_a_waiter_that_is_granted_has_used_up_its_plan(world: World) -> None:
    await world.gpu("14b", "8b")
    await world.plans("p1", "14b")
    await world.waits("w1", "8b", thread="th", plan="p1")

    await world.grant("t1", "8b", waiter="w1")

    assert set(world.tickets) == {"t1"}
    assert world.ledger.replica.plans == {}


async def test_a_dropped_plan_gives_back_everything(world: World) -> None:
    """C50: the agent stood aside, failed, or its discussion ended."""
    await world.gpu("14b")
    await world.plans("p1", "14b")

    assert await world.ledger.drop_plan(plan="p1", now=1000.0) is True
    assert (world.tickets, world.ledger.replica.plans, world.ledger.replica.intents) == ({}, {}, {})
    assert await world.ledger.drop_plan(plan="p1", now=1000.0) is False
    assert await world.grant("t1", agent="b") is None


async def test_a_plan_dropped_while_it_loads_leaves_the_load_and_no_reservation_behind_it(world: World) -> None:
    """C50: the copy that is not needed any more is idle once it is there, and may be unloaded."""
    await world.gpu()
    await world.plans("p1", "32b", load=True)
    await world.ledger.drop_plan(plan="p1", now=1000.0)
    assert [load.model for load in world.loads] == ["32b"]
    await world.loaded("32b")

    assert await world.grant_load("t1", "14b", evicts=("32b",), agent="b") is None


async def test_nothing_is_held_for_a_plan_that_was_dropped_meanwhile(world: World) -> None:
    """C50: otherwise nobody would ever give the place back."""
    await world.gpu("14b")
    await world.selected("p1")
    await world.ledger.drop_plan(plan="p1", now=1000.0)

    refused = await world.grant("p-p1", state=TicketState.PLANNED, holds=HELD)

    assert refused is Refusal.PLAN_GONE
    assert world.tickets == {}


async def test_a_plan_holds_one_ticket(world: World) -> None:
    await world.gpu("14b", slots=2)
    await world.plans("p1", "14b")

    assert (
        await world.grant("x", state=TicketState.PLANNED, holds=EMPTY.with_ticket("x", trace=CHOSEN))
        is Refusal.PLAN_GONE
    )


async def test_dropping_an_empty_plan_ends_its_intent(world: World) -> None:
    await world.selected("p1")

    assert await world.ledger.drop_plan(plan="p1", now=1000.0) is True
    assert world.ledger.replica.intents == {}


async def test_a_failed_load_leaves_the_plan_as_an_intent_of_its_old_age(world: World) -> None:
    await world.gpu()
    await world.plans("p1", "14b", load=True)
    world.clock.advance(10)

    await world.load_fails("14b")

    assert world.ledger.replica.plans == {"p1": EMPTY}
    assert world.ledger.replica.intents == {"a#th": INTENT}
    assert await world.grant_load("p-p1", "14b", state=TicketState.PLANNED, holds=HELD) is None
    assert world.ledger.replica.intents == {}


async def test_releasing_a_held_place_forgets_the_plan(world: World) -> None:
    await world.gpu("14b")
    await world.plans("p1", "14b")

    assert await world.releases("p-p1") is True
    assert (world.ledger.replica.plans, world.ledger.replica.uses) == ({}, {})


@pytest.mark.parametrize(("passed_s", "left"), [(179.9, {"p1"}), (180.0, set())])
async def test_a_held_place_ends_after_its_limit_and_renewing_does_not_help(
    world: World, passed_s: float, left: set[str]
) -> None:
    await world.gpu("14b")
    await world.plans("p1", "14b")
    world.clock.advance(passed_s)
    await world.ledger.renew(ticket="p-p1")

    await world.ledger.reap(now=world.clock())

    assert set(world.ledger.replica.plans) == left
    assert set(world.tickets) == {f"p-{id}" for id in left}


@pytest.mark.parametrize(
    ("passed_s", "reaped"), [(179.9, Reaped()), (180.0, Reaped(plans=1)), (500.0, Reaped(plans=1))]
)
async def test_an_empty_plan_ends_with_its_intent(world: World, passed_s: float, reaped: Reaped) -> None:
    await world.selected("p1")
    world.clock.advance(passed_s)

    assert await world.ledger.reap(now=world.clock()) == reaped
    assert bool(world.ledger.replica.intents) is (reaped == Reaped())


async def test_an_intent_without_a_plan_ends_at_its_limit(world: World) -> None:
    await world.ledger.publish_intents(intents=[INTENT], plans=[])
    world.clock.advance(180)

    assert await world.ledger.reap(now=world.clock()) == Reaped(intents=1)
    assert world.ledger.replica.intents == {}
