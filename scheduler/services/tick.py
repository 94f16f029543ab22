"""What no event announces: leases that ran out, loads that nobody drives, waits at their limit, drains that are due."""

from scheduler.core.config import SchedulerConfig
from scheduler.ports import Clock, Effects, Ledger
from scheduler.services.cycle import run_cycle


async def tick(*, ledger: Ledger, effects: Effects, config: SchedulerConfig, now: Clock) -> int:
    """Reap, take up loads that nobody drives, and plan once. Gives the number of grants. Runs every second."""
    reaped = await ledger.reap(now=now())
    for load in reaped.undriven:
        await effects.start_load(load=load)
    return await run_cycle(ledger=ledger, effects=effects, config=config, now=now())
