"""What a granted call holds: its ticket, and the load that begins with it."""

from scheduler.core.decisions import Evict, Grant, Load, Use
from scheduler.core.snapshot import ClusterSnapshot
from scheduler.core.types import LoadUnderWay, Ticket, TicketState, Waiter


def ticket_id(*, waiter: str) -> str:
    """Name the ticket that a waiter is granted."""
    return f"t-{waiter}"


def ticket_for(
    *, waiter: Waiter, decision: Grant, snapshot: ClusterSnapshot, is_in_line: bool = True
) -> tuple[Ticket, LoadUnderWay | None]:
    """Make the ticket, and the load that begins with it, that a grant gives a waiter.

    The ticket's id comes from the waiter's: nobody knows it before it is handed out, and a waiter is served once.
    Who is not in line gets it handed out at once.
    """
    now = snapshot.now
    server = snapshot.servers[decision.server]
    copy = server.copy_name(decision.model)
    footprint = snapshot.footprint(server=server, model=decision.model)
    evicts = decision.evicts if isinstance(decision, Evict) else ()
    ticket = Ticket(
        id=ticket_id(waiter=waiter.id),
        server=decision.server,
        agent=waiter.agent,
        model=copy,
        asked="" if copy == decision.model else decision.model,
        state=TicketState.ACTIVE if isinstance(decision, Use) else TicketState.LOADING,
        started_at=now,
        footprint_mib=footprint,
        priority=waiter.priority,
        crew=waiter.crew,
        thread=waiter.thread,
        phase=waiter.phase,
        purpose=waiter.purpose,
        action=decision.action,
        evicted=evicts,
        arrived_at=waiter.arrived_at,
        granted_at=now,
        call=waiter.id,
        waiter=waiter.id if is_in_line else None,
        plan=None,
        key=waiter.key,
        key_limit=waiter.key_limit,
    )
    if not isinstance(decision, Load | Evict):
        return ticket, None
    load = LoadUnderWay(
        server=decision.server,
        model=decision.model,
        footprint_mib=decision.footprint_mib,
        started_at=now,
        evicts=evicts,
    )
    return ticket, load
