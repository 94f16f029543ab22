"""Doing to an endpoint what an operator asked for by its name."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from scheduler.core.config import SchedulerConfig
from scheduler.core.operator_steps import Step
from scheduler.ports import Effects, Ledger
from scheduler.services.admission import (
    endpoint_clear_quarantine,
    endpoint_drain,
    endpoint_pause,
    endpoint_quarantine,
    endpoint_resume,
    queue_clear,
)

CLOSING: Mapping[Step, Callable[..., Awaitable[bool]]] = {
    Step.PAUSE: endpoint_pause,
    Step.DRAIN: endpoint_drain,
    Step.QUARANTINE: endpoint_quarantine,
}
OPENING: Mapping[Step, Callable[..., Awaitable[bool]]] = {
    Step.RESUME: endpoint_resume,
    Step.CLEAR_QUARANTINE: endpoint_clear_quarantine,
}


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
        close = CLOSING[step]
        is_news = await close(ledger=ledger, effects=effects, config=config, server=server, reason=reason, now=now)
        return Stepped(is_news=is_news)
    if step in OPENING:
        reopen = OPENING[step]
        return Stepped(is_news=await reopen(ledger=ledger, effects=effects, config=config, server=server, now=now))
    count = await queue_clear(ledger=ledger, effects=effects, config=config, server=server, now=now)
    return Stepped(is_news=count > 0, sent_away=count)
