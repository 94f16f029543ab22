"""Attempts of a call, folded from the journal: one record each, and one for the call itself."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from scheduler.core.attempt_history import (
    AttemptOutcome,
    AttemptRecord,
    attempt_id,
    fold_attempt,
    split_attempt_id,
)
from scheduler.core.call_history import CallRecord, CallState, fold

ASKED = {
    "agent": "default/scout",
    "crew": "default/lab",
    "purpose": "synthesis",
    "priority": "background",
    "key": "km_ab12",
    "arrived_at": 10.0,
    "prompt_tokens": 7,
}
Told = tuple[float, dict[str, Any]]


def told(type: str, at: float, call: str = "c", **more: Any) -> Told:
    """Tell one event."""
    return at, {"type": type, "call": call, **ASKED, **more}


def enqueued(at: float, call: str = "c") -> Told:
    """Tell of a call that came into the line."""
    return told("enqueued", at, call, waiter=call)


def granted(at: float, call: str = "c", server: str = "gpu-1") -> Told:
    """Tell of a place that was given."""
    return told("granted", at, call, waiter=call, server=server, model="m", action="use")


def released(at: float, call: str = "c", **more: Any) -> Told:
    """Tell of a place that was given back."""
    given = {"ok": True, "end": "ok", "status": 200, "first_byte_at": at - 1, "completion_tokens": 5}
    return told("released", at, call, server="gpu-1", model="m", **given | more)


def attempt(events: Sequence[Told]) -> AttemptRecord:
    """Fold events into one attempt."""
    record: AttemptRecord | None = None
    for at, event in events:
        record = fold_attempt(record=record, event=event, at=at)
    assert record is not None
    return record


def call_of(events: Sequence[Told]) -> CallRecord:
    """Fold events into their call."""
    record: CallRecord | None = None
    for at, event in events:
        record = fold(record=record, event=event, at=at)
    assert record is not None
    return record


def test_an_attempt_keeps_who_asked_when_what_came_and_how_it_ended():
    """A-50"""
    record = attempt([enqueued(10.0), granted(12.0), told("delivered", 15.0), released(20.0)])

    assert record == AttemptRecord(
        id="c",
        call="c",
        number=1,
        agent="default/scout",
        crew="default/lab",
        purpose="synthesis",
        priority="background",
        key="km_ab12",
        model="m",
        server="gpu-1",
        queued_at=10.0,
        admitted_at=12.0,
        started_at=15.0,
        first_byte_at=19.0,
        finished_at=20.0,
        outcome=AttemptOutcome.OK,
        status=200,
        prompt_tokens=7,
        completion_tokens=5,
    )
    assert (record.queue_delay_s, record.exec_s) == (2.0, 8.0)


END = AttemptOutcome
RUNNING = (enqueued(10.0), granted(12.0), told("delivered", 12.0))
QUEUED = (enqueued(10.0),)
ENDS = {
    "the engine answered": (*RUNNING, released(20.0), END.OK),
    "the engine failed": (*RUNNING, released(20.0, ok=False, end="error", status=500), END.ERROR),
    "the engine refused what was asked": (*RUNNING, released(20.0, ok=False, end="refused", status=400), END.REFUSED),
    "the answer had no end": (*RUNNING, released(20.0, ok=False, end="truncated"), END.TRUNCATED),
    "its server was taken out before it was sent": (*RUNNING, released(20.0, ok=False, end="unsent"), END.QUARANTINED),
    "its caller left": (*RUNNING, released(20.0, ok=False, end="cancelled"), END.CANCELLED_RUNNING),
    "an agent said that it went well": (*RUNNING, released(20.0, end=None), END.OK),
    "an agent said that it went wrong": (*RUNNING, released(20.0, ok=False, end=None), END.ERROR),
    "its caller died": (*RUNNING, told("lapsed", 20.0, reason="lease"), END.EXPIRED),
    "its server was taken away": (*RUNNING, told("lapsed", 20.0, reason="server-gone"), END.EXPIRED),
    "its caller left the line": (*QUEUED, told("given_up", 20.0, waiter="c"), END.CANCELLED_QUEUED),
    "its caller left while its model loaded": (
        *QUEUED,
        granted(12.0),
        told("given_up", 20.0, waiter="c"),
        END.CANCELLED_QUEUED,
    ),
    "nobody asked for it any more": (*QUEUED, told("lapsed", 20.0, waiter="c"), END.EXPIRED),
    "its wait had its limit": (*QUEUED, told("stood_aside", 20.0, reason="gpu-busy"), END.QUEUE_TIMEOUT),
    "its caller waited as long as it would": (*QUEUED, told("given_up", 20.0, reason="gpu-busy"), END.QUEUE_TIMEOUT),
    "the line was full": (told("stood_aside", 20.0, reason="queue-full"), END.QUEUE_FULL),
    "the line was cleared": (*QUEUED, told("stood_aside", 20.0, reason="queue-cleared"), END.QUEUE_CLEARED),
    "nothing could ever hold it": (*QUEUED, told("stood_aside", 20.0, reason="model-too-large"), END.REFUSED),
}


@pytest.mark.parametrize("case", ENDS)
def test_an_end_has_one_name(case):
    *events, outcome = ENDS[case]

    record, call = attempt(events), call_of(events)

    assert (record.outcome, record.finished_at, call.outcome) == (outcome, 20.0, outcome)


def test_an_attempt_that_never_reached_a_server_has_a_queue_delay_and_no_run():
    """A-20, A-52: none is not zero."""
    record = attempt([enqueued(10.0), told("given_up", 14.0, waiter="c")])

    assert (record.queue_delay_s, record.exec_s) == (4.0, None)


def test_a_place_lost_before_it_was_taken_is_waited_for_again():
    events = [enqueued(10.0), granted(12.0), told("lapsed", 13.0, waiter="c", reason="load-failed")]

    waits = attempt(events)
    placed = attempt([*events, granted(15.0, server="gpu-2"), told("delivered", 16.0)])

    assert (waits.server, waits.admitted_at, waits.outcome) == ("", None, None)
    assert (placed.server, placed.admitted_at, placed.queue_delay_s) == ("gpu-2", 15.0, 5.0)


def test_what_is_told_after_the_end_changes_nothing():
    """A-25"""
    ended = [*RUNNING, told("lapsed", 20.0, reason="lease")]

    assert attempt([*ended, released(25.0)]) == attempt(ended)


RETRIED = [
    *RUNNING,
    released(20.0, ok=False, end="error", status=503),
    enqueued(21.0, "c.2"),
    granted(23.0, "c.2", "gpu-2"),
    told("delivered", 23.0, "c.2"),
    released(30.0, "c.2"),
]


def test_a_call_that_is_tried_again_stays_one_call_that_ends_as_its_last_attempt_did():
    """A-10"""
    call = call_of(RETRIED)

    assert (call.id, call.attempts, call.state, call.outcome, call.server) == ("c", 2, CallState.DONE, END.OK, "gpu-2")
    assert (call.arrived_at, call.granted_at, call.first_byte_at, call.finished_at) == (10.0, 23.0, 29.0, 30.0)


def test_a_call_that_is_tried_again_waits_again():
    call = call_of(RETRIED[:5])

    once = call_of(RETRIED[:4])
    assert (once.state, once.finished_at) == (CallState.FAILED, 20.0)
    assert call == replace(
        once,
        state=CallState.WAITING,
        outcome=None,
        attempts=2,
        server="",
        action="",
        granted_at=None,
        started_at=None,
        first_byte_at=None,
        finished_at=None,
        completion_tokens=None,
    )


def test_a_later_attempt_queues_from_when_it_came_not_from_when_its_call_did():
    record = attempt([event for event in RETRIED if event[1]["call"] == "c.2"])

    assert (record.id, record.call, record.number, record.queued_at, record.queue_delay_s) == ("c.2", "c", 2, 21.0, 2.0)


def test_the_late_word_of_an_earlier_attempt_is_not_about_the_call_any_more():
    late = told("lapsed", 26.0, reason="lease")

    assert call_of([*RETRIED[:3], *RETRIED[4:7], late]) == call_of([*RETRIED[:3], *RETRIED[4:7]])


def test_a_call_whose_caller_left_gave_up():
    call = call_of([*RUNNING, released(20.0, ok=False, end="cancelled")])

    assert call.state is CallState.GIVEN_UP


@pytest.mark.parametrize(("id", "call", "number"), [("abc", "abc", 1), ("abc.2", "abc", 2), ("abc.13", "abc", 13)])
def test_an_attempt_is_named_by_its_call_and_its_number(id, call, number):
    assert split_attempt_id(id) == (call, number)
    assert attempt_id(call=call, number=number) == id


@pytest.mark.parametrize("id", ["", ".2", "abc.", "abc.x"])
def test_a_name_without_a_number_is_a_call(id):
    assert split_attempt_id(id) == (id, 1)
