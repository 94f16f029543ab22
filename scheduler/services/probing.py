"""Keeps the ledger's picture of each server true: who is probed when, and what a probe changes."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace

from providers.core.addresses import leads_to
from providers.core.engines.base import ProbeFailure
from providers.core.footprint import estimate_mib
from providers.core.health import Health, HealthPhase, LoadFinished, LoadHung, next_health
from providers.core.types import EngineKind, Observation
from providers.ports import EngineApi, Resolver
from providers.services.probe import probe_server
from scheduler.core.admission.ambiguity import doubt_to_end
from scheduler.core.config import SchedulerConfig
from scheduler.core.gate import Admission, AdmissionBy
from scheduler.core.ledger import ServerRecord, ServerSeen
from scheduler.core.replica import Replica
from scheduler.core.snapshot import Resident
from scheduler.ports import Clock, Effects, Ledger, UnknownServer
from scheduler.services.cycle import run_cycle
from scheduler.services.loads import resident_of


def servers_due(*, replica: Replica, config: SchedulerConfig, now: float) -> tuple[str, ...]:
    """Name the servers whose next probe may be due: soon where something waits or changes, rarely elsewhere.

    A probe that found nothing new moves no replica, so this names too many rather than too few; the ledger knows.
    """
    return tuple(
        name
        for name, record in replica.servers.items()
        if now - (record.seen.probed_at or 0.0) >= probe_interval_s(replica=replica, record=record, config=config)
    )


def probe_interval_s(*, replica: Replica, record: ServerRecord, config: SchedulerConfig) -> float:
    """Give the seconds between two probes of a server."""
    name = record.config.name
    is_changing = any(load.server == name for load in replica.loads.values())
    is_settling = record.seen.phase in (HealthPhase.PENDING, HealthPhase.STALE)
    if is_changing or is_settling or replica.waiting():
        return config.probe_fast_s
    return config.probe_slow_s


async def server_probe(
    *,
    ledger: Ledger,
    effects: Effects,
    engine: EngineApi,
    resolver: Resolver,
    config: SchedulerConfig,
    now: Clock,
    server: str,
) -> bool:
    """Probe one server and store what it said, and where its address leads.

    False when another probe of it is under way, or nothing changed. An engine that is found ready ends the doubt
    whether it still works on a call, where there was one when it was asked.
    """
    record = ledger.replica.servers.get(server)
    if record is None:
        return False
    every_s = probe_interval_s(replica=ledger.replica, record=record, config=config) * config.probe_jitter
    probe = await ledger.probe_begin(server=server, lease_s=config.probe_lease_s, every_s=every_s)
    if probe is None:
        return False
    asked_at = now()
    doubt = doubt_to_end(replica=ledger.replica, record=record, now=asked_at)
    result = await probe_server(
        engine=engine,
        kind=EngineKind(record.config.kind),
        endpoint=record.config.endpoint,
        now=asked_at,
        secret=record.config.secret,
    )
    current = ledger.replica.servers.get(server)
    if current is None or current.config.endpoint != record.config.endpoint:
        return False
    seen = seen_after(before=current, outcome=result.outcome, asked_at=result.asked_at)
    found = resolver.addresses(endpoint=record.config.endpoint)
    seen = replace(seen, addresses=leads_to(known=current.seen.addresses, found=found))
    changed = await ledger.probe_end(server=server, probe=probe, seen=seen)
    if doubt is not None and seen.ready and isinstance(result.outcome, Observation):
        with suppress(UnknownServer):
            back = Admission(since=now(), by=AdmissionBy.SYSTEM)
            changed |= await ledger.admission_set(server=server, admission=back, since=doubt.since)
    if changed:
        await run_cycle(ledger=ledger, effects=effects, config=config, now=now())
    return changed


def seen_after(*, before: ServerRecord, outcome: Observation | ProbeFailure, asked_at: float) -> ServerSeen:
    """Work out what is known of a server after a probe.

    A late answer changes nothing. After a failed probe the last known residents stay, so that the board can say what
    was there; nothing is placed on them, for the server is not ready. A server whose loads fail is degraded however
    green its probes are, until a load there succeeds.
    """
    known = before.seen
    previous = Health(phase=HealthPhase(known.phase), since=known.since, detail=known.detail, probed_at=known.probed_at)
    if not previous.is_newer(asked_at):
        return known
    health = next_health(previous=previous, event=outcome, now=asked_at)
    problem = before.learned.load_problem
    loads = LoadHung(detail=problem) if problem else LoadFinished()
    health = next_health(previous=health, event=loads, now=asked_at)
    residents, models, version = known.residents, known.models, known.version
    estimated = known.estimated
    if isinstance(outcome, Observation):
        residents = _residents(outcome=outcome, before=known.residents)
        estimated = _estimated(outcome)
        models = None if outcome.available is None else tuple(sorted(m.model for m in outcome.available))
        version = outcome.version
    return ServerSeen(
        phase=health.phase.value,
        ready=health.is_ready,
        since=health.since or asked_at,
        detail=health.detail,
        residents=residents,
        models=models,
        observed=known.observed | _observed((*known.residents, *residents)),
        estimated=estimated,
        version=version,
        probed_at=health.probed_at,
        addresses=known.addresses,
    )


def _observed(residents: Iterable[Resident]) -> dict[str, int]:
    """Map what was seen in memory to its size; what spilled shows less than it needs, and teaches nothing."""
    return {r.model: r.footprint_mib for r in residents if r.footprint_mib and not r.spilling}


def _estimated(outcome: Observation) -> dict[str, int]:
    """Map what lies on the disk to the memory it will roughly take."""
    found = outcome.available or ()
    return {model.model: estimate_mib(size_mib=model.size_mib) for model in found if model.size_mib}


def _residents(*, outcome: Observation, before: Sequence[Resident]) -> tuple[Resident, ...]:
    """List what is loaded, in a steady order. An alias of a listed copy keeps the name it was placed under."""
    placed = {resident.model for resident in before}
    residents = []
    for copy in outcome.loaded:
        names = (copy.model, *copy.aliases)
        name = next((n for n in names if n in placed), copy.model)
        residents.append(resident_of(copy=copy, model=name))
    return tuple(sorted(residents, key=lambda resident: resident.model))
