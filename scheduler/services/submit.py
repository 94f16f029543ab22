"""A call asks for a place: at once where a warm slot is free, else it waits in line until it is settled.

House rules: the caller gets a ticket only when the copy is ready, so that the engine never has to make room by itself;
whoever stops asking is forgotten within the waiter's lease; nothing is held for a caller that is gone.
"""

import asyncio
from contextlib import suppress
from dataclasses import dataclass, replace

from scheduler.core.calls import Call
from scheduler.core.config import SchedulerConfig
from scheduler.core.granting import ticket_id
from scheduler.core.ledger import CallEnd, GrantChange, Outcome, Plan, Settled
from scheduler.core.replica import Replica
from scheduler.core.settling import is_settled
from scheduler.core.types import Ticket, TicketState, Waiter
from scheduler.ports import Clock, Effects, Ids, Ledger, LedgerUnavailable, TicketGone
from scheduler.services.cycle import apply_effects, plan_changes, run_cycle
from scheduler.services.tickets import ticket_release

LEASES_PER_LOOK = 3
"""A waiting caller shows that it is alive this many times within its lease."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StillWaiting:
    """The caller's patience ended before the wait did."""

    waiter: Waiter


async def call_submit(
    *, ledger: Ledger, effects: Effects, config: SchedulerConfig, ids: Ids, now: Clock, call: Call, wait_s: float
) -> Settled | StillWaiting:
    """Find a place for a call, waiting at most `wait_s` seconds; a call that still waits keeps its place in line.

    A cancelled caller leaves the line and gives back what it was granted.

    Raises:
        LineFull: too many calls wait already.
    """
    arrived_at = now()
    call = await _with_plan(ledger=ledger, call=call, now=arrived_at)
    waiter = call.waiter(id=ids(), now=arrived_at, default_limit_s=config.wait_limit_s)
    ticket = await _claim_at_once(ledger=ledger, effects=effects, config=config, waiter=waiter, now=arrived_at)
    if ticket is not None:
        return Settled(ticket=ticket, model=ticket.model)
    try:
        await ledger.enqueue(waiter=waiter)
        await run_cycle(ledger=ledger, effects=effects, config=config, now=now())
        return await call_wait(ledger=ledger, config=config, now=now, waiter=waiter.id, wait_s=wait_s)
    except asyncio.CancelledError:
        with suppress(LedgerUnavailable):  # it lapses by itself; what counts is that its caller is gone
            await asyncio.shield(
                call_withdraw(ledger=ledger, effects=effects, config=config, waiter=waiter.id, now=now())
            )
        raise


async def call_wait(
    *, ledger: Ledger, config: SchedulerConfig, now: Clock, waiter: str, wait_s: float
) -> Settled | StillWaiting:
    """Wait for the end of a wait, at most `wait_s` seconds.

    Raises:
        TicketGone: there is no such waiter: it was settled, given up, or nobody asked for it for too long.
    """
    deadline = now() + wait_s
    while True:
        settled = await ledger.pick_up(waiter=waiter, now=now())
        if settled is not None:
            return settled
        left_s = deadline - now()
        if left_s <= 0:
            return StillWaiting(waiter=await _known_waiter(ledger=ledger, waiter=waiter))
        look_s = min(left_s, config.waiter_lease_s / LEASES_PER_LOOK)
        if is_settled(replica=ledger.replica, waiter=waiter):
            await ledger.catch_up()  # the replica is behind what was just asked of the ledger
        await ledger.wait_until_settled(waiter=waiter, timeout_s=look_s)


async def call_give_up(
    *, ledger: Ledger, effects: Effects, config: SchedulerConfig, waiter: str, now: float, reason: str = ""
) -> bool:
    """Leave the line; a place granted meanwhile goes to who is next. False when it was over already."""
    gave_up = await ledger.give_up(waiter=waiter, now=now, reason=reason)
    if gave_up:
        await run_cycle(ledger=ledger, effects=effects, config=config, now=now)
    return gave_up


async def call_withdraw(
    *, ledger: Ledger, effects: Effects, config: SchedulerConfig, waiter: str, now: float, reason: str = ""
) -> None:
    """Leave the line for a caller that is cut off: its last question may have handed it a ticket that nobody got."""
    if await call_give_up(ledger=ledger, effects=effects, config=config, waiter=waiter, now=now, reason=reason):
        return
    left = Outcome(ok=False, end=CallEnd.CANCELLED)
    ticket = ticket_id(waiter=waiter)
    await ticket_release(ledger=ledger, effects=effects, config=config, ticket=ticket, outcome=left, now=now)


async def _claim_at_once(
    *, ledger: Ledger, effects: Effects, config: SchedulerConfig, waiter: Waiter, now: float
) -> Ticket | None:
    """Claim a free slot of a warm copy without standing in line, where nobody before it wants the slot.

    The line is planned with the newcomer at its place: whoever comes first is granted first, in the same commit.
    """
    for _ in range(config.max_commit_attempts):
        changes = plan_changes(replica=ledger.replica, config=config, now=now, newcomers=(waiter,))
        own = next((c for c in changes if isinstance(c, GrantChange) and c.ticket.call == waiter.id), None)
        if own is None or own.load is not None or own.ticket.state is not TicketState.ACTIVE:
            return None
        try:
            committed = await ledger.commit(changes=changes, now=now)
        except asyncio.CancelledError:  # it may have been granted all the same
            with suppress(LedgerUnavailable):
                await asyncio.shield(
                    ticket_release(
                        ledger=ledger,
                        effects=effects,
                        config=config,
                        ticket=own.ticket.id,
                        outcome=Outcome(ok=False, end=CallEnd.CANCELLED),
                        now=now,
                    )
                )
            raise
        await apply_effects(effects=effects, changes=changes, committed=committed)
        if committed.results[changes.index(own)] is None:
            return own.ticket
        await ledger.catch_up()
    return None


async def _with_plan(*, ledger: Ledger, call: Call, now: float) -> Call:
    """Point a call at its agent's plan in its thread; a plan that holds nothing has done its work by now.

    Only the plan's own purpose takes it: earlier calls (triage) are merely lent the place. Another agent's plan that a
    call names is none of its own.
    """
    if call.plan is None and not ledger.replica.plans:
        return call
    plan = ledger.replica.plans.get(call.plan or "")
    if plan is None or plan.agent != call.agent:
        plan = _plan_of(replica=ledger.replica, call=call)
    if plan is None or call.phase == "triage":
        return replace(call, plan=None)
    if plan.ticket is None:
        await ledger.drop_plan(plan=plan.id, now=now)
        return replace(call, plan=None)
    return replace(call, plan=plan.id)


def _plan_of(*, replica: Replica, call: Call) -> Plan | None:
    """Find the agent's plan in the call's thread; a call that names no thread means the oldest one."""
    own = [p for p in replica.plans.values() if p.agent == call.agent and call.thread in ("", p.thread)]
    return min(own, key=lambda plan: (plan.created_at, plan.id), default=None)


async def _known_waiter(*, ledger: Ledger, waiter: str) -> Waiter:
    """Read a waiter from the replica, which may be a moment behind."""
    if waiter not in ledger.replica.waiters:
        await ledger.catch_up()
    if waiter not in ledger.replica.waiters:
        raise TicketGone(waiter)
    return ledger.replica.waiters[waiter]
