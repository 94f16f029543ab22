"""Sums over attempts that have ended, for metrics: they only grow, whatever is forgotten of the attempts themselves.

The names of the metrics and their labels are those of admission.md, A-51.
"""

from bisect import bisect_left
from dataclasses import dataclass, replace

from scheduler.core.attempt_history import AttemptRecord

QUEUE_BOUNDS_S = (0.005, 0.05, 0.25, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0)
EXEC_BOUNDS_S = (0.1, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class TallyKey:
    """What attempts are counted by. `server` is empty for those that never had a place."""

    server: str
    model: str
    purpose: str
    priority: str
    outcome: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """How values spread: how many lie at or below each bound and above the one before it, the last above all."""

    counts: tuple[int, ...]
    total_s: float = 0.0

    def adding(self, value_s: float | None, *, bounds: tuple[float, ...]) -> "Spread":
        """Add a value; none is no value."""
        if value_s is None:
            return self
        place = bisect_left(bounds, value_s)
        counts = (*self.counts[:place], self.counts[place] + 1, *self.counts[place + 1 :])
        return Spread(counts=counts, total_s=self.total_s + value_s)

    def joined(self, other: "Spread") -> "Spread":
        """Add another spread over the same bounds."""
        counts = tuple(one + more for one, more in zip(self.counts, other.counts, strict=True))
        return Spread(counts=counts, total_s=self.total_s + other.total_s)

    @property
    def cumulative(self) -> tuple[int, ...]:
        """Count, for each bound and then for all, what lies at or below it."""
        running, sums = 0, []
        for count in self.counts:
            running += count
            sums.append(running)
        return tuple(sums)


NOT_QUEUED = Spread(counts=(0,) * (len(QUEUE_BOUNDS_S) + 1))
NOT_RUN = Spread(counts=(0,) * (len(EXEC_BOUNDS_S) + 1))


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """How many attempts ended so, how long they waited and how long they ran."""

    count: int = 0
    queued: Spread = NOT_QUEUED
    ran: Spread = NOT_RUN

    def adding(self, record: AttemptRecord) -> "Tally":
        """Count an attempt that has ended."""
        return replace(
            self,
            count=self.count + 1,
            queued=self.queued.adding(record.queue_delay_s, bounds=QUEUE_BOUNDS_S),
            ran=self.ran.adding(record.exec_s, bounds=EXEC_BOUNDS_S),
        )

    def joined(self, other: "Tally") -> "Tally":
        """Add another tally."""
        return Tally(
            count=self.count + other.count, queued=self.queued.joined(other.queued), ran=self.ran.joined(other.ran)
        )


def key_of(record: AttemptRecord) -> TallyKey:
    """Say what an attempt that has ended is counted by."""
    return TallyKey(
        server=record.server,
        model=record.model,
        purpose=record.purpose,
        priority=record.priority,
        outcome="" if record.outcome is None else record.outcome.value,
    )
