"""How a server is, by what its probes and loads said. One table, one pure step.

| phase       | new calls | meaning                                                                        |
|-------------|-----------|--------------------------------------------------------------------------------|
| pending     | no        | never probed yet                                                               |
| ready       | yes       | the last probe was answered well                                               |
| degraded    | yes       | probes are answered, but loads do not finish; resident models still serve      |
| stale       | no        | the last probe went unanswered; the server may only have been slow             |
| failing     | no        | it answers, but not as its engine should                                       |
| unreachable | no        | it does not answer                                                             |

The hysteresis lies in what is said, not in what is done: nothing new is placed from the first failed probe on, because
the next probe comes within seconds and a call sent to a dead server costs far more; but only the second unanswered one
in a row makes a server unreachable. One good probe ends an outage. `since` of an outage is its first failed probe.
Health never unloads anything.
"""

from dataclasses import dataclass, replace
from enum import StrEnum

from providers.core.engines.base import FailureKind, ProbeFailure
from providers.core.types import Observation


class HealthPhase(StrEnum):
    """The phases of the table above."""

    PENDING = "pending"
    READY = "ready"
    DEGRADED = "degraded"
    STALE = "stale"
    FAILING = "failing"
    UNREACHABLE = "unreachable"


USABLE = frozenset({HealthPhase.READY, HealthPhase.DEGRADED})
OUTAGE = frozenset({HealthPhase.STALE, HealthPhase.FAILING, HealthPhase.UNREACHABLE})


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadFinished:
    """A load came to its end on a server: the load path works."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadHung:
    """A load ran into its limit on a server."""

    detail: str


HealthEvent = Observation | ProbeFailure | LoadFinished | LoadHung


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """How a server is, since when, and a sentence why. `probed_at` is when the last probe that counted was sent."""

    phase: HealthPhase = HealthPhase.PENDING
    since: float | None = None
    detail: str = ""
    probed_at: float | None = None

    @property
    def is_ready(self) -> bool:
        """Say whether new calls may be placed on the server."""
        return self.phase in USABLE

    def is_newer(self, asked_at: float) -> bool:
        """Say whether a probe sent at this moment tells more than what is known; late answers must be dropped whole."""
        return self.probed_at is None or asked_at > self.probed_at


class _Signal(StrEnum):
    GOOD = "good"
    NO_ANSWER = "no-answer"
    WRONG_ANSWER = "wrong-answer"
    LOAD_FINISHED = "load-finished"
    LOAD_HUNG = "load-hung"


P, S = HealthPhase, _Signal
NEXT: dict[tuple[HealthPhase, _Signal], HealthPhase] = {
    (P.PENDING, S.GOOD): P.READY,
    (P.PENDING, S.NO_ANSWER): P.UNREACHABLE,
    (P.PENDING, S.WRONG_ANSWER): P.FAILING,
    (P.READY, S.GOOD): P.READY,
    (P.READY, S.NO_ANSWER): P.STALE,
    (P.READY, S.WRONG_ANSWER): P.FAILING,
    (P.READY, S.LOAD_HUNG): P.DEGRADED,
    (P.DEGRADED, S.GOOD): P.DEGRADED,  # green probes prove nothing about the load path
    (P.DEGRADED, S.NO_ANSWER): P.STALE,
    (P.DEGRADED, S.WRONG_ANSWER): P.FAILING,
    (P.DEGRADED, S.LOAD_FINISHED): P.READY,
    (P.DEGRADED, S.LOAD_HUNG): P.DEGRADED,
    (P.STALE, S.GOOD): P.READY,
    (P.STALE, S.NO_ANSWER): P.UNREACHABLE,
    (P.STALE, S.WRONG_ANSWER): P.FAILING,
    (P.FAILING, S.GOOD): P.READY,
    (P.FAILING, S.NO_ANSWER): P.UNREACHABLE,
    (P.FAILING, S.WRONG_ANSWER): P.FAILING,
    (P.UNREACHABLE, S.GOOD): P.READY,
    (P.UNREACHABLE, S.NO_ANSWER): P.UNREACHABLE,
    (P.UNREACHABLE, S.WRONG_ANSWER): P.FAILING,
}


def next_health(*, previous: Health, event: HealthEvent, now: float) -> Health:
    """Say how a server is after one more event.

    `now` is when the probe was sent (an answer older than what is known changes nothing), or when the load ended.
    What the table does not name changes nothing either: a load says nothing about a server that does not answer.
    """
    signal, detail = _read(event)
    is_probe = isinstance(event, Observation | ProbeFailure)
    if is_probe and not previous.is_newer(now):
        return previous
    known = replace(previous, probed_at=now) if is_probe else previous
    phase = NEXT.get((previous.phase, signal))
    if phase is None:
        return known
    if phase is HealthPhase.DEGRADED and signal is S.GOOD:
        return known
    same_spell = phase is previous.phase or {phase, previous.phase} <= OUTAGE
    since = previous.since if same_spell and previous.since is not None else now
    return replace(known, phase=phase, since=since, detail=detail)


def _read(event: HealthEvent) -> tuple[_Signal, str]:
    match event:
        case Observation():
            return S.GOOD, ""
        case ProbeFailure(kind=FailureKind.NO_ANSWER, detail=detail):
            return S.NO_ANSWER, detail
        case ProbeFailure(detail=detail):
            return S.WRONG_ANSWER, detail
        case LoadFinished():
            return S.LOAD_FINISHED, ""
        case LoadHung(detail=detail):
            return S.LOAD_HUNG, detail
