"""Loads driven on a simulated engine over real HTTP, with the ledger in memory."""

import asyncio
import time

import pytest

from scheduler.core.config import SchedulerConfig
from scheduler.core.ledger import ServerConfig
from scheduler.services.loads import load_drive
from scheduler.services.probing import server_probe
from tests.fakes.engine_server import eventually, simulated_engine
from tests.fakes.fixed_resolver import FixedResolver
from tests.fakes.manual_clock import ManualClock
from tests.fakes.memory_ledger import MemoryLedger
from tests.services.world import SIZES, World, call, ticket_of, waiter_of

SHORT = SchedulerConfig(runner_lease_s=0.06, load_grace_s=0.1, load_patience=0.01, probe_fast_s=0.0, probe_slow_s=0.0)


async def on(
    engine, engine_http, *, config: SchedulerConfig | None = None, clock=time.time, kind: str = "ollama"
) -> World:
    """Make a world whose only server is this engine, probed once; its clock is the real one unless told otherwise."""
    world = World()
    world.config = config or world.config
    world.clock = clock
    world.ledger = MemoryLedger(config=world.config, clock=world.clock)
    world.parts = {"ledger": world.ledger, "effects": world.effects, "config": world.config}
    server = ServerConfig(name="gpu-1", kind=kind, endpoint=engine.url, total_mib=32768)
    await world.ledger.configure(servers=[server], footprints=SIZES, weights={})
    await probe(world, engine_http)
    return world


def probe(world: World, engine_http):
    """Probe the server."""
    return server_probe(**world.parts, engine=engine_http, resolver=FixedResolver(), now=world.clock, server="gpu-1")


def drive(world: World, engine_http):
    """Drive the last load that was started."""
    load = world.effects.loads[-1]
    return load_drive(
        **world.parts, engine=engine_http, ids=world.ids, now=world.clock, server=load.server, model=load.model
    )


async def test_a_load_ends_with_the_ticket_its_caller_waits_for(engine_http):
    async with simulated_engine() as engine:
        world = await on(engine, engine_http)
        waiter = waiter_of(await world.submit(call("default/a", "qwen3:14b")))

        assert await drive(world, engine_http)

        assert ticket_of(await world.look(waiter)).model == "qwen3:14b"
        assert engine.state()["loaded"] == ["qwen3:14b"]
        assert world.ledger.replica.servers["gpu-1"].learned.load_mib_per_s


async def test_victims_are_gone_before_the_load_begins(engine_http):
    """The engine's memory is never asked for more than it has: it would evict by itself."""
    async with simulated_engine() as engine:
        world = await on(engine, engine_http)
        first = waiter_of(await world.submit(call("default/a", "qwen3:14b")))
        await drive(world, engine_http)
        await world.release(ticket_of(await world.look(first)).id)
        second = waiter_of(await world.submit(call("default/b", "qwen3:32b")))

        await drive(world, engine_http)

        ticket = ticket_of(await world.look(second))
        assert (ticket.action, ticket.evicted) == ("evict", ("qwen3:14b",))
        state = engine.state()
        steps = [(event["event"], event["model"]) for event in state["events"] if "load" in event["event"]]
        assert steps.index(("unload", "qwen3:14b")) < steps.index(("load_start", "qwen3:32b"))
        assert (state["selfEvictions"], state["loaded"]) == (0, ["qwen3:32b"])


async def test_a_second_delivery_of_the_same_task_does_nothing(engine_http):
    """A broker that gives a task to a second worker must not start a second load (C89)."""
    async with simulated_engine() as engine:
        world = await on(engine, engine_http)
        await world.submit(call("default/a", "qwen3:14b"))

        driven = await asyncio.gather(drive(world, engine_http), drive(world, engine_http))

        assert sorted(driven) == [False, True]
        assert sum(1 for event in engine.state()["events"] if event["event"] == "load_start") == 1


async def test_a_failed_load_says_why_and_takes_no_memory(engine_http):
    async with simulated_engine() as engine:
        engine.engine.faults.switch({"load_fail": True})
        world = await on(engine, engine_http)
        waiter = waiter_of(await world.submit(call("default/a", "qwen3:32b")))

        await drive(world, engine_http)

        replica = world.ledger.replica
        assert (replica.loads, replica.tickets) == ({}, {})
        assert replica.waiters[waiter].is_waiting
        assert replica.servers["gpu-1"].learned.load_problem


async def test_a_load_that_hangs_is_cut_off_once_nobody_waits_for_it(engine_http):
    """Calls must not hold permits for ever on an engine whose load path hangs (C23)."""
    async with simulated_engine() as engine:
        engine.engine.faults.switch({"load_hang": True})
        world = await on(engine, engine_http, config=SHORT)
        waiter = waiter_of(await world.submit(call("default/a", "qwen3:32b")))
        driving = asyncio.create_task(drive(world, engine_http))
        await eventually(lambda: bool(engine.state()["loading"]))

        await world.ledger.give_up(waiter=waiter, now=world.clock())
        assert await asyncio.wait_for(driving, timeout=10)

        replica = world.ledger.replica
        assert (replica.loads, replica.tickets, replica.waiters) == ({}, {}, {})
        await probe(world, engine_http)
        assert replica.servers["gpu-1"].seen.phase == "degraded"


@pytest.mark.parametrize("breaks", [False, True], ids=["while it hangs", "when it breaks"])
async def test_a_driver_that_stood_still_leaves_the_load_to_who_took_it_over(engine_http, breaks):
    """Its process slept past the lease: failing the load would take its callers' places under the other one's hands."""
    async with simulated_engine() as engine:
        engine.engine.faults.switch({"load_hang": True})
        world = await on(engine, engine_http, config=SchedulerConfig() if breaks else SHORT, clock=ManualClock())
        waiter = waiter_of(await world.submit(call("default/a", "qwen3:32b")))
        driving = asyncio.create_task(drive(world, engine_http))
        await eventually(lambda: bool(engine.state()["loading"]))

        world.clock.advance(world.config.runner_lease_s + 1)
        assert await world.ledger.load_begin(server="gpu-1", model="qwen3:32b", runner="another")
        if breaks:
            await engine.stop_listening()
        assert not await asyncio.wait_for(driving, timeout=10)

        replica = world.ledger.replica
        assert [load.model for load in replica.loads.values()] == ["qwen3:32b"]
        assert replica.waiters[waiter].ticket in replica.tickets
        assert replica.servers["gpu-1"].learned.failures == {}
