"""Drives a load that the ledger granted: victims out, model in, each step as the engine confirms it."""

import asyncio
from contextlib import suppress

from providers.core.footprint import accelerator_percent
from providers.core.types import EngineKind, LoadedCopy
from providers.ports import EngineApi
from providers.services.loading import LoadFailed, LoadLimits, LoadResult, load_model
from scheduler.core.config import SchedulerConfig
from scheduler.core.ledger import ServerRecord
from scheduler.core.snapshot import DEFAULT_LOAD_MIB_PER_S, Resident
from scheduler.core.types import LoadUnderWay
from scheduler.ports import Clock, Effects, Ids, Ledger
from scheduler.services.cycle import run_cycle

RENEWALS_PER_LEASE = 3


class LoadAbandoned(Exception):
    """Nobody waits for the load any more, and it has long outlived its estimate."""


class LoadTakenOver(Exception):
    """The load is gone, or somebody else drives it now: this driver stops and has nothing more to say of it."""


async def load_drive(
    *,
    ledger: Ledger,
    effects: Effects,
    engine: EngineApi,
    config: SchedulerConfig,
    ids: Ids,
    now: Clock,
    server: str,
    model: str,
) -> bool:
    """Drive one load to its end; False when it is gone, or driven by somebody else.

    The lease on driving it is renewed meanwhile: a dead driver's load is taken up again, a second delivery of the same
    task does nothing. A driver that stood still for too long leaves the load to who took it over.
    """
    runner = ids()
    load = await ledger.load_begin(server=server, model=model, runner=runner)
    if load is None:
        return False
    record = ledger.replica.servers.get(server)
    if record is None:
        await ledger.load_failed(server=server, model=model, problem=f"{server} is not registered any more.", now=now())
        return False
    try:
        result = await _watched(
            ledger=ledger, engine=engine, config=config, now=now, load=load, record=record, runner=runner
        )
    except LoadTakenOver:
        return False
    except (LoadFailed, LoadAbandoned) as failure:
        problem = failure.detail if isinstance(failure, LoadFailed) else str(failure)
        if not await ledger.load_renew(server=server, model=model, runner=runner):
            return False  # what went wrong here says nothing about the load that somebody else drives
        await ledger.load_failed(server=server, model=model, problem=problem, now=now())
    else:
        resident = resident_of(copy=result.copy, model=model)
        took_s = 0.0 if result.was_listed else result.load_s
        await ledger.load_done(server=server, model=model, resident=resident, took_s=took_s, now=now())
    await run_cycle(ledger=ledger, effects=effects, config=config, now=now())
    return True


def resident_of(*, copy: LoadedCopy, model: str | None = None) -> Resident:
    """Write an observed copy the way the ledger holds it."""
    return Resident(
        model=model or copy.model,
        footprint_mib=copy.footprint_mib,
        context_length=copy.context_length,
        spilling=copy.is_spilling,
        aliases=tuple(name for name in (copy.model, *copy.aliases) if name != (model or copy.model)),
        accelerator_percent=accelerator_percent(copy) if copy.is_spilling else None,
    )


class _Report:
    """Tells the ledger what the engine confirmed."""

    def __init__(self, *, ledger: Ledger, load: LoadUnderWay) -> None:
        self.ledger = ledger
        self.load = load

    async def victim_gone(self, *, model: str) -> None:
        """Write down a confirmed unload."""
        await self.ledger.victim_gone(server=self.load.server, model=self.load.model, victim=model)


async def _watched(
    *,
    ledger: Ledger,
    engine: EngineApi,
    config: SchedulerConfig,
    now: Clock,
    load: LoadUnderWay,
    record: ServerRecord,
    runner: str,
) -> LoadResult:
    """Load while renewing the lease; stop at once when the lease is lost or nobody waits for an overdue load."""
    work = asyncio.create_task(
        load_model(
            engine=engine,
            kind=EngineKind(record.config.kind),
            endpoint=record.config.endpoint,
            secret=record.config.secret,
            model=load.model,
            victims=load.evicts,
            context_length=record.config.context_length,
            report=_Report(ledger=ledger, load=load),
            limits=LoadLimits(load_s=config.load_limit_s),
            now=now(),
        )
    )
    try:
        while True:
            done, _ = await asyncio.wait({work}, timeout=config.runner_lease_s / RENEWALS_PER_LEASE)
            if done:
                return work.result()
            if not await ledger.load_renew(server=load.server, model=load.model, runner=runner):
                raise LoadTakenOver
            if is_abandoned(ledger=ledger, load=load, config=config, now=now()):
                raise LoadAbandoned(
                    f"The load of {load.model} on {load.server} did not finish, and nobody waits for it."
                )
    finally:
        work.cancel()
        with suppress(asyncio.CancelledError, LoadFailed):
            await work


def is_abandoned(*, ledger: Ledger, load: LoadUnderWay, config: SchedulerConfig, now: float) -> bool:
    """Say whether a load is long overdue and no ticket stands behind it."""
    record = ledger.replica.servers.get(load.server)
    rate = None if record is None else record.learned.load_mib_per_s
    estimate_s = load.footprint_mib / (rate or DEFAULT_LOAD_MIB_PER_S)
    is_overdue = now - load.started_at > max(config.load_patience * estimate_s, config.load_grace_s)
    return is_overdue and not any(ticket.model == load.model for ticket in ledger.replica.tickets_on(load.server))
