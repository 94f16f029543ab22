"""What the journal says about one call, folded event by event into the record that history keeps.

No word of any prompt is in a journal, so none can come into a record.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from scheduler.core.attempt_history import AttemptOutcome, Event, outcome_of, split_attempt_id, waits_again
from scheduler.core.ledger import CallEnd


class CallState(StrEnum):
    """Where a call is, or how it ended. `left`: its caller is gone, and its engine works on."""

    WAITING = "waiting"
    LOADING = "loading"
    RUNNING = "running"
    LEFT = "left"
    DONE = "done"
    FAILED = "failed"
    LAPSED = "lapsed"
    STOOD_ASIDE = "stood_aside"
    GIVEN_UP = "given_up"


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRecord:
    """One call as history keeps it. Times are Unix seconds; None: it has not come to that.

    Of a call that was tried again this is its last attempt; only `arrived_at` is that of the first.
    """

    id: str
    agent: str
    state: CallState
    arrived_at: float
    crew: str = ""
    thread: str = ""
    phase: str = ""
    purpose: str = ""
    priority: str = "interactive"
    model: str = ""
    server: str = ""
    action: str = ""
    reason: str = ""
    evicted: tuple[str, ...] = ()
    granted_at: float | None = None
    started_at: float | None = None
    finished_at: float | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    key: str = ""
    outcome: AttemptOutcome | None = None
    first_byte_at: float | None = None
    attempts: int = 1
    decision: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CallPage:
    """Calls, newest first, without their decisions; `next` is the id to go on after, empty on the last page."""

    calls: tuple[CallRecord, ...]
    next: str = ""


def fold(*, record: CallRecord | None, event: Event, at: float) -> CallRecord | None:
    """Take one more event into a call's record; give it unchanged when the event says nothing about the call.

    A planned ticket is no call until its agent calls: what happens to it makes no record. What an earlier attempt than
    the last still has to say is about that attempt alone.
    """
    step = STEPS.get(str(event.get("type")))
    if step is None or not event.get("call"):
        return record
    _, number = split_attempt_id(str(event["call"]))
    if record is not None and number < record.attempts:
        return record
    if record is not None and number > record.attempts:
        record = _tried_again(record, number)
    return step(record, event, at)


def _tried_again(record: CallRecord, number: int) -> CallRecord:
    return replace(
        record,
        attempts=number,
        state=CallState.WAITING,
        outcome=None,
        server="",
        action="",
        reason="",
        evicted=(),
        granted_at=None,
        started_at=None,
        first_byte_at=None,
        finished_at=None,
        completion_tokens=None,
    )


def _begin(record: CallRecord | None, event: Event, at: float) -> CallRecord:
    if record is not None:
        return record
    call, number = split_attempt_id(str(event["call"]))
    return CallRecord(
        id=call,
        agent=event.get("agent") or "",
        state=CallState.WAITING,
        arrived_at=event.get("arrived_at") or at,
        crew=event.get("crew") or "",
        thread=event.get("thread") or "",
        phase=event.get("phase") or "",
        purpose=event.get("purpose") or "",
        priority=event.get("priority") or "interactive",
        prompt_tokens=event.get("prompt_tokens"),
        key=event.get("key") or "",
        attempts=number,
    )


def _enqueued(record: CallRecord | None, event: Event, at: float) -> CallRecord:
    return _begin(record, event, at)


def _waiting(record: CallRecord | None, event: Event, at: float) -> CallRecord:
    begun = _begin(record, event, at)
    return replace(
        begun,
        state=CallState.WAITING,
        model=event.get("model") or begun.model,
        server=event.get("server") or "",
        action=event.get("action") or "",
        reason=event.get("reason") or "",
        decision=_trace(event) or begun.decision,
    )


def _granted(record: CallRecord | None, event: Event, at: float) -> CallRecord:
    begun = _begin(record, event, at)
    return replace(
        begun,
        state=CallState.LOADING,
        model=event["model"],
        server=event["server"],
        action=event["action"],
        reason="",
        evicted=tuple(event.get("evicted") or ()),
        granted_at=at,
        decision=_trace(event) or begun.decision,
    )


def _delivered(record: CallRecord | None, event: Event, at: float) -> CallRecord:
    return replace(_begin(record, event, at), state=CallState.RUNNING, started_at=at)


def _left(record: CallRecord | None, event: Event, at: float) -> CallRecord | None:
    return None if record is None else replace(record, state=CallState.LEFT)


def _released(record: CallRecord | None, event: Event, at: float) -> CallRecord | None:
    if record is None:
        return None
    state = CallState.DONE if event.get("ok", True) else CallState.FAILED
    return replace(
        record,
        state=CallState.GIVEN_UP if event.get("end") == CallEnd.CANCELLED else state,
        outcome=_outcome(record, event),
        first_byte_at=event.get("first_byte_at"),
        finished_at=at,
        prompt_tokens=_or(event.get("prompt_tokens"), record.prompt_tokens),
        completion_tokens=event.get("completion_tokens"),
    )


def _lapsed(record: CallRecord | None, event: Event, at: float) -> CallRecord | None:
    """A place was taken back, for a reason: a caller that has not got it yet waits again, a running call has lost it.

    Without a reason it was the caller that fell silent, and its wait ended with the place that it never came for.
    """
    if record is None:
        return None
    reason = event.get("reason") or ""
    if waits_again(event):
        return replace(record, state=CallState.WAITING, reason=reason, granted_at=None)
    return replace(record, state=CallState.LAPSED, outcome=_outcome(record, event), reason=reason, finished_at=at)


def _stood_aside(record: CallRecord | None, event: Event, at: float) -> CallRecord:
    begun = _begin(record, event, at)
    return replace(
        begun,
        state=CallState.STOOD_ASIDE,
        outcome=_outcome(begun, event),
        model=event.get("model") or begun.model,
        reason=event.get("reason") or "",
        finished_at=at,
        decision=_trace(event) or begun.decision,
    )


def _given_up(record: CallRecord | None, event: Event, at: float) -> CallRecord | None:
    if record is None:
        return None
    return replace(record, state=CallState.GIVEN_UP, outcome=_outcome(record, event), finished_at=at)


STEPS: dict[str, Callable[[CallRecord | None, Event, float], CallRecord | None]] = {
    "enqueued": _enqueued,
    "waiting": _waiting,
    "granted": _granted,
    "delivered": _delivered,
    "left": _left,
    "released": _released,
    "lapsed": _lapsed,
    "stood_aside": _stood_aside,
    "given_up": _given_up,
}


def _outcome(record: CallRecord, event: Event) -> AttemptOutcome | None:
    return outcome_of(event=event, has_started=record.started_at is not None)


def _trace(event: Event) -> Mapping[str, Any] | None:
    trace = event.get("trace")
    return json.loads(trace) if trace else None


def _or(value: int | None, default: int | None) -> int | None:
    return default if value is None else value
