"""What people read of a server that takes no calls because somebody said so."""

from typing import Any

import pytest

from scheduler.core.admission.closed import Closed, closed_by, running_on
from scheduler.core.gate import AMBIGUOUS, Admission, AdmissionBy, AdmissionState, QuarantineCause
from scheduler.core.ledger import ServerConfig, ServerRecord
from scheduler.core.messages import stood_aside
from tests.builders import server

IDLE = server("gpu-1").loaded("m")
BUSY = IDLE.busy("m", times=2).load("n")
HELD = IDLE.ticket("m", state="planned")

TABLE = [
    ("open", "operator", "", BUSY, None),
    (
        *("paused", "operator", "new fans", BUSY),
        ("paused", "Paused: new fans. What runs here goes on; nothing new is placed here until it is resumed."),
    ),
    (
        *("paused", "operator", " ", IDLE),
        ("paused", "Paused. What runs here goes on; nothing new is placed here until it is resumed."),
    ),
    (
        *("draining", "operator", "New disk.", BUSY),
        ("draining", "Being drained: New disk. 3 still run here; nothing new comes."),
    ),
    (
        *("draining", "operator", "", IDLE),
        ("drained", "Drained. Nothing runs here; it takes calls again once it is resumed."),
    ),
    (
        *("draining", "operator", "", HELD),
        ("drained", "Drained. Nothing runs here; it takes calls again once it is resumed."),
    ),
    (
        *("quarantined", "operator", "wrong answers", IDLE),
        ("quarantined", "Taken out: wrong answers. Nothing is placed here. An operator takes it back."),
    ),
    (
        *("quarantined", "system", "silent", IDLE),
        (
            "quarantined",
            "Taken out: silent. Nothing is placed here. It comes back when its engine answers, or by an operator.",
        ),
    ),
]


DOUBTS = {
    "ambiguous_timeout": "a call timed out here after it was sent",
    "ambiguous_transport": "the connection of a call broke here after it was sent",
    "incomplete_response": "an answer ended here without its final mark",
    "worker_terminated": "nobody has heard any more of whoever held a call here",
}


@pytest.mark.parametrize(("cause", "why"), DOUBTS.items())
def test_a_server_in_doubt_says_why_and_what_brings_it_back(cause, why):
    """A-28."""
    assert sorted(DOUBTS) == sorted(AMBIGUOUS)

    closed = closed_by(record=in_doubt(cause), server=IDLE.value, now=1000.0)

    assert closed == Closed(
        kind="quarantined",
        since=995.0,
        until=1005.0,
        sentence=f"Taken out: {why}, and nobody knows whether the engine still works on it. Nothing is placed here. It "
        "comes back 10 s after that at the earliest, when no call is left here and a probe finds it ready; or by an "
        "operator.",
    )


@pytest.mark.parametrize(
    ("config", "built", "now", "until"),
    [
        ({}, BUSY, 1000.0, None),
        ({}, HELD, 1000.0, 1005.0),
        ({}, IDLE, 1005.0, None),
        ({"aborts_on_disconnect": False, "call_timeout_s": 300.0}, IDLE, 1005.0, 1295.0),
    ],
    ids=["calls run there", "only a place is held", "the next good probe", "an engine that works on"],
)
def test_until_when_it_is_in_doubt_is_said_while_that_is_known(config, built, now, until):
    closed = closed_by(record=in_doubt("ambiguous_timeout", **config), server=built.value, now=now)

    assert closed is not None
    assert closed.until == until


def in_doubt(cause: str, **config: Any) -> ServerRecord:
    """Describe a server that was taken out five seconds ago."""
    return ServerRecord(
        config=ServerConfig(name="gpu-1", kind="ollama", endpoint="e", **config),
        admission=Admission(
            state=AdmissionState.QUARANTINED, since=995.0, by=AdmissionBy.SYSTEM, cause=QuarantineCause(cause)
        ),
    )


@pytest.mark.parametrize(("state", "by", "reason", "built", "said"), TABLE)
def test_the_state_of_a_server_in_words(state, by, reason, built, said):
    admission = Admission(state=AdmissionState(state), reason=reason, since=900.0, by=AdmissionBy(by))
    config = ServerConfig(name="gpu-1", kind="ollama", endpoint="e")

    closed = closed_by(record=ServerRecord(config=config, admission=admission), server=built.value, now=1000.0)

    assert (None if closed is None else (closed.kind, closed.sentence)) == said
    assert closed is None or (closed.since, closed.until) == (900.0, None)


def test_a_load_with_its_callers_keeps_a_server_from_being_drained_once():
    built = IDLE.load("n").loading("n", id="t1")

    assert running_on(built.value) == ("t1",)


def test_who_was_sent_away_reads_by_whom():
    assert stood_aside(reason="queue-cleared", model="m") == (
        "An operator cleared the queue that the call for m stood in. Send it again, or ask them why."
    )
