"""Doing to an endpoint what an operator asked for by its name."""

from collections.abc import Mapping
from dataclasses import dataclass

from scheduler.core.config import SchedulerConfig
from scheduler.core.gate import AdmissionState, States
from scheduler.core.operator_steps import Step
from scheduler.ports import Effects, Ledger
from scheduler.services.admission import endpoint_close, endpoint_open, queue_clear

CLOSING: Mapping[Step, AdmissionState] = {
    Step.PAUSE: AdmissionState.PAUSED,
    Step.DRAIN: AdmissionState.DRAINING,
    Step.QUARANTINE: AdmissionState.QUARANTINED,
}
OPENING: Mapping[Step, States] = {
    Step.RESUME: (AdmissionState.PAUSED, AdmissionState.DRAINING),
    Step.CLEAR_QUARANTINE: (AdmissionState.QUARANTINED,),
}
"""Each way back undoes its own way: what was taken out for how it behaves, nobody resumes by mistake."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stepped:
    """What came of it: whether anything is different now, and how many waits were ended."""

    is_news: bool
    sent_away: int = 0


async def endpoint_step(
    *, ledger: Ledger, effects: Effects, config: SchedulerConfig, server: str, step: Step, reason: str, now: float
) -> Stepped:
    """Take one step. `reason` stays with a state in which calls are kept away; every other step has no use for it.

    Raises:
        UnknownServer: no such server.
    """
    if step in CLOSING:
        is_news = await endpoint_close(
            ledger=ledger,
            effects=effects,
            config=config,
            server=server,
            state=CLOSING[step],
            reason=reason,
            now=now,
        )
        return Stepped(is_news=is_news)
    if step in OPENING:
        is_news = await endpoint_open(
            ledger=ledger, effects=effects, config=config, server=server, when=OPENING[step], now=now
        )
        return Stepped(is_news=is_news)
    count = await queue_clear(ledger=ledger, effects=effects, config=config, server=server, now=now)
    return Stepped(is_news=count > 0, sent_away=count)
