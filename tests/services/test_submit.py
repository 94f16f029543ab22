"""Calls that ask for a place, through the services on a ledger in memory."""

import asyncio

import pytest

from scheduler.core.ledger import Settled
from scheduler.core.types import TicketState
from scheduler.ports import TicketGone
from scheduler.services.submit import StillWaiting
from tests.services.world import GOOD, World, call, ticket_of, waiter_of


async def test_a_warm_free_slot_is_given_at_once_and_nobody_stands_in_line():
    world = await World().holding(gpu_1=("qwen3:14b",))

    ticket = ticket_of(await world.submit(call("default/analyst", "qwen3:14b")))

    assert (ticket.server, ticket.model, ticket.action, ticket.state) == (
        "gpu-1",
        "qwen3:14b",
        "use",
        TicketState.ACTIVE,
    )
    assert world.ledger.replica.waiters == {}
    assert world.effects.loads == []


async def test_a_busy_slot_goes_to_the_oldest_waiter_when_it_is_given_back():
    world = await World().holding(gpu_1=("qwen3:14b",), gpu_2=("qwen3:8b",))
    running = ticket_of(await world.submit(call("default/a", "qwen3:14b")))
    first = waiter_of(await world.submit(call("default/b", "qwen3:14b")))
    world.clock.advance(1)
    second = waiter_of(await world.submit(call("default/c", "qwen3:14b")))

    await world.release(running.id)

    assert ticket_of(await world.look(first)).agent == "default/b"
    assert isinstance(await world.look(second), StillWaiting)


async def test_a_newcomer_does_not_take_the_slot_that_an_older_waiter_could_use():
    """The slot frees while nobody plans (its holder was killed): the newcomer's own cycle serves the older first."""
    world = await World().holding(gpu_1=("qwen3:14b",), gpu_2=("qwen3:8b",))
    running = ticket_of(await world.submit(call("default/a", "qwen3:14b")))
    older = waiter_of(await world.submit(call("default/b", "qwen3:14b")))
    await world.ledger.release(ticket=running.id, outcome=GOOD, now=world.clock())

    newcomer = await world.submit(call("default/c", "qwen3:14b"))

    assert isinstance(newcomer, StillWaiting)
    assert ticket_of(await world.look(older)).agent == "default/b"


async def test_a_call_gets_its_ticket_only_once_the_engine_has_loaded_its_model():
    """The engine would make room by itself for a call that comes before the unload (C52, and the rule of the house)."""
    world = await World().holding()
    waiter = waiter_of(await world.submit(call("default/a", "qwen3:14b")))
    assert isinstance(await world.look(waiter), StillWaiting)
    world.clock.advance(4)

    await world.finish_load()

    ticket = ticket_of(await world.look(waiter))
    assert (ticket.action, ticket.state, ticket.started_at - ticket.arrived_at) == ("load", TicketState.ACTIVE, 4)


async def test_two_calls_for_one_cold_model_share_one_load():
    """Two agents that need the same cold model at once start one load (C40)."""
    world = await World().holding()
    waiter_of(await world.submit(call("default/a", "qwen3:14b", crew="default/x")))
    waiter_of(await world.submit(call("default/b", "qwen3:14b", crew="default/y")))

    assert [(load.server, load.model) for load in world.effects.loads] == [("gpu-2", "qwen3:14b")]


async def test_a_load_goes_on_for_the_others_when_its_caller_goes_away():
    world = await World().holding()
    asker = waiter_of(await world.submit(call("default/a", "qwen3:14b")))
    other = waiter_of(await world.submit(call("default/b", "qwen3:14b")))

    assert await world.ledger.give_up(waiter=asker, now=world.clock())
    await world.tick()
    await world.finish_load()

    assert ticket_of(await world.look(other)).action == "join"


async def test_a_failed_load_puts_its_caller_back_in_line_and_is_not_tried_again_there_at_once():
    world = await World().holding(gpu_2=("qwen3:14b",))
    ticket_of(await world.submit(call("default/x", "qwen3:14b")))
    waiter = waiter_of(await world.submit(call("default/a", "qwen3:32b")))
    failed = world.effects.loads[-1]

    await world.ledger.load_failed(
        server=failed.server, model=failed.model, problem="The engine has no memory left.", now=world.clock()
    )
    await world.tick()

    assert isinstance(await world.look(waiter), StillWaiting)
    assert len(world.effects.loads) == 1
    world.clock.advance(world.config.load_block_s + 1)
    await world.tick()
    assert len(world.effects.loads) == 2


