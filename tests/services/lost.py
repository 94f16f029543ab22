"""A world whose ledger can be lost, and calls that ask for places in it."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from scheduler.core.calls import Call
from scheduler.core.gate import FailMode
from scheduler.core.ledger import CallEnd, Outcome, Settled
from scheduler.services.held import Progress
from scheduler.services.placing import Doors, give_back, place
from tests.fakes.losable_ledger import LosableLedger
from tests.fakes.scripted_relay import ScriptedRelay
from tests.services.world import World, call, doors_of

MODEL = "qwen3:14b"
WELL = Outcome(ok=True, end=CallEnd.OK)


class LostWorld(World):
    """One server that holds the model, goes on without the ledger, and takes two calls at once."""

    ledger: LosableLedger

    def __init__(self) -> None:
        super().__init__()
        self.ledger = LosableLedger(config=self.config, clock=self.clock)
        self.parts = {"ledger": self.ledger, "effects": self.effects, "config": self.config}
        self.may_look = asyncio.Event()
        self.may_look.set()
        self.doors: Doors = doors_of(self, ScriptedRelay())

    async def look_again(self, seconds: float) -> None:
        """Look as soon as a test lets it."""
        await asyncio.sleep(0)
        await self.may_look.wait()

    def asks(self, id: str, wanted: Call | None = None, *, wait_s: float = 60) -> "asyncio.Task[Settled]":
        """Let a call ask for a place."""
        return asyncio.create_task(place(doors=self.doors, call=wanted or call("a", MODEL), id=id, wait_s=wait_s))

    async def runs(self, id: str, wanted: Call | None = None, *, wait_s: float = 0) -> str:
        """Let a call have its place, and hold it; give its ticket."""
        return self.hold(await place(doors=self.doors, call=wanted or call("a", MODEL), id=id, wait_s=wait_s))

    def hold(self, settled: Settled, on_lapse: Callable[[], None] = lambda: None) -> str:
        """Hold a place the way the attempt loop does; give its ticket."""
        ticket = settled.ticket
        assert ticket is not None
        if self.doors.local.record_of(ticket=ticket.id) is None:
            goes_on = self.ledger.replica.servers[ticket.server].config.fail_mode is FailMode.LOCAL
            progress = Progress(at=self.clock(), is_told=True)
            self.doors.held.hold(ticket=ticket, progress=progress, on_lapse=on_lapse, goes_on=goes_on)
        return ticket.id

    async def ends(self, ticket: str) -> None:
        """Let a call end."""
        self.doors.held.let_go(ticket=ticket)
        self.doors.local.serve()
        await give_back(doors=self.doors, ticket=ticket, outcome=WELL)

    async def is_back(self) -> None:
        """Let the ledger come back, and wait until it is noticed."""
        self.ledger.come_back()
        while self.doors.local.is_on:  # noqa: ASYNC110 - nothing rings when it is noticed
            await asyncio.sleep(0)


async def lost_world(*, fail_mode: FailMode = FailMode.LOCAL, **config: Any) -> LostWorld:
    """Make such a world; its ledger is there until a test loses it."""
    world = LostWorld()
    await world.holding(gpu_1=(MODEL,))
    given = {"slots": 2, "can_load": False, "fail_mode": fail_mode} | config
    record = world.ledger.replica.servers["gpu-1"]
    await world.ledger.configure(servers=[replace(record.config, **given)], footprints={}, weights={})
    return world


async def settle() -> None:
    """Let everybody do what they can do now."""
    for _ in range(20):
        await asyncio.sleep(0)
