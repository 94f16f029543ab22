"""A-33: calls come, end and leave, the ledger comes and goes, in any order: nobody is lost, no place given twice."""

import asyncio
import random
from dataclasses import replace

import pytest

from scheduler.core.admission.local import LocalState
from scheduler.core.types import Priority
from tests.services.lost import MODEL, LostWorld, lost_world, settle
from tests.services.world import call

CAP = 3
STEPS = ("asks", "asks", "asks", "ends", "ends", "lose", "back", "leaves", "settle")


class Play:
    """A world in which things happen by chance."""

    def __init__(self, world: LostWorld, seed: int) -> None:
        self.world = world
        self.chance = random.Random(seed)
        self.running: list[str] = []
        self.tasks: list[asyncio.Task[None]] = []
        self.given_here = 0

    async def step(self) -> None:
        """Let something happen."""
        await getattr(self, self.chance.choice(STEPS))()
        self.world.clock.advance(0.01)

    async def asks(self) -> None:
        """A call comes."""
        self.tasks.append(asyncio.create_task(self._runs(f"c{len(self.tasks)}")))

    async def ends(self) -> None:
        """A call that runs ends."""
        if self.running:
            await self.world.ends(self.running.pop(self.chance.randrange(len(self.running))))

    async def leaves(self) -> None:
        """A caller leaves, wherever it is, while the ledger can be told, or somebody knows that it cannot.

        Else what the ledger holds for it lapses with its lease, and here no time passes.
        """
        if self.tasks and self.world.ledger.is_away == self.world.doors.local.is_on:
            self.chance.choice(self.tasks).cancel()
            await settle()

    async def lose(self) -> None:
        """The ledger goes away."""
        if not self.world.ledger.is_away:
            self.world.ledger.lose()

    async def back(self) -> None:
        """The ledger comes back."""
        self.world.ledger.come_back()

    async def settle(self) -> None:
        """Everybody does what they can."""
        await settle()

    async def finish(self) -> None:
        """Let the ledger be there, and every call end."""
        self.world.ledger.come_back()
        for _ in range(len(self.tasks) * 4):
            await settle()
            await self.ends()
        await settle()

    async def _runs(self, id: str) -> None:
        background = self.chance.random() < 0.4
        wanted = replace(call("a", MODEL), priority=Priority.BACKGROUND if background else Priority.INTERACTIVE)
        ticket = await self.world.runs(id, wanted, wait_s=10**6)
        self.running.append(ticket)
        if ticket.startswith("local") and self.world.doors.local.is_on:
            self.given_here += 1
            assert len(self.running) <= CAP


@pytest.mark.parametrize("is_far", [False, True], ids=["near", "far"])
@pytest.mark.parametrize("seed", range(25))
async def test_nobody_is_lost_and_no_place_is_given_twice(seed, is_far):
    """A far ledger may have carried out what it did not answer any more."""
    world = await lost_world(slots=8, max_concurrent=CAP, interactive_reserve=1)
    world.ledger.is_far = is_far
    play = Play(world, seed)

    for _ in range(200):
        await play.step()
    await play.finish()

    assert [task for task in play.tasks if not task.done()] == []
    assert [str(task.exception()) for task in play.tasks if not task.cancelled() and task.exception()] == []
    assert play.given_here > 0
    assert play.running == []
    assert world.doors.local.state() == LocalState(is_on=False, servers=(), running={}, waiting=0)
    assert (world.ledger.replica.tickets, world.ledger.replica.waiters) == ({}, {})
    await world.doors.held.close()
