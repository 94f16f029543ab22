"""A freed slot handed to a caller that leaves at that very moment: it is not lost, nobody is counted who is gone."""

import asyncio
from itertools import count

import pytest

from scheduler.core.calls import Call
from scheduler.core.config import SchedulerConfig
from scheduler.core.ledger import Outcome, Settled
from scheduler.core.types import Candidate
from scheduler.services.submit import call_submit
from scheduler.services.tickets import ticket_release
from tests.contracts.builders import World
from tests.fakes.effects import FakeEffects

OK = Outcome(ok=True)


class Callers:
    """Callers of one process on the ledger of a test."""

    def __init__(self, world: World, config: SchedulerConfig) -> None:
        self._world, self._config, numbers = world, config, count(1)
        self._ids = lambda: f"c{next(numbers)}"
        self._effects = FakeEffects()

    def calls(self, agent: str, **more: object) -> "asyncio.Task[object]":
        """Have an agent call, and wait as long as it takes."""
        call = Call(agent=agent, candidates=(Candidate(model="14b", score=60),), **more)  # type: ignore[arg-type]
        given = {"ledger": self._world.ledger, "effects": self._effects, "config": self._config, "ids": self._ids}
        return asyncio.create_task(call_submit(**given, now=self._world.clock, call=call, wait_s=60))  # type: ignore[arg-type]

    async def release(self, ticket: str) -> None:
        """Give a ticket back."""
        given = {"ledger": self._world.ledger, "effects": self._effects, "config": self._config}
        await ticket_release(**given, ticket=ticket, outcome=OK, now=self._world.clock())  # type: ignore[arg-type]

    async def granted(self) -> None:
        """Wait until the release has led to a grant, as far as this process knows."""
        for _ in range(10_000):
            if len(self._world.ledger.replica.waiting()) < 2:
                return
            await asyncio.sleep(0)
        raise AssertionError(self._world.ledger.replica.waiters)

    async def in_line(self, many: int) -> None:
        """Wait until so many stand in line, and know what they wait for."""
        for _ in range(1000):
            if sum(1 for waiter in self._world.ledger.replica.waiting() if waiter.model) == many:
                return
            await asyncio.sleep(0.001)
        raise AssertionError(self._world.ledger.replica.waiters)


def ticket_of(settled: object) -> str:
    """Give the ticket that a caller got."""
    assert isinstance(settled, Settled)
    assert settled.ticket is not None
    return settled.ticket.id


@pytest.mark.parametrize("limits", [{}, {"key": "k", "key_limit": 1}])
@pytest.mark.parametrize("turns", range(8))
async def test_a_freed_slot_whose_taker_is_cancelled_goes_to_the_next(
    world: World, config: SchedulerConfig, limits: dict[str, object], turns: int
) -> None:
    """C35: however many turns of the loop lie between the grant and the cancelled caller; with a key's cap too."""
    await world.gpu("14b", slots=9 if limits else 1)
    callers = Callers(world, config)
    first = await callers.calls("A", **limits)
    first_ticket = ticket_of(first)
    leaves = callers.calls("W1", **limits)
    await callers.in_line(1)
    stays = callers.calls("W2", **limits)
    await callers.in_line(2)

    release = asyncio.create_task(callers.release(first_ticket))
    await callers.granted()
    for _ in range(turns):
        await asyncio.sleep(0)
    leaves.cancel()
    await asyncio.gather(release, leaves, return_exceptions=True)

    if not leaves.cancelled():  # it had its place before it could leave
        await callers.release(ticket_of(leaves.result()))

    await callers.release(ticket_of(await asyncio.wait_for(stays, timeout=5)))
    assert (world.tickets, world.ledger.replica.waiters) == ({}, {})
