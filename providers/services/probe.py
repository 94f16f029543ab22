"""Asks one server what it holds. It decides nothing and stores nothing."""

from dataclasses import dataclass, replace

from providers.core.engines import ENGINES
from providers.core.engines.base import HttpReply, ProbeFailure
from providers.core.types import EngineKind, Observation
from providers.ports import EngineApi


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeResult:
    """What came of one probe. `asked_at` orders probes: an answer older than what is known must be dropped."""

    outcome: Observation | ProbeFailure
    asked_at: float


async def probe_server(
    *, engine: EngineApi, kind: EngineKind, endpoint: str, now: float, secret: str | None = None
) -> ProbeResult:
    """Ask a server for its version and models, and read the answer; `now` is the moment of asking.

    `secret` names the key that the engine wants. The calls go one after another and end with the first that fails, so
    that a server that hangs costs one time-out.
    """
    codec = ENGINES[kind]
    replies: list[HttpReply] = []
    for call in codec.probe_calls():
        reply = await engine.send(endpoint=endpoint, call=replace(call, secret=secret))
        replies.append(reply)
        if reply.trouble is not None:
            break
    return ProbeResult(outcome=codec.parse_probe(replies=replies, now=now), asked_at=now)
