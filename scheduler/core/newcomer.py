"""A newcomer whom nobody precedes: its place without a pass over the line."""

from scheduler.core.decisions import Use
from scheduler.core.explain import trace_json
from scheduler.core.granting import ticket_for
from scheduler.core.ledger import GrantChange
from scheduler.core.placement.decide import place_now
from scheduler.core.snapshot import ClusterSnapshot
from scheduler.core.types import Waiter


def grant_alone(*, snapshot: ClusterSnapshot, waiter: Waiter) -> GrantChange | None:
    """Give a newcomer a free slot of a warm copy; None where it would get none, and the whole line must be planned.

    It says what `cycle.plan` would where nobody waits, nothing drains and the newcomer has no held place. There nobody
    is asked after it, so that the grant need not be folded in; and the ticket is the caller's at once.
    """
    if snapshot.room_of_key(waiter) == 0:
        return None
    decision = place_now(request=waiter.request(), snapshot=snapshot)
    if not isinstance(decision, Use):
        return None
    ticket, _ = ticket_for(waiter=waiter, decision=decision, snapshot=snapshot, is_in_line=False)
    return GrantChange(ticket=ticket, trace=trace_json(decision))
