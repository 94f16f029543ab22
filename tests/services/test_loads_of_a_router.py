"""Loads driven on a simulated router of llama.cpp over real HTTP: it answers when a load begins, and tells no sizes."""

from tests.fakes.engine_server import simulated_engine
from tests.services.test_loads import drive, on, probe
from tests.services.world import call, ticket_of, waiter_of


async def test_models_come_and_go_as_they_were_granted(engine_http):
    async with simulated_engine(kind="llamacpp") as engine:
        world = await on(engine, engine_http, kind="llamacpp")
        first = waiter_of(await world.submit(call("default/a", "qwen3:14b")))
        assert await drive(world, engine_http)
        await world.release(ticket_of(await world.look(first)).id)

        second = waiter_of(await world.submit(call("default/b", "qwen3:32b")))
        assert await drive(world, engine_http)

        ticket = ticket_of(await world.look(second))
        assert (ticket.action, ticket.evicted) == ("evict", ("qwen3:14b",))
        assert engine.state()["loaded"] == ["qwen3:32b"]
        assert world.ledger.replica.servers["gpu-1"].learned.load_mib_per_s


async def test_what_is_loaded_takes_what_its_model_is_said_to_take(engine_http):
    """The engine tells no sizes: without what is declared nobody would know whether another model fits beside it."""
    async with simulated_engine(kind="llamacpp") as engine:
        world = await on(engine, engine_http, kind="llamacpp")
        waiter = waiter_of(await world.submit(call("default/a", "qwen3:14b")))
        await drive(world, engine_http)
        await world.release(ticket_of(await world.look(waiter)).id)
        await probe(world, engine_http)

        snapshot = world.ledger.replica.snapshot(now=world.clock())
        server = snapshot.servers["gpu-1"]
        assert [(copy.model, copy.footprint_mib) for copy in server.residents] == [("qwen3:14b", None)]
        assert snapshot.free_mib(server) == server.usable_mib - 10240

        beside = waiter_of(await world.submit(call("default/b", "qwen3:8b")))
        await drive(world, engine_http)
        assert ticket_of(await world.look(beside)).evicted == ()
        assert engine.state()["loaded"] == ["qwen3:14b", "qwen3:8b"]


async def test_a_load_that_the_router_gave_up_is_told_and_rests(engine_http):
    async with simulated_engine(kind="llamacpp") as engine:
        engine.engine.faults.switch({"load_fail": True})
        world = await on(engine, engine_http, kind="llamacpp")
        await world.submit(call("default/a", "qwen3:14b"))

        await drive(world, engine_http)

        learned = world.ledger.replica.servers["gpu-1"].learned
        assert "qwen3:14b" in learned.blocked_until
        assert engine.state()["loaded"] == []
