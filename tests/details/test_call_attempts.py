"""A call that was tried more than once: what its page and the list of calls tell of that."""

import pytest

from kubemoot_web.board.details.attempts import AttemptRow
from kubemoot_web.board.details.call import Fact
from kubemoot_web.board.details.call_rows import rows_of
from kubemoot_web.board.marks import Palette
from kubemoot_web.board.times import moment
from scheduler.core.attempt_history import AttemptOutcome, AttemptRecord
from scheduler.core.call_history import CallState
from scheduler.core.messages.attempts import attempt_told
from tests.board.views import NOON, copy, record, waiter
from tests.details.test_calls import call, sheet


def attempt(number: int = 1, **more) -> AttemptRecord:
    """Make an attempt that waited 2 s for its place and ran 8 s."""
    times = {"queued_at": NOON, "admitted_at": NOON + 2, "started_at": NOON + 3, "finished_at": NOON + 10}
    given = {"agent": "default/analyst", "model": "m", "server": "gpu-1", "outcome": AttemptOutcome.OK, **times}
    return AttemptRecord(id=f"c1.{number}", call="c1", number=number, **given | more)


def test_a_call_lists_its_attempts_and_says_how_it_ended():
    tried = (
        attempt(outcome=AttemptOutcome.ERROR, status=503),
        attempt(2, server="gpu-2", first_byte_at=NOON + 5, status=200),
    )

    shown = sheet(
        call=call(attempts=2, outcome=AttemptOutcome.OK, key="ab12", first_byte_at=NOON + 12),
        attempts=tried,
        keys={"ab12": "nightly job"},
    )

    assert shown is not None
    assert shown.attempts == (
        AttemptRow(
            at=moment(NOON),
            says="1. m on gpu-1: the engine failed (HTTP 503)",
            lasted="queued 2.0 s, held its place 8.0 s",
            tone="bad",
        ),
        AttemptRow(
            at=moment(NOON),
            says="2. m on gpu-2: answered",
            lasted="queued 2.0 s, first byte after 2.0 s, held its place 8.0 s",
            tone="good",
        ),
    )
    assert Fact(name="key", value="nightly job (km_ab12…)") in shown.facts
    assert Fact(name="how it ended", value="answered") in shown.facts
    assert ("first byte", moment(NOON + 12)) in shown.times


TOLD = {
    "1. waits for a place": attempt(server="", outcome=None, admitted_at=None, started_at=None, finished_at=None),
    "1. m on gpu-1: goes on": attempt(outcome=None, finished_at=None),
    "1. no place: waited to its limit": attempt(server="", outcome=AttemptOutcome.QUEUE_TIMEOUT),
    "3. m on gpu-1: cut short": attempt(3, outcome=AttemptOutcome.TRUNCATED, status=200),
}


@pytest.mark.parametrize("said", TOLD)
def test_an_attempt_is_told_in_a_sentence(said):
    assert attempt_told(attempt=TOLD[said]) == said


def test_the_second_attempt_of_a_call_that_waits_says_where_it_stands():
    rows = (
        ("server", "gpu-1", record(residents=[copy()])),
        ("waiter", "c1.2", waiter("c1.2", model="qwen3:14b", server="gpu-1", action="queue")),
    )
    waits = {"state": CallState.WAITING, "granted_at": None, "started_at": None, "finished_at": None}

    shown = sheet(*rows, call=call(attempts=2, **waits))

    assert shown is not None
    assert shown.waits is not None


def test_a_key_that_was_revoked_is_told_by_what_it_began_with():
    shown = sheet(call=call(key="ab12"))

    assert shown is not None
    assert Fact(name="key", value="km_ab12…, which is revoked") in shown.facts


def test_a_row_tells_what_a_call_was_for_and_by_whose_key_and_what_went_wrong():
    """A key that gave its call the name, for it speaks for no agent, is not named twice."""
    calls = [
        call(purpose="synthesis", key="ab12", attempts=3, outcome=AttemptOutcome.TRUNCATED),
        call("c2", agent="nightly job", key="ab12", outcome=AttemptOutcome.OK),
        call("c3", key="cd34"),
    ]

    rows = rows_of(calls=calls, keys={"ab12": "nightly job"}, palette=Palette([]), now=NOON)

    assert [row.about for row in rows] == ["synthesis · key nightly job · 3 attempts · cut short", "", "key cd34"]
