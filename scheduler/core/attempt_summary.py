"""What many attempts say about their servers: how they ended, how long they queued, how often models changed."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from scheduler.core.attempt_history import AttemptRecord

AVOIDABLE_WITHIN_S = 300.0
"""How soon a model must come back to a server for its leaving to have been for nothing."""
HOUR_S = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Switches:
    """How often the model changed from one admitted attempt to the next, and how often it soon changed back."""

    switches: int
    avoidable: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSummary:
    """The attempts on one server; `server` is empty for those that never got a place. None: nothing to say."""

    server: str
    endpoint: str
    attempts: int
    outcomes: Mapping[str, int]
    queue_p50_s: float | None
    queue_p95_s: float | None
    switches: Switches
    switches_per_hour: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Switch:
    """One change of models: `model` came after `after`. `is_back`: it had left shortly before, for nothing."""

    at: float
    model: str
    after: str
    is_back: bool


def changes_of(*, admitted: Iterable[tuple[float, str]], within_s: float = AVOIDABLE_WITHIN_S) -> Iterator[Switch]:
    """List the model switches among admissions, `(when, model)`, in the order of their time.

    A switch is an admitted model that is another one than that before it. It was avoidable when it brings back the
    model before the last within so many seconds of that model's last admission: X, Y, X.
    """
    model, last_at = "", 0.0
    before, before_at = "", -math.inf
    for at, name in sorted(admitted):
        if model and name != model:
            is_back = name == before and at - before_at <= within_s
            yield Switch(at=at, model=name, after=model, is_back=is_back)
            before, before_at = model, last_at
        model, last_at = name, at


def switches_of(*, admitted: Iterable[tuple[float, str]], within_s: float = AVOIDABLE_WITHIN_S) -> Switches:
    """Count model switches among admissions, `(when, model)`, and the avoidable ones among them."""
    changes = tuple(changes_of(admitted=admitted, within_s=within_s))
    return Switches(switches=len(changes), avoidable=sum(change.is_back for change in changes))


def summaries_of(*, attempts: Sequence[AttemptRecord], since: float, until: float) -> tuple[ServerSummary, ...]:
    """Sum up attempts by server, by name."""
    by_server: dict[str, list[AttemptRecord]] = {}
    for attempt in attempts:
        by_server.setdefault(attempt.server, []).append(attempt)
    hours = max(until - since, 1.0) / HOUR_S
    return tuple(_summary(server, by_server[server], hours) for server in sorted(by_server))


def _summary(server: str, attempts: Sequence[AttemptRecord], hours: float) -> ServerSummary:
    delays = sorted(attempt.queue_delay_s for attempt in attempts if attempt.queue_delay_s is not None)
    switches = switches_of(
        admitted=[(attempt.admitted_at, attempt.model) for attempt in attempts if attempt.admitted_at is not None]
    )
    return ServerSummary(
        server=server,
        endpoint=next((attempt.endpoint for attempt in attempts if attempt.endpoint), ""),
        attempts=len(attempts),
        outcomes=dict(Counter(attempt.outcome.value for attempt in attempts if attempt.outcome is not None)),
        queue_p50_s=_rank(delays, 0.5),
        queue_p95_s=_rank(delays, 0.95),
        switches=switches,
        switches_per_hour=switches.switches / hours,
    )


def _rank(ordered: Sequence[float], share: float) -> float | None:
    """Give the least value that so great a share does not exceed."""
    return ordered[math.ceil(share * len(ordered)) - 1] if ordered else None
