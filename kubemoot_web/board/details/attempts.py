"""The attempts of a call, one line each."""

from collections.abc import Sequence
from dataclasses import dataclass

from kubemoot_web.board.times import Moment, moment
from scheduler.core.attempt_history import AttemptOutcome, AttemptRecord
from scheduler.core.messages.attempts import attempt_times, attempt_told

TONES = {None: "busy", AttemptOutcome.OK: "good", AttemptOutcome.ERROR: "bad", AttemptOutcome.TRUNCATED: "bad"}
"""How an end is meant; every other end is nobody's fault, but worth a look."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptRow:
    """One attempt: where and how, how long, since when."""

    at: Moment | None
    says: str
    lasted: str
    tone: str


def attempt_rows_of(*, attempts: Sequence[AttemptRecord]) -> tuple[AttemptRow, ...]:
    """List attempts as they come."""
    return tuple(
        AttemptRow(
            at=moment(attempt.queued_at),
            says=attempt_told(attempt=attempt),
            lasted=attempt_times(attempt=attempt),
            tone=TONES.get(attempt.outcome, "warn"),
        )
        for attempt in attempts
    )
