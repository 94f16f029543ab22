"""A-33 with a real Valkey that is stopped and started while clients call: nobody is lost, and the cap holds."""

import asyncio
import random
import time
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from providers.core.relaying import RelayRequest
from scheduler.core.calls import Call
from scheduler.core.config import SchedulerConfig
from scheduler.core.gate import FailMode
from scheduler.core.ledger import ServerConfig, ServerSeen
from scheduler.core.snapshot import Resident
from scheduler.core.types import Priority
from scheduler.ports import LedgerUnavailable
from scheduler.services.configure import ledger_back
from scheduler.services.project import Written
from scheduler.services.tick import tick
from scheduler.stores.ledger import RedisLedger
from tests.fakes.effects import FakeEffects
from tests.fakes.scripted_relay import Answer
from tests.gateway.relayed import DONE, EVENT, MODEL, Client, Gate
from tests.services.world import World, call
from tests.stores.valkey_server import ValkeyServer

CAP = 3
SERVER = ServerConfig(
    name="gpu-1",
    kind="ollama",
    endpoint="http://gpu-1",
    slots=8,
    max_concurrent=CAP,
    can_load=False,
    fail_mode=FailMode.LOCAL,
)
CONFIG = SchedulerConfig(ticket_lease_s=3.0, waiter_lease_s=3.0)
SEED = 33
LONGEST_S = 60


class Registered:
    """What is registered, as the database tells it."""

    async def servers(self) -> list[ServerConfig]:
        return [SERVER]

    async def footprints(self) -> dict[str, int]:
        return {MODEL: 10240}

    async def weights(self) -> dict[str, float]:
        return {}


class Engine:
    """An engine that takes its time for each answer, and counts how many it works on at once."""

    def __init__(self) -> None:
        self.now = self.most = self.calls = 0
        self.most_while_lost = 0
        self.is_lost: Callable[[], bool] = lambda: False
        self._chance = random.Random(SEED)

    async def open(self, *, endpoint: str, request: RelayRequest) -> Answer:
        """Begin an answer."""
        self.calls += 1
        self.now += 1
        self.most = max(self.most, self.now)
        if self.is_lost():
            self.most_while_lost = max(self.most_while_lost, self.now)
        return Slow(self, seconds=self._chance.uniform(0.005, 0.06))


class Slow(Answer):
    """An answer that is there after a while."""

    def __init__(self, engine: Engine, *, seconds: float) -> None:
        super().__init__(pieces=(EVENT, EVENT, DONE))
        self._engine, self._seconds = engine, seconds

    async def piece(self) -> bytes:
        """Give the next piece, in its time."""
        await asyncio.sleep(self._seconds / 3)
        return await super().piece()

    def close(self) -> None:
        """The engine works on it no more."""
        if not self.is_closed:
            self._engine.now -= 1
        super().close()


class RealWorld(World):
    """A process with the real ledger on a Valkey of its own, and somebody who probes its only server."""

    def __init__(self, valkey: ValkeyServer) -> None:
        super().__init__()
        self.valkey = valkey
        self.config = CONFIG
        self.clock: Any = time.time
        self.ledger: Any = RedisLedger(url=valkey.url, name="local", config=CONFIG, timeout_s=0.5)
        self.effects = FakeEffects()
        self.parts = {"ledger": self.ledger, "effects": self.effects, "config": CONFIG}

    async def look_again(self, seconds: float) -> None:
        """Look a little more often than usual."""
        await asyncio.sleep(seconds / 5)

    async def configure(self) -> None:
        """Bring what is registered into the ledger."""
        catalog: Any = Registered()
        await ledger_back(**self.parts, catalog=catalog, now=self.clock)

    async def tick(self) -> None:
        """Let lapse what nobody renews: a Valkey that is killed may have lost what it was told last."""
        while True:
            await asyncio.sleep(0.2)
            with suppress(LedgerUnavailable):
                await tick(**self.parts, now=self.clock, written=Written())

    async def probe(self) -> None:
        """See the server with the model in its memory."""
        number = await self.ledger.probe_begin(server="gpu-1", lease_s=10)
        if number is not None:
            residents = (Resident(model=MODEL, footprint_mib=10240),)
            seen = ServerSeen(phase="ready", ready=True, residents=residents, models=(MODEL,), probed_at=self.clock())
            await self.ledger.probe_end(server="gpu-1", probe=number, seen=seen)


