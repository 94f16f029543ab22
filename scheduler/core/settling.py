"""When a wait is over for its caller."""

from scheduler.core.replica import Replica
from scheduler.core.types import TicketState


def is_settled(*, replica: Replica, waiter: str) -> bool:
    """Say whether a waiter has its ticket ready, stood aside, or is gone."""
    known = replica.waiters.get(waiter)
    if known is None or known.stood_aside is not None:
        return True
    ticket = None if known.ticket is None else replica.tickets.get(known.ticket)
    return ticket is not None and ticket.state is TicketState.ACTIVE
