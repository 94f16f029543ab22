"""What the journal says about the attempts of a call: one record for each contact with a server that was asked for.

Attempt 1 of the call `abc` is `abc` in the journal, attempt 2 is `abc.2`. There is no free text in a record.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from scheduler.core.ledger import CallEnd

Event = Mapping[str, Any]


class AttemptOutcome(StrEnum):
    """How an attempt ended.

    `refused` is a no to what was asked: by the engine, or because nothing could ever serve it. `cancelled_queued`,
    `queue_timeout`, `queue_full` and `queue_cleared` never contacted a server; neither did `quarantined`: its server
    was taken out before anything was sent. `expired`: it lost its place. `admission_unavailable`: the ledger that gives
    places was lost while it waited.
    """

    OK = "ok"
    ERROR = "error"
    REFUSED = "refused"
    TRUNCATED = "truncated"
    CANCELLED_QUEUED = "cancelled_queued"
    CANCELLED_RUNNING = "cancelled_running"
    QUEUE_TIMEOUT = "queue_timeout"
    QUEUE_FULL = "queue_full"
    QUEUE_CLEARED = "queue_cleared"
    QUARANTINED = "quarantined"
    EXPIRED = "expired"
    ADMISSION_UNAVAILABLE = "admission_unavailable"


ENDS = {
    CallEnd.OK: AttemptOutcome.OK,
    CallEnd.ERROR: AttemptOutcome.ERROR,
    CallEnd.REFUSED: AttemptOutcome.REFUSED,
    CallEnd.TRUNCATED: AttemptOutcome.TRUNCATED,
    CallEnd.UNSENT: AttemptOutcome.QUARANTINED,
}
ASIDE = {
    "queue-full": AttemptOutcome.QUEUE_FULL,
    "queue-cleared": AttemptOutcome.QUEUE_CLEARED,
    "ledger-unavailable": AttemptOutcome.ADMISSION_UNAVAILABLE,
    "model-too-large": AttemptOutcome.REFUSED,
    "prompt-too-large": AttemptOutcome.REFUSED,
}
"""Why a wait ended without a place; all else is a limit of the wait. A caller that left gives none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptRecord:
    """One attempt as history keeps it. Times are Unix seconds; None: it has not come to that, or nobody said.

    It is admitted when it gets its place, and starts when the place is handed to its caller, after the load.
    """

    id: str
    call: str
    number: int
    agent: str
    queued_at: float
    crew: str = ""
    purpose: str = ""
    priority: str = "interactive"
    key: str = ""
    model: str = ""
    server: str = ""
    endpoint: str = ""
    admitted_at: float | None = None
    started_at: float | None = None
    first_byte_at: float | None = None
    finished_at: float | None = None
    outcome: AttemptOutcome | None = None
    status: int | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None

    @property
    def queue_delay_s(self) -> float | None:
        """Give how long it waited for a place, also one that it never got; None while it waits."""
        end = self.finished_at if self.admitted_at is None else self.admitted_at
        return None if end is None else max(end - self.queued_at, 0.0)

    @property
    def exec_s(self) -> float | None:
        """Give how long it held its place; None while it does, and for one that never reached a server."""
        if self.admitted_at is None or self.started_at is None or self.finished_at is None:
            return None
        return max(self.finished_at - self.admitted_at, 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptPage:
    """Attempts, newest first; `next` is the id to go on after, empty on the last page."""

    attempts: tuple[AttemptRecord, ...]
    next: str = ""


def attempt_id(*, call: str, number: int) -> str:
    """Name an attempt of a call."""
    return call if number == 1 else f"{call}.{number}"


def split_attempt_id(id: str) -> tuple[str, int]:
    """Split the name of an attempt into its call and its number."""
    call, dot, number = id.rpartition(".")
    return (call, int(number)) if dot and number.isdecimal() and call else (id, 1)


def outcome_of(*, event: Event, has_started: bool) -> AttemptOutcome | None:
    """Read from an event how an attempt ended; None when it did not."""
    match event.get("type"):
        case "released":
            return _released_as(event, has_started)
        case "lapsed" if not waits_again(event):
            return AttemptOutcome.EXPIRED
        case "given_up" if not event.get("reason"):
            return AttemptOutcome.CANCELLED_QUEUED
        case "stood_aside" | "given_up":
            return ASIDE.get(str(event.get("reason")), AttemptOutcome.QUEUE_TIMEOUT)
        case _:
            return None


def outcome_of_end(*, end: CallEnd, has_started: bool) -> AttemptOutcome:
    """Say how an attempt ended whose call ended so at its engine."""
    if end is CallEnd.CANCELLED:
        return AttemptOutcome.CANCELLED_RUNNING if has_started else AttemptOutcome.CANCELLED_QUEUED
    return ENDS[end]


def waits_again(event: Event) -> bool:
    """Say of a lapse whether only the place was lost; it has no reason when the whole wait is over."""
    return bool(event.get("waiter")) and bool(event.get("reason"))


def fold_attempt(*, record: AttemptRecord | None, event: Event, at: float) -> AttemptRecord | None:
    """Take one more event into an attempt's record; give it unchanged when the event says nothing about it."""
    step = STEPS.get(str(event.get("type")))
    if step is None or not event.get("call") or (record is not None and record.outcome is not None):
        return record
    return step(record, event, at)


def _begin(record: AttemptRecord | None, event: Event, at: float) -> AttemptRecord:
    if record is not None:
        return record
    call, number = split_attempt_id(str(event["call"]))
    return AttemptRecord(
        id=str(event["call"]),
        call=call,
        number=number,
        agent=event.get("agent") or "",
        # A later attempt may keep the age of its call in the line; its own wait begins now.
        queued_at=(event.get("arrived_at") or at) if number == 1 else at,
        crew=event.get("crew") or "",
        purpose=event.get("purpose") or "",
        priority=event.get("priority") or "interactive",
        key=event.get("key") or "",
        prompt_tokens=event.get("prompt_tokens"),
    )


def _waiting(record: AttemptRecord | None, event: Event, at: float) -> AttemptRecord:
    begun = _begin(record, event, at)
    return replace(begun, model=event.get("model") or begun.model)


def _granted(record: AttemptRecord | None, event: Event, at: float) -> AttemptRecord:
    return replace(_begin(record, event, at), model=event["model"], server=event["server"], admitted_at=at)


def _delivered(record: AttemptRecord | None, event: Event, at: float) -> AttemptRecord:
    return replace(_begin(record, event, at), started_at=at)


def _lapsed(record: AttemptRecord | None, event: Event, at: float) -> AttemptRecord | None:
    if record is not None and waits_again(event):
        return replace(record, server="", endpoint="", admitted_at=None, started_at=None)
    return _ended(record, event, at)


def _stood_aside(record: AttemptRecord | None, event: Event, at: float) -> AttemptRecord | None:
    return _ended(_waiting(record, event, at), event, at)


def _ended(record: AttemptRecord | None, event: Event, at: float) -> AttemptRecord | None:
    if record is None:
        return None
    prompt_tokens = event.get("prompt_tokens")
    return replace(
        record,
        finished_at=at,
        outcome=outcome_of(event=event, has_started=record.started_at is not None),
        status=event.get("status"),
        first_byte_at=event.get("first_byte_at"),
        prompt_tokens=record.prompt_tokens if prompt_tokens is None else prompt_tokens,
        completion_tokens=event.get("completion_tokens"),
    )


def _released_as(event: Event, has_started: bool) -> AttemptOutcome:
    end = event.get("end")
    if end is None:
        return AttemptOutcome.OK if event.get("ok", True) else AttemptOutcome.ERROR
    return outcome_of_end(end=CallEnd(end), has_started=has_started)


STEPS: dict[str, Callable[[AttemptRecord | None, Event, float], AttemptRecord | None]] = {
    "enqueued": _begin,
    "waiting": _waiting,
    "granted": _granted,
    "delivered": _delivered,
    "released": _ended,
    "lapsed": _lapsed,
    "stood_aside": _stood_aside,
    "given_up": _ended,
}
