"""Agents that were selected: held places, and what becomes of them."""

from scheduler.core.explain import decision_doc
from scheduler.core.types import TicketState
from scheduler.services.selection import plan_drop
from tests.services.world import World, call, profile, ticket_of, waiter_of

ANALYST = profile("default/analyst", ("qwen3:32b", 70), ("qwen3:14b", 60), ("qwen3:8b", 30))
RESEARCHER = profile("default/researcher", ("qwen3:32b", 90), ("qwen3:14b", 20), ("qwen3:8b", 10))


async def test_a_selected_agent_holds_the_slot_that_its_first_call_then_takes():
    world = await World().holding(gpu_1=("qwen3:14b",))
    (planned,) = await world.select(ANALYST)
    assert (planned.ticket.server, planned.ticket.state) == ("gpu-1", TicketState.PLANNED)

    ticket = ticket_of(await world.submit(call("default/analyst", ("qwen3:32b", 70), ("qwen3:14b", 60), thread="th")))

    assert (ticket.server, ticket.model, ticket.state) == ("gpu-1", "qwen3:14b", TicketState.ACTIVE)
    assert set(world.ledger.replica.tickets) == {ticket.id}
    assert world.ledger.replica.plans == {}


async def test_a_plan_starts_its_load_at_once_so_that_it_runs_while_the_agent_triages():
    world = await World().holding()

    (planned,) = await world.select(RESEARCHER)

    assert planned.ticket.action == "load"
    assert [(load.server, load.model) for load in world.effects.loads] == [(planned.ticket.server, "qwen3:32b")]


async def test_history_tells_of_a_call_that_took_its_held_place_why_that_was_chosen():
    """Its page said how it was placed, but not what else was weighed: that was the plan's, and lost with it."""
    world = await World().holding()
    (planned,) = await world.select(RESEARCHER)
    world.clock.advance(5)

    call_id = waiter_of(await world.submit(call("default/researcher", ("qwen3:32b", 90), thread="th")))

    record = await world.record(call_id)
    assert (record.action, record.granted_at) == ("load", 1005.0)
    assert record.decision == decision_doc(planned.decision) | {"plannedAt": 1000.0}
    assert [option["server"] for option in record.decision["options"]] == ["gpu-2", "gpu-1"]


async def test_a_call_that_names_another_agents_plan_leaves_it_alone():
    """Held or empty: taking it would end the other one's place or intent."""
    world = await World().holding(gpu_1=("qwen3:14b",), gpu_2=("qwen3:8b",))
    planned = await world.select(*(profile(name, ("qwen3:14b", 60)) for name in ("default/one", "default/two")))
    assert sorted(each.ticket is None for each in planned) == [False, True]

    for each in planned:
        ticket = ticket_of(await world.submit(call("default/thief", "qwen3:8b", plan=each.plan.id)))
        await world.release(ticket.id)

    assert set(world.ledger.replica.plans) == {each.plan.id for each in planned}
    assert len(world.ledger.replica.intents) == 1


async def test_a_held_place_is_lent_to_the_agents_own_triage():
    """Nobody waits for itself."""
    world = await World().holding(gpu_1=("qwen3:14b",), gpu_2=("qwen3:8b",))
    await world.select(ANALYST)

    triage = ticket_of(await world.submit(call("default/analyst", "qwen3:14b", thread="th", phase="triage")))

    assert triage.server == "gpu-1"
    stranger = await world.submit(call("default/rules-keeper", "qwen3:14b"))
    waiter_of(stranger)


async def test_a_call_waits_for_its_held_place_while_that_is_lent_out():
    """The copy has one slot: triage and mulling at once would be two calls on it."""
    world = await World().holding(gpu_1=("qwen3:14b",), gpu_2=("qwen3:8b",))
    await world.select(ANALYST)
    triage = ticket_of(await world.submit(call("default/analyst", "qwen3:14b", thread="th", phase="triage")))

    mulling = await world.submit(call("default/analyst", ("qwen3:32b", 70), ("qwen3:14b", 60), thread="th"))

    waiter = waiter_of(mulling)
    await world.release(triage.id)
    assert ticket_of(await world.look(waiter)).server == "gpu-1"


async def test_what_was_held_is_free_again_when_the_agent_stands_aside():
    """A reservation that outlives its agent blocks the GPU for everybody else (C50)."""
    world = await World().holding(gpu_1=("qwen3:14b",), gpu_2=("qwen3:8b",))
    (planned,) = await world.select(ANALYST)
    other = waiter_of(await world.submit(call("default/other", "qwen3:14b")))

    assert await plan_drop(**world.parts, plan=planned.plan.id, now=world.clock())

    assert ticket_of(await world.look(other)).agent == "default/other"
    assert not await plan_drop(**world.parts, plan=planned.plan.id, now=world.clock())


async def test_a_plan_that_nobody_calls_for_lapses():
    world = await World().holding(gpu_1=("qwen3:14b",))
    await world.select(ANALYST)
    world.clock.advance(world.config.plan_limit_s + 1)

    await world.tick()

    assert (world.ledger.replica.tickets, world.ledger.replica.plans, world.ledger.replica.intents) == ({}, {}, {})


async def test_agents_of_two_crews_selected_at_once_converge_on_one_copy():
    world = await World().holding()
    world_of_one = profile("studio/rules-keeper", ("qwen3:14b", 60))

    planned = await world.select(ANALYST, world_of_one)

    assert {each.ticket.model for each in planned if each.ticket} == {"qwen3:14b"}
    assert len(world.effects.loads) == 1


async def test_an_agent_without_a_place_leaves_an_intent_that_protects_its_models():
    world = await World().holding(gpu_1=("qwen3:14b",), gpu_2=("qwen3:8b",))
    running = ticket_of(await world.submit(call("default/x", "qwen3:14b")))
    ticket_of(await world.submit(call("default/y", "qwen3:8b")))

    (planned,) = await world.select(profile("default/keeper", ("qwen3:14b", 60)))

    assert planned.ticket is None
    assert planned.decision.action == "queue"
    await world.release(running.id)
    waiter = waiter_of(await world.submit(call("default/researcher", "qwen3:32b")))
    assert world.effects.loads == []
    assert waiter in world.ledger.replica.waiters


async def test_a_call_that_names_no_thread_takes_its_agents_oldest_plan():
    world = await World().holding(gpu_1=("qwen3:14b",))
    (planned,) = await world.select(ANALYST)

    ticket = ticket_of(await world.submit(call("default/analyst", ("qwen3:32b", 70), ("qwen3:14b", 60))))

    assert (ticket.server, world.ledger.replica.plans) == (planned.ticket.server, {})
