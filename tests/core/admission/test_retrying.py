"""Whether a failed call is sent again."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler.core.admission.retrying import Again, Failure, again, back_off_s, failure_of, read_retry_after

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("value", "delay_s"),
    [
        ("3", 3),
        ("1.5", 1.5),
        ("0", 0),
        ("-5", None),
        ("Sun, 29 Nov 2026 12:00:07 GMT", 7),
        ("Sun, 29 Nov 2026 11:59:00 GMT", 0),
        ("99999999999999999999", 120),
        ("soon", None),
        ("", None),
        ("nan", None),
    ],
)
def test_a_retry_after_in_any_spelling_is_a_pause_or_nothing(value, delay_s):
    """C64: dates were dropped, negative values switched the back-off off, huge ones crashed the sleep."""
    assert read_retry_after(value, now=NOW, most_s=120) == delay_s


@given(st.text())
def test_no_retry_after_is_negative_or_an_exception(value):
    delay_s = read_retry_after(value, now=NOW)

    assert delay_s is None or 0 <= delay_s <= 30


@pytest.mark.parametrize(
    ("failure", "is_sent_elsewhere"),
    [
        (Failure.UNREACHED, True),
        (Failure.BUSY, True),
        (Failure.ERROR, True),
        (Failure.BROKEN, False),
        (Failure.REDIRECTED, False),
    ],
)
def test_what_an_engine_may_be_at_work_on_is_never_sent_again(failure, is_sent_elsewhere):
    """C65: a call that the engine had accepted was sent again after a read time-out, and two generations ran."""
    found = again(failure=failure, attempt=1, wish_s=None, is_elsewhere=True)

    assert found == (Again(after_s=0, elsewhere=True) if is_sent_elsewhere else None)


@pytest.mark.parametrize(
    ("failure", "attempt", "wish_s", "expected"),
    [
        (Failure.BUSY, 1, None, Again(after_s=0.5, elsewhere=False)),
        (Failure.BUSY, 2, None, Again(after_s=1.0, elsewhere=False)),
        (Failure.BUSY, 3, None, None),
        (Failure.BUSY, 1, 4.0, Again(after_s=4.0, elsewhere=False)),
        (Failure.BUSY, 1, 500.0, Again(after_s=30.0, elsewhere=False)),
        (Failure.UNREACHED, 1, None, Again(after_s=0.5, elsewhere=False)),
        (Failure.ERROR, 1, None, None),
    ],
)
def test_the_only_server_is_asked_again_after_a_pause_unless_it_tried_and_failed(failure, attempt, wish_s, expected):
    assert again(failure=failure, attempt=attempt, wish_s=wish_s, is_elsewhere=False) == expected


def test_the_pause_doubles_up_to_ten_seconds():
    assert [back_off_s(attempt=n) for n in range(1, 8)] == [0.5, 1, 2, 4, 8, 10, 10]


@pytest.mark.parametrize(
    ("status", "failure"),
    [
        (101, Failure.ERROR),
        (200, None),
        (302, Failure.REDIRECTED),
        (400, None),
        (401, Failure.ERROR),
        (403, None),
        (404, None),
        (422, None),
        (429, Failure.BUSY),
        (500, Failure.ERROR),
        (501, None),
        (503, Failure.BUSY),
    ],
)
def test_an_answers_status_says_whose_it_is(status, failure):
    """C25: an error of the caller's own is the caller's, and says nothing about the server."""
    assert failure_of(status=status) == failure