@pytest.fixture(params=[False, True], ids=["comes back empty", "comes back with what it had"])
async def world(request, tmp_path) -> AsyncIterator[RealWorld]:
    """Give a process whose ledger is there."""
    valkey = ValkeyServer(folder=tmp_path, is_durable=request.param)
    valkey.start()
    made = RealWorld(valkey)
    await made.ledger.start()
    await made.configure()
    await made.probe()
    ticking = asyncio.create_task(made.tick())
    yield made
    ticking.cancel()
    await made.ledger.close()
    valkey.kill()


async def more_than(calls: int, engine: Engine) -> None:
    """Wait until calls go on."""
    async with asyncio.timeout(LONGEST_S):
        while engine.calls <= calls:  # noqa: ASYNC110 - nothing rings when a fake is called
            await asyncio.sleep(0.01)


async def nobody(**_: object) -> None:
    """Stand for a step of a ledger that is known to be silent."""
    raise AssertionError("nobody waits for it again")


def wanted(number: int) -> Call:
    """Make a call; each third is in the background."""
    return replace(call("a", MODEL), priority=Priority.BACKGROUND if number % 3 == 0 else Priority.INTERACTIVE)


async def test_nobody_is_lost_and_no_more_run_at_once_than_the_cap_of_one_process(world: RealWorld):
    """120 calls: 40 while the ledger is there, 40 while it is away, 40 once it is back; the first run on meanwhile."""
    engine = Engine()
    gate = Gate(world, relay=engine)
    local = gate.doors.local
    local._returning._on_back = world.configure
    engine.is_lost = lambda: local.is_on
    clients = [Client() for _ in range(120)]
    calls = []

    async def begin(numbers: range) -> None:
        for number in numbers:
            calls.append(asyncio.create_task(run(number)))
            await asyncio.sleep(0.005)

    async def run(number: int) -> None:
        async with asyncio.timeout(LONGEST_S):
            await gate.relaying(clients[number], wanted(number)).run()

    await begin(range(40))
    await more_than(3, engine)
    assert (engine.most, local.is_on) == (CAP, False)

    world.valkey.kill()
    await begin(range(40, 80))
    assert local.is_on
    await more_than(engine.calls, engine)
    assert engine.most_while_lost == CAP

    world.valkey.start()
    async with asyncio.timeout(LONGEST_S):
        while local.is_on:
            await asyncio.sleep(0.05)
            with suppress(LedgerUnavailable):
                await world.probe()
        await begin(range(80, 120))
        await asyncio.gather(*calls)

    assert [client.status for client in clients] == [200] * 120
    assert all(client.is_whole and client.body.endswith(DONE) for client in clients)
    assert engine.most_while_lost == CAP
    assert engine.most <= 2 * CAP, "what began here runs beside what the ledger places, until it ends"
    assert {dict(client.headers)["x-kubemoot-action"] for client in clients} >= {"local", "use"}
    assert (engine.now, local.state().running, gate.held.tickets()) == (0, {}, ())
    await world.ledger.catch_up()
    assert (world.ledger.replica.tickets, world.ledger.replica.waiters) == ({}, {})
    await local.close()
    await gate.held.close()


async def test_a_ledger_that_is_there_and_says_nothing_is_lost_too(world: RealWorld):
    engine = Engine()
    gate = Gate(world, relay=engine)
    world.valkey.freeze()
    client = Client()
    try:
        await gate.serve(client)
        assert dict(client.headers)["x-kubemoot-action"] == "local"
        world.ledger.commit = world.ledger.enqueue = nobody
        await gate.serve(Client())
        del world.ledger.commit, world.ledger.enqueue
    finally:
        world.valkey.thaw()
    async with asyncio.timeout(LONGEST_S):
        while gate.doors.local.is_on:  # noqa: ASYNC110 - it is looked again in its time
            await asyncio.sleep(0.01)
    placed = Client()
    await gate.serve(placed)

    assert dict(placed.headers)["x-kubemoot-action"] == "use"
    await gate.doors.local.close()
    await gate.held.close()
