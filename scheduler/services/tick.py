"""What no event announces: leases that ran out, loads that nobody drives, waits at their limit, drains that are due,
rests that are over, engines that fell silent.
"""

from scheduler.core.config import SchedulerConfig
from scheduler.ports import Clock, Effects, Ledger
from scheduler.services.admission import engines_watch
from scheduler.services.cycle import run_cycle
from scheduler.services.project import Written


async def tick(*, ledger: Ledger, effects: Effects, config: SchedulerConfig, now: Clock, written: Written) -> int:
    """Reap, take up loads that nobody drives, look for silent engines, plan once, have history written if there is any.

    History is asked for until it is written: a message may get lost, a database be busy. Gives the number of grants.
    Runs every second.
    """
    reaped = await ledger.reap(now=now())
    for load in reaped.undriven:
        await effects.start_load(load=load)
    await engines_watch(ledger=ledger, config=config, now=now())
    granted = await run_cycle(ledger=ledger, effects=effects, config=config, now=now())
    if ledger.replica.version != written.version:
        await effects.project()
    return granted
