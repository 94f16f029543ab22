"""What becomes of a call whose place is taken back."""

from dataclasses import replace

from scheduler.core.attempt_history import AttemptOutcome
from scheduler.core.call_history import CallRecord, CallState, fold

GRANTED = CallRecord(
    id="c1",
    agent="default/scout",
    state=CallState.LOADING,
    arrived_at=1.0,
    model="m",
    server="gpu-1",
    action="use",
    granted_at=2.0,
)


def lapsed(**more: object) -> CallRecord | None:
    """Fold the end of the granted place into the call."""
    return fold(record=GRANTED, event={"type": "lapsed", "call": "c1", **more}, at=30.0)


def test_a_caller_that_has_not_got_its_place_yet_waits_again_when_the_place_goes():
    again = replace(GRANTED, state=CallState.WAITING, reason="load-failed", granted_at=None)
    assert lapsed(waiter="c1", reason="load-failed") == again


def test_a_caller_that_fell_silent_before_it_took_its_place_does_not_wait_for_ever():
    """After a killed web process pages went on telling of waiting calls that nobody made any more."""
    expired = AttemptOutcome.EXPIRED
    assert lapsed(waiter="c1") == replace(GRANTED, state=CallState.LAPSED, outcome=expired, finished_at=30.0)


def test_a_running_call_whose_lease_ended_has_lost_its_place():
    lost = replace(GRANTED, state=CallState.LAPSED, outcome=AttemptOutcome.EXPIRED, reason="lease", finished_at=30.0)
    assert lapsed(reason="lease") == lost


def test_a_call_whose_caller_left_while_its_engine_works_on_says_so_until_its_place_is_given_back():
    running = replace(GRANTED, state=CallState.RUNNING, started_at=3.0)

    left = fold(record=running, event={"type": "left", "call": "c1"}, at=5.0)
    ended = fold(record=left, event={"type": "released", "call": "c1", "ok": False, "end": "cancelled"}, at=9.0)

    assert left == replace(running, state=CallState.LEFT)
    assert ended == replace(
        running, state=CallState.GIVEN_UP, outcome=AttemptOutcome.CANCELLED_RUNNING, finished_at=9.0
    )
