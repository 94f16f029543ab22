"""Engines that have calls at work, answer every probe, and say nothing any more: seen, taken out, and let back in.

House rules: only what callers tell counts, so a server whose callers tell nothing is never judged; any sign of life
counts for the whole server; what an operator said of a server stays.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from scheduler.core.config import SchedulerConfig
from scheduler.core.gate import Admission, AdmissionBy, AdmissionState, QuarantineCause
from scheduler.core.ledger import ServerRecord
from scheduler.core.messages.admission import fell_silent
from scheduler.core.replica import Replica
from scheduler.core.types import Ticket, TicketState


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """How a server stands from now on. `trial`: a single call first."""

    server: str
    admission: Admission
    trial: bool = False


def is_watched(*, replica: Replica, config: SchedulerConfig, now: float) -> bool:
    """Say whether any server could have fallen silent, or was taken out for it: else there is nothing to ask."""
    return any(_is_own(record) for record in replica.servers.values()) or any(
        ticket.state is TicketState.ACTIVE and now - ticket.started_at > config.wedge_silent_s
        for ticket in replica.tickets.values()
    )


def steps(*, replica: Replica, progress: Mapping[str, float], config: SchedulerConfig, now: float) -> Iterator[Step]:
    """Take out the servers that fell silent, and let those back in that are alive again, or have nothing left to end.

    `progress` tells of the tickets whose callers say so when a byte came last.

    1. Open, and calls that tell their progress are at work, and no sign of life for longer than 60 s and five usual
       calls: taken out.
    2. Taken out for that, and a sign of life since: back in.
    3. Taken out for that, no call or load left, and rested as after a first failure: a single call tries it.
    """
    for name, record in replica.servers.items():
        tickets = replica.tickets_on(name)
        said, alive_at = record.admission, _alive_at(record=record, tickets=tickets, progress=progress)
        if said.is_open:
            calls = sum(1 for ticket in tickets if ticket.state is TicketState.ACTIVE and ticket.id in progress)
            silent_s = now - max(alive_at, said.since)
            if calls and silent_s > longest_silence_s(record=record, config=config):
                reason = fell_silent(calls=calls, silent_s=silent_s)
                yield Step(server=name, admission=_admission(AdmissionState.QUARANTINED, now=now, reason=reason))
        elif _is_own(record):
            if alive_at > said.since:
                yield Step(server=name, admission=_admission(AdmissionState.OPEN, now=now))
            elif now - said.since >= config.circuit_rest_s and not is_at_work(replica=replica, name=name):
                yield Step(server=name, admission=_admission(AdmissionState.OPEN, now=now), trial=True)


def longest_silence_s(*, record: ServerRecord, config: SchedulerConfig) -> float:
    """Work out how long a server that has calls may say nothing: long calls may, where calls are long."""
    call_s = record.learned.call_s
    return max(config.wedge_silent_s, config.wedge_calls * (config.usual_call_s if call_s is None else call_s))


def _alive_at(*, record: ServerRecord, tickets: tuple[Ticket, ...], progress: Mapping[str, float]) -> float:
    """Give the last sign of life: a byte of any call at work, or a call that ended well."""
    bytes_at = (progress.get(ticket.id, 0.0) for ticket in tickets)
    return max(record.learned.answered_at or 0.0, *bytes_at, 0.0)


def _is_own(record: ServerRecord) -> bool:
    """Say whether a server was taken out for its silence."""
    said = record.admission
    return said.state is AdmissionState.QUARANTINED and said.cause is QuarantineCause.SILENT


def is_at_work(*, replica: Replica, name: str) -> bool:
    """Say whether any call or load stands on a server. A place held for a call to come does not."""
    calls = any(ticket.state is not TicketState.PLANNED for ticket in replica.tickets_on(name))
    return calls or any(load.server == name for load in replica.loads.values())


def _admission(state: AdmissionState, *, now: float, reason: str = "") -> Admission:
    cause = None if state is AdmissionState.OPEN else QuarantineCause.SILENT
    return Admission(state=state, reason=reason, since=now, by=AdmissionBy.SYSTEM, cause=cause)
