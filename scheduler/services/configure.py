"""Brings what operators registered into the ledger."""

from scheduler.core.config import SchedulerConfig
from scheduler.ports import Catalog, Clock, Effects, Ledger
from scheduler.services.cycle import run_cycle


async def ledger_configure(
    *, ledger: Ledger, catalog: Catalog, effects: Effects, config: SchedulerConfig, now: float
) -> bool:
    """Make the ledger know exactly the registered servers, footprints and crews' weights; say whether that changed it.

    Idempotent: it runs after each change of a resource and again from time to time, so that a lost message or an
    emptied ledger costs seconds and nothing else.
    """
    changed = await ledger.configure(
        servers=await catalog.servers(), footprints=await catalog.footprints(), weights=await catalog.weights()
    )
    if changed:
        await run_cycle(ledger=ledger, effects=effects, config=config, now=now)
    return changed


async def ledger_back(
    *, ledger: Ledger, catalog: Catalog, effects: Effects, config: SchedulerConfig, now: Clock
) -> None:
    """Make a ledger that is back, and may have begun anew, know what is registered, and plan for whoever waits."""
    await ledger_configure(ledger=ledger, catalog=catalog, effects=effects, config=config, now=now())
    await run_cycle(ledger=ledger, effects=effects, config=config, now=now())
