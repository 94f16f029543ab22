"""Whether a call that failed before its first byte may be sent again, where, and after how long.

The figures are those of admission.md, A.0: three attempts, a back-off of half a second that doubles up to ten, the
engine's own wish up to thirty seconds. What an engine may be at work on is never sent again: two generations would run.
"""

from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from enum import StrEnum

MOST_ATTEMPTS = 3
FIRST_BACK_OFF_S = 0.5
LONGEST_BACK_OFF_S = 10.0
LONGEST_WISH_S = 30.0


class Failure(StrEnum):
    """How an attempt ended before its first byte."""

    UNREACHED = "unreached"
    """The request was never sent whole: nobody is at work on it."""
    BUSY = "busy"
    """The engine is full, or not ready yet."""
    ERROR = "error"
    """The engine tried, failed, and said so."""
    BROKEN = "broken"
    """The connection ended, or stayed silent, after the request was sent: the engine may be at work on it."""
    REDIRECTED = "redirected"
    """The engine sent us elsewhere; the place was claimed for this address alone."""


BUSY_STATUSES = frozenset({429, 503})
NO_ACCESS = 401
"""What an engine says of our key for it: whoever called has nothing to do with that, and would look at their own."""
NOT_IMPLEMENTED = 501
"""What llama.cpp says to an embedding it was not started for: it works, and whoever asked wants something else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Again:
    """Send it again after a pause, with a new place; `elsewhere` leaves out the servers that failed it."""

    after_s: float
    elsewhere: bool


def failure_of(*, status: int) -> Failure | None:
    """Read an answer's status; None where the answer is the client's: an answer, or an error of what it asked."""
    if status in BUSY_STATUSES:
        return Failure.BUSY
    if status == NOT_IMPLEMENTED:
        return None
    if (
        status == NO_ACCESS or status >= 500 or status < 200
    ):  # an engine that would speak another protocol speaks none of ours
        return Failure.ERROR
    return Failure.REDIRECTED if 300 <= status < 400 else None


def again(*, failure: Failure, attempt: int, wish_s: float | None, is_elsewhere: bool) -> Again | None:
    """Decide after a failed attempt (counted from 1); None: tell the client.

    Elsewhere goes at once: nobody there asked for a pause. On the same server an error would only come again.
    """
    if attempt >= MOST_ATTEMPTS or failure in (Failure.BROKEN, Failure.REDIRECTED):
        return None
    if is_elsewhere:
        return Again(after_s=0.0, elsewhere=True)
    if failure is Failure.ERROR:
        return None
    return Again(
        after_s=back_off_s(attempt=attempt) if wish_s is None else min(wish_s, LONGEST_WISH_S), elsewhere=False
    )


def back_off_s(*, attempt: int) -> float:
    """Give the pause after a failed attempt, counted from 1."""
    return float(min(FIRST_BACK_OFF_S * 2 ** (attempt - 1), LONGEST_BACK_OFF_S))


def read_retry_after(value: str, *, now: float, most_s: float = LONGEST_WISH_S) -> float | None:
    """Read a `Retry-After` header in seconds: a number or a date; None where it says nothing that can be used."""
    text = value.strip()
    try:
        wish_s = float(text)
    except ValueError:
        try:
            wish_s = max(parsedate_to_datetime(text).timestamp() - now, 0.0)
        except (ValueError, TypeError, OverflowError):
            return None
    return min(wish_s, most_s) if wish_s >= 0 else None
