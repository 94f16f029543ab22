"""One planning cycle on the living ledger: snapshot, plan, commit, effects."""

from collections.abc import Collection, Sequence
from dataclasses import replace

from scheduler.core import cycle
from scheduler.core.config import SchedulerConfig
from scheduler.core.ledger import Change, Committed, GrantChange
from scheduler.core.newcomer import grant_alone
from scheduler.core.placement.held import HeldPlace, useless_plans
from scheduler.core.replica import Replica
from scheduler.core.types import Waiter
from scheduler.ports import Effects, Ledger


async def run_cycle(*, ledger: Ledger, effects: Effects, config: SchedulerConfig, now: float) -> int:
    """Plan for everybody who waits and commit it; plan again what others took first. Gives the number of grants."""
    granted = 0
    await _drop_useless_plans(ledger=ledger, now=now)
    for _ in range(config.max_commit_attempts):
        changes = plan_changes(replica=ledger.replica, config=config, now=now)
        if not changes:
            return granted
        committed = await ledger.commit(changes=changes, now=now)
        granted += await apply_effects(effects=effects, changes=changes, committed=committed)
        if not committed.refused:
            return granted
        await ledger.catch_up()  # a refused change rested on facts that have changed
    await effects.wake()
    return granted


def plan_changes(
    *, replica: Replica, config: SchedulerConfig, now: float, newcomers: Sequence[Waiter] = ()
) -> tuple[Change, ...]:
    """Plan on this process's replica, `newcomers` (not in the ledger yet) taking their turn behind older waiters.

    What a newcomer is granted is handed out at once: the ledger knows no waiter of its name.
    """
    if not replica.waiters and not newcomers and not replica.drains:
        return ()
    snapshot = replica.snapshot(now=now)
    if len(newcomers) == 1 and not replica.waiters and not replica.drains and newcomers[0].plan is None:
        alone = grant_alone(snapshot=snapshot, waiter=newcomers[0])
        if alone is not None:
            return (alone,)
    with replica.line.joined_by(newcomers) as line:
        changes, _ = cycle.plan(
            snapshot=snapshot,
            waiters=line,
            held=held_places(replica=replica),
            config=config,
            is_weighted=bool(replica.weights),
        )
    new = {waiter.id for waiter in newcomers}
    return tuple(_handed_out(change, new) for change in changes) if new else changes


def _handed_out(change: Change, new: Collection[str]) -> Change:
    if isinstance(change, GrantChange) and change.ticket.waiter in new:
        return replace(change, ticket=replace(change.ticket, waiter=None))
    return change


async def _drop_useless_plans(*, ledger: Ledger, now: float) -> None:
    """Give back the held places that are no good any more for the calls they were held for."""
    replica = ledger.replica
    if not replica.waiters or not replica.plans:
        return
    held = held_places(replica=replica)
    if not held:
        return
    snapshot = replica.snapshot(now=now)
    own_calls = [
        waiter for agent in {place.ticket.agent for place in held.values()} for waiter in replica.line.of_agent(agent)
    ]
    useless = useless_plans(snapshot=snapshot, waiters=own_calls, held=held)
    for plan in useless:
        await ledger.drop_plan(plan=plan, now=now)
    if useless:
        await ledger.catch_up()


def held_places(*, replica: Replica) -> dict[str, HeldPlace]:
    """Map the plans that hold a place to it."""
    return {
        plan.id: HeldPlace(ticket=replica.tickets[plan.ticket], trace=plan.trace)
        for plan in replica.plans.values()
        if plan.ticket is not None and plan.ticket in replica.tickets
    }


async def apply_effects(*, effects: Effects, changes: Sequence[Change], committed: Committed) -> int:
    """Start the loads that were granted; give the number of grants."""
    granted = 0
    for change, refusal in zip(changes, committed.results, strict=True):
        if refusal is None and isinstance(change, GrantChange):
            granted += 1
            if change.load is not None:
                await effects.start_load(load=change.load)
    return granted
