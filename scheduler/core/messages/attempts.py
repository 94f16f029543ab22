"""Sentences about the attempts of a call: where each ran, and how it ended."""

from scheduler.core.attempt_history import AttemptOutcome, AttemptRecord
from scheduler.core.messages.wording import seconds

OUTCOMES = {
    AttemptOutcome.OK: "answered",
    AttemptOutcome.ERROR: "the engine failed",
    AttemptOutcome.REFUSED: "refused",
    AttemptOutcome.TRUNCATED: "cut short",
    AttemptOutcome.CANCELLED_QUEUED: "its caller left the line",
    AttemptOutcome.CANCELLED_RUNNING: "its caller left",
    AttemptOutcome.QUEUE_TIMEOUT: "waited to its limit",
    AttemptOutcome.QUEUE_FULL: "the line was full",
    AttemptOutcome.QUEUE_CLEARED: "the line was cleared",
    AttemptOutcome.QUARANTINED: "its server was taken out before it was sent",
    AttemptOutcome.EXPIRED: "lost its place",
    AttemptOutcome.ADMISSION_UNAVAILABLE: "the ledger was lost while it waited",
}


def attempt_told(*, attempt: AttemptRecord) -> str:
    """Say where an attempt ran, and how it ended."""
    where = f"{attempt.model} on {attempt.server}" if attempt.server else "no place"
    if attempt.outcome is None:
        return f"{attempt.number}. {where}: goes on" if attempt.server else f"{attempt.number}. waits for a place"
    status = f" (HTTP {attempt.status})" if attempt.status is not None and attempt.status >= 400 else ""
    return f"{attempt.number}. {where}: {OUTCOMES[attempt.outcome]}{status}"


def attempt_times(*, attempt: AttemptRecord) -> str:
    """Say how long an attempt waited for its place, held it, and waited for the first byte, as far as known."""
    parts = []
    if attempt.queue_delay_s is not None:
        parts.append(f"queued {seconds(attempt.queue_delay_s)}")
    if attempt.first_byte_at is not None and attempt.started_at is not None:
        parts.append(f"first byte after {seconds(max(attempt.first_byte_at - attempt.started_at, 0.0))}")
    if attempt.exec_s is not None:
        parts.append(f"held its place {seconds(attempt.exec_s)}")
    return ", ".join(parts)


def key_of_call(*, prefix: str, name: str) -> str:
    """Name the key that a call came with, and what it begins with, by which it is found among the keys."""
    if not prefix:
        return ""
    return f"{name} (km_{prefix}…)" if name else f"km_{prefix}…, which is revoked"


def call_about(*, purpose: str, key: str, attempts: int, outcome: AttemptOutcome | None) -> str:
    """Say in a few words what a call was for, by whose key, how often it was tried and what went wrong."""
    parts = [
        purpose,
        f"key {key}" if key else "",
        f"{attempts} attempts" if attempts > 1 else "",
        "" if outcome in (None, AttemptOutcome.OK) else OUTCOMES[outcome],
    ]
    return " · ".join(part for part in parts if part)