async def test_a_model_that_no_server_could_hold_stands_aside_at_once():
    world = await World().holding()
    await world.ledger.configure(
        servers=[record.config for record in world.ledger.replica.servers.values()],
        footprints={"huge:200b": 200_000},
        weights={},
    )

    answer = await world.submit(call("default/a", "huge:200b"))

    assert answer == Settled(ticket=None, reason="model-too-large", model="huge:200b", waited_s=0.0)


async def test_a_wait_ends_at_its_limit_with_the_model_it_waited_for():
    world = await World().holding(gpu_1=("qwen3:32b",), gpu_2=("qwen3:14b",))
    running = [ticket_of(await world.submit(call("default/a", model))) for model in ("qwen3:32b", "qwen3:14b")]
    waiter = waiter_of(await world.submit(call("default/b", "qwen3:32b", wait_limit_s=20)))
    for _ in range(21):
        world.clock.advance(1)
        for ticket in running:
            await world.ledger.renew(ticket=ticket.id)
        await world.tick()

    answer = await world.look(waiter)

    assert isinstance(answer, Settled)
    assert (answer.reason, answer.model) == ("gpu-busy", "qwen3:32b")


async def test_a_wait_that_nobody_asks_for_is_forgotten():
    world = await World().holding(gpu_1=("qwen3:32b",), gpu_2=("qwen3:14b",))
    ticket_of(await world.submit(call("default/a", "qwen3:32b")))
    waiter = waiter_of(await world.submit(call("default/b", "qwen3:32b")))
    world.clock.advance(world.config.waiter_lease_s + 1)
    await world.tick()

    with pytest.raises(TicketGone):
        await world.look(waiter)


async def test_a_caller_that_is_cut_off_while_it_waits_leaves_nothing_behind():
    world = await World().holding(gpu_1=("qwen3:14b",), gpu_2=("qwen3:8b",))
    running = ticket_of(await world.submit(call("default/a", "qwen3:14b")))
    task = asyncio.create_task(world.submit(call("default/b", "qwen3:14b"), wait_s=60))
    await asyncio.sleep(0)
    assert world.ledger.replica.waiters

    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert world.ledger.replica.waiters == {}
    await world.release(running.id)
    assert world.ledger.replica.tickets == {}


async def test_a_caller_that_is_cut_off_while_it_is_put_in_line_leaves_nothing_behind(monkeypatch):
    """The ledger has taken it in, but the answer comes too late for the caller."""
    world = await World().holding(gpu_1=("qwen3:14b",), gpu_2=("qwen3:8b",))
    ticket_of(await world.submit(call("default/a", "qwen3:14b")))
    enqueue = world.ledger.enqueue

    async def slow_enqueue(**asked):
        await enqueue(**asked)
        await asyncio.Event().wait()

    monkeypatch.setattr(world.ledger, "enqueue", slow_enqueue)
    task = asyncio.create_task(world.submit(call("default/b", "qwen3:14b"), wait_s=60))
    await asyncio.sleep(0)
    assert world.ledger.replica.waiters

    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert world.ledger.replica.waiters == {}


async def test_a_second_release_changes_nothing():
    world = await World().holding(gpu_1=("qwen3:14b",))
    ticket = ticket_of(await world.submit(call("default/a", "qwen3:14b")))
    assert await world.release(ticket.id)
    other = ticket_of(await world.submit(call("default/b", "qwen3:14b")))

    assert not await world.release(ticket.id)

    assert set(world.ledger.replica.tickets) == {other.id}


async def test_a_caller_that_leaves_while_its_claim_is_under_way_leaves_no_ticket():
    """The ledger had granted it already; nobody heard of it, and the slot was taken until its lease ran out."""
    world = await World().holding(gpu_1=("qwen3:14b",))
    commit, granted = world.ledger.commit, asyncio.Event()

    async def granted_but_not_told(**asked):
        committed = await commit(**asked)
        granted.set()
        await asyncio.Event().wait()
        return committed

    world.ledger.commit = granted_but_not_told
    asking = asyncio.ensure_future(world.submit(call("default/analyst", "qwen3:14b")))
    await granted.wait()
    assert len(world.ledger.replica.tickets) == 1
    asking.cancel()

    with pytest.raises(asyncio.CancelledError):
        await asking
    assert world.ledger.replica.tickets == {}
