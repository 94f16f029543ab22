"""What people read of a server that takes no calls because somebody said so."""

import pytest

from scheduler.core.admission.closed import closed_by, running_on
from scheduler.core.gate import Admission, AdmissionBy, AdmissionState
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
