"""What many attempts say about their servers, A-53 above all."""

import pytest

from scheduler.core.attempt_history import AttemptOutcome, AttemptRecord
from scheduler.core.attempt_summary import ServerSummary, Switch, Switches, changes_of, summaries_of, switches_of


def every(seconds: float, models: str) -> list[tuple[float, str]]:
    """Admit models, each a letter, one after another."""
    return [(number * seconds, model) for number, model in enumerate(models)]


SWITCHES = {
    "nothing ran": ([], (0, 0)),
    "one model, many calls": (every(1, "AAAA"), (0, 0)),
    "a summary on another model: two switches in three calls": (every(1, "ABA"), (2, 1)),
    "a summary on the same model": (every(1, "AAA"), (0, 0)),
    "another model for good": (every(1, "AABB"), (1, 0)),
    "three models in turn come back to none of the last": (every(1, "ABCABC"), (5, 0)),
    "to and fro": (every(1, "ABABA"), (4, 3)),
    "a run of calls in between is one leaving": (every(1, "ABBBA"), (2, 1)),
    "back after exactly five minutes": (every(150, "ABA"), (2, 1)),
    "back after more than five minutes": (every(151, "ABA"), (2, 0)),
    "the time counts from the last call before it left": ([(0, "A"), (1000, "A"), (1001, "B"), (1299, "A")], (2, 1)),
    "the order is that of the time": ([(2, "A"), (0, "A"), (1, "B")], (2, 1)),
}


@pytest.mark.parametrize("case", SWITCHES)
def test_switches_are_counted_and_those_that_were_soon_taken_back(case):
    """A-53"""
    admitted, (switches, avoidable) = SWITCHES[case]

    assert switches_of(admitted=admitted) == Switches(switches=switches, avoidable=avoidable)


def test_each_switch_names_what_came_after_what_and_whether_that_was_for_nothing():
    assert tuple(changes_of(admitted=every(1, "ABA"))) == (
        Switch(at=1.0, model="B", after="A", is_back=False),
        Switch(at=2.0, model="A", after="B", is_back=True),
    )


def attempt(number: int, **more) -> AttemptRecord:
    """Make an attempt on gpu-1 that waited as many seconds as its number says."""
    names = {"id": f"a{number}", "call": f"a{number}", "number": 1, "agent": "a/b"}
    given = {"server": "gpu-1", "endpoint": "http://gpu-1:11434", "model": "m", "outcome": AttemptOutcome.OK}
    times = {"queued_at": 100.0, "admitted_at": 100.0 + number, "started_at": 100.0 + number, "finished_at": 150.0}
    return AttemptRecord(**names | given | times | more)


def test_attempts_are_summed_up_by_server():
    attempts = [
        *(attempt(number) for number in range(1, 20)),
        attempt(20, outcome=AttemptOutcome.ERROR, model="n"),
        attempt(21, outcome=None, finished_at=None, model="m"),
        attempt(0, server="", endpoint="", outcome=AttemptOutcome.QUEUE_TIMEOUT, admitted_at=None, started_at=None),
    ]

    assert summaries_of(attempts=attempts, since=0.0, until=1800.0) == (
        ServerSummary(
            server="",
            endpoint="",
            attempts=1,
            outcomes={"queue_timeout": 1},
            queue_p50_s=50.0,
            queue_p95_s=50.0,
            switches=Switches(switches=0, avoidable=0),
            switches_per_hour=0.0,
        ),
        ServerSummary(
            server="gpu-1",
            endpoint="http://gpu-1:11434",
            attempts=21,
            outcomes={"ok": 19, "error": 1},
            queue_p50_s=11.0,
            queue_p95_s=20.0,
            switches=Switches(switches=2, avoidable=1),
            switches_per_hour=4.0,
        ),
    )


def test_attempts_that_only_wait_have_no_delay_yet():
    waiting = attempt(1, outcome=None, admitted_at=None, started_at=None, finished_at=None, server="")

    (summary,) = summaries_of(attempts=[waiting], since=0.0, until=60.0)

    assert (summary.queue_p50_s, summary.queue_p95_s, summary.outcomes) == (None, None, {})
