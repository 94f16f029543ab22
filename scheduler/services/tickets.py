"""Holding and giving back tickets."""

from scheduler.core.config import SchedulerConfig
from scheduler.core.ledger import Outcome
from scheduler.ports import Effects, Ledger
from scheduler.services.cycle import run_cycle


async def ticket_renew(*, ledger: Ledger, ticket: str, progress_at: float | None = None) -> float:
    """Keep holding a ticket; give the seconds until it must be renewed again.

    `progress_at` is when the engine sent something last, where the caller can tell.

    Raises:
        TicketGone: it is not held any more.
    """
    return await ledger.renew(ticket=ticket, progress_at=progress_at)


async def ticket_release(
    *, ledger: Ledger, effects: Effects, config: SchedulerConfig, ticket: str, outcome: Outcome, now: float
) -> bool:
    """Give a ticket back, and its place to who is next in line. False, and nothing changed, when it is gone already."""
    released = await ledger.release(ticket=ticket, outcome=outcome, now=now)
    if released:
        await run_cycle(ledger=ledger, effects=effects, config=config, now=now)
    return released
