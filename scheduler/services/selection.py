"""Agents were selected: publish what they will need, place them, hold the places (scheduling rules, section 6)."""

from collections.abc import Sequence

from scheduler.core.calls import DEFAULT_PHASE, AgentProfile, Call
from scheduler.core.config import SchedulerConfig
from scheduler.core.decisions import Decision
from scheduler.core.ledger import GrantChange, Intent, Plan
from scheduler.core.selection import Planned, plan_selection
from scheduler.core.types import Waiter
from scheduler.ports import Effects, Ids, Ledger
from scheduler.services.cycle import apply_effects, run_cycle


async def agents_select(
    *,
    ledger: Ledger,
    effects: Effects,
    config: SchedulerConfig,
    ids: Ids,
    agents: Sequence[AgentProfile],
    thread: str,
    prompt_tokens: int | None,
    now: float,
) -> tuple[Planned, ...]:
    """Plan for selected agents, in the order given; loads start at once, while the agents triage.

    1. All intents are published first, so that none of the models they will need is unloaded for another.
    2. Whoever waits already is served before them.
    3. They are placed one after another, those with the fewest places first; a lost race is planned again.
    """
    selected = [
        (
            Plan(id=ids(), agent=agent.name, thread=thread, crew=agent.crew, created_at=now),
            _caller(agent, thread, prompt_tokens, now, config),
        )
        for agent in agents
    ]
    await ledger.publish_intents(
        intents=[_intent(plan=plan, waiter=waiter, now=now) for plan, waiter in selected],
        plans=[plan for plan, _ in selected],
    )
    await run_cycle(ledger=ledger, effects=effects, config=config, now=now)
    decisions: dict[str, Decision] = {}
    held: dict[str, GrantChange] = {}
    for _ in range(config.max_commit_attempts):
        missing = [(plan, waiter) for plan, waiter in selected if plan.id not in held]
        grants, decided = plan_selection(snapshot=ledger.replica.snapshot(now=now), selected=missing)
        decisions |= decided
        if not grants:
            break
        committed = await ledger.commit(changes=grants, now=now)
        await apply_effects(effects=effects, changes=grants, committed=committed)
        held |= _accepted(grants=grants, results=committed.results)
        if not committed.refused:
            break
        await ledger.catch_up()
    return tuple(_planned(plan=plan, decision=decisions[plan.id], grant=held.get(plan.id)) for plan, _ in selected)


async def plan_drop(*, ledger: Ledger, effects: Effects, config: SchedulerConfig, plan: str, now: float) -> bool:
    """Give back what was held for a selected agent that stood aside, failed, or whose discussion ended."""
    dropped = await ledger.drop_plan(plan=plan, now=now)
    if dropped:
        await run_cycle(ledger=ledger, effects=effects, config=config, now=now)
    return dropped


def _caller(agent: AgentProfile, thread: str, prompt_tokens: int | None, now: float, config: SchedulerConfig) -> Waiter:
    """Describe the call that the agent will make."""
    call = Call(
        agent=agent.name,
        candidates=agent.candidates[DEFAULT_PHASE],
        tolerance=agent.tolerance,
        crew=agent.crew,
        thread=thread,
        prompt_tokens=prompt_tokens,
    )
    return call.waiter(id=f"{agent.name}#{thread}", now=now, default_limit_s=config.wait_limit_s)


def _intent(*, plan: Plan, waiter: Waiter, now: float) -> Intent:
    models = tuple(candidate.model for candidate in waiter.request().acceptable)
    return Intent(agent=plan.agent, thread=plan.thread, models=models, at=now)


def _planned(*, plan: Plan, decision: Decision, grant: GrantChange | None) -> Planned:
    if grant is None:
        return Planned(plan=plan, decision=decision, ticket=None)
    return Planned(plan=grant.plan or plan, decision=decision, ticket=grant.ticket)


def _accepted(*, grants: Sequence[GrantChange], results: Sequence[object]) -> dict[str, GrantChange]:
    return {
        grant.plan.id: grant
        for grant, refusal in zip(grants, results, strict=True)
        if refusal is None and grant.plan is not None
    }
