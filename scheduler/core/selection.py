"""Placing agents the moment they are selected, before they call (scheduling rules, section 6)."""

from collections.abc import Sequence
from dataclasses import dataclass

from scheduler.core.decisions import Decision, Evict, Join, Load, Use
from scheduler.core.explain import trace_json
from scheduler.core.granting import ticket_for
from scheduler.core.ledger import GrantChange, Plan
from scheduler.core.placement import fit
from scheduler.core.placement.decide import decide
from scheduler.core.snapshot import ClusterSnapshot
from scheduler.core.types import Ticket, Waiter


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """What came of planning for one agent. `ticket` None: nothing could be held, `decision` says why."""

    plan: Plan
    decision: Decision
    ticket: Ticket | None


def plan_selection(
    *, snapshot: ClusterSnapshot, selected: Sequence[tuple[Plan, Waiter]]
) -> tuple[tuple[GrantChange, ...], dict[str, Decision]]:
    """Place selected agents one after another, those with the fewest places first.

    Each is described by its (still empty) plan and by the call it will make, as a waiter. Every intent is in the
    snapshot already, so that agents sharing a candidate converge on one copy. An agent that would have to wait gets no
    ticket: its intent stands. Gives the grants, and the decision by plan id.
    """
    grants: list[GrantChange] = []
    decisions: dict[str, Decision] = {}
    snapshot = snapshot.without_trials()
    ordered = sorted(selected, key=lambda pair: (places(snapshot=snapshot, waiter=pair[1]), pair[1].agent, pair[0].id))
    for held, waiter in ordered:
        decision = decide(request=waiter.request(), snapshot=snapshot)
        decisions[held.id] = decision
        if not isinstance(decision, Use | Join | Load | Evict):
            continue
        ticket, load = ticket_for(waiter=waiter, decision=decision, snapshot=snapshot)
        ticket = ticket.for_plan(plan=held.id)
        trace = trace_json(decision, planned_at=snapshot.now)
        grants.append(GrantChange(ticket=ticket, load=load, plan=held.with_ticket(ticket.id, trace=trace)))
        snapshot = snapshot.with_ticket(ticket, load=load)
    return tuple(grants), decisions


def places(*, snapshot: ClusterSnapshot, waiter: Waiter) -> int:
    """Count the servers and models where the agent could run."""
    return sum(
        1
        for candidate in waiter.request().acceptable
        for server in snapshot.servers.values()
        if server.is_open and fit.is_place(snapshot=snapshot, server=server, candidate=candidate)
    )
