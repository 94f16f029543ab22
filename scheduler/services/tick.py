"""What no event announces: leases that ran out, loads that nobody drives, waits at their limit, drains that are due."""

from dataclasses import dataclass

from scheduler.core.config import SchedulerConfig
from scheduler.ports import Clock, Effects, Ledger
from scheduler.services.cycle import run_cycle


@dataclass(slots=True, kw_only=True)
class Pulse:
    """What a process remembers from one tick to the next: the version up to which it had the journal written down."""

    version: int = -1


async def tick(*, ledger: Ledger, effects: Effects, config: SchedulerConfig, now: Clock, pulse: Pulse) -> int:
    """Reap, take up loads that nobody drives, plan once, and have history written where there is something new.

    Gives the number of grants. Runs every second.
    """
    reaped = await ledger.reap(now=now())
    for load in reaped.undriven:
        await effects.start_load(load=load)
    granted = await run_cycle(ledger=ledger, effects=effects, config=config, now=now())
    version = ledger.replica.version
    if version != pulse.version:
        await effects.project()
        pulse.version = version
    return granted
