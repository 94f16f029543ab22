"""Tickets held for calls under way."""

import asyncio
from dataclasses import replace

import pytest

from scheduler.core.config import SchedulerConfig
from scheduler.core.ledger import Outcome
from scheduler.services.held import HeldTickets, Progress
from tests.services.world import World, call, ticket_of

MODEL = "qwen3:14b"


class Held:
    """A ticket of a world whose leases are a few thousandths of a second, so that renewing is seen."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.tickets = HeldTickets(ledger=world.ledger, config=SchedulerConfig(ticket_lease_s=0.03))
        self.renewed: list[tuple[str, float | None]] = []
        self.seen = asyncio.Event()
        real = world.ledger.renew

        async def renew(*, ticket: str, progress_at: float | None = None) -> float:
            self.renewed.append((ticket, progress_at))
            self.seen.set()
            return await real(ticket=ticket, progress_at=progress_at)

        world.ledger.renew = renew  # type: ignore[method-assign]


@pytest.fixture
async def held():
    found = Held(await World().holding(gpu_1=(MODEL,)))
    yield found
    await found.tickets.close()


async def test_what_is_held_is_renewed_with_its_progress_and_what_is_let_go_is_not(held):
    ticket = ticket_of(await held.world.submit(call("a", MODEL)))
    progress = Progress(at=1000.0, is_told=True)
    held.tickets.hold(ticket=ticket, progress=progress, on_lapse=lambda: None, goes_on=False)
    await asyncio.wait_for(held.seen.wait(), 5)
    progress.at = 1005.0
    held.seen.clear()
    await asyncio.wait_for(held.seen.wait(), 5)
    held.tickets.let_go(ticket=ticket.id)
    count = len(held.renewed)
    held.seen.clear()
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(held.seen.wait(), 0.1)

    assert held.renewed[0] == (ticket.id, 1000.0)
    assert held.renewed[count - 1] == (ticket.id, 1005.0)


async def test_whose_ticket_was_taken_back_is_told_once(held):
    ticket = ticket_of(await held.world.submit(call("a", MODEL)))
    lapsed = asyncio.Event()
    held.tickets.hold(ticket=ticket, progress=Progress(at=0.0, is_told=False), on_lapse=lapsed.set, goes_on=False)
    await held.world.ledger.release(ticket=ticket.id, outcome=Outcome(ok=True), now=held.world.clock())

    await asyncio.wait_for(lapsed.wait(), 5)

    assert set(held.renewed) == {(ticket.id, None)}, "an answer that comes whole has no progress to tell of"


async def test_a_ticket_that_cannot_be_renewed_ends_the_renewing_of_no_other(held, caplog):
    other = ticket_of(await held.world.submit(call("a", MODEL)))
    odd = replace(other, id="odd")
    real = held.world.ledger.renew

    async def renew(*, ticket: str, progress_at: float | None = None) -> float:
        if ticket == odd.id:
            raise ValueError("an answer that nobody understands")
        return await real(ticket=ticket, progress_at=progress_at)

    held.world.ledger.renew = renew
    for ticket in (odd, other):
        held.tickets.hold(ticket=ticket, progress=Progress(at=0.0, is_told=False), on_lapse=lambda: None, goes_on=False)
    for _ in range(2):
        held.seen.clear()
        await asyncio.wait_for(held.seen.wait(), 5)

    assert set(held.renewed) == {(other.id, None)}
    assert f"the ticket {odd.id} was not renewed" in caplog.text
