"""Tokens that are bound to an agent or a crew reach what belongs to it, and nothing else."""

from kubemoot_web.access import Principal
from scheduler.core.ledger import Plan
from scheduler.core.replica import Replica
from scheduler.core.types import Ticket, Waiter
from scheduler.ports import Ledger


async def require_own(*, principal: Principal, ledger: Ledger, id: str) -> None:
    """Let pass who may touch the ticket, waiter or plan of that id. What is not there is nobody's: the service says so.

    Raises:
        Forbidden: it belongs to somebody else.
    """
    if principal.agent is None and principal.crew is None:
        return
    found = _find(ledger.replica, id)
    if found is None:
        await ledger.catch_up()  # another process may have made it a moment ago
        found = _find(ledger.replica, id)
    if found is not None:
        principal.require_agent(agent=found.agent, crew=found.crew or None)


def _find(replica: Replica, id: str) -> Ticket | Waiter | Plan | None:
    return replica.tickets.get(id) or replica.waiters.get(id) or replica.plans.get(id)
