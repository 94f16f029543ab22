"""Holding and giving back tickets."""

from scheduler.core.config import SchedulerConfig
from scheduler.core.ledger import Outcome
from scheduler.ports import Effects, Ledger, TicketGone
from scheduler.services.cycle import run_cycle


async def ticket_renew(*, ledger: Ledger, ticket: str) -> float:
    """Keep holding a ticket; give the seconds until it must be renewed again.

    Raises:
        TicketGone: it is not held any more.
    """
    return await ledger.renew(ticket=ticket)


async def ticket_release(
    *, ledger: Ledger, effects: Effects, config: SchedulerConfig, ticket: str, outcome: Outcome, now: float
) -> None:
    """Give a ticket back, and its place to who is next in line.

    Raises:
        TicketGone: it was given back or lapsed before; nothing has changed.
    """
    if not await ledger.release(ticket=ticket, outcome=outcome, now=now):
        raise TicketGone(ticket)
    await run_cycle(ledger=ledger, effects=effects, config=config, now=now)
