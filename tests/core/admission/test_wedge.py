"""Engines that fell silent: who is taken out, who is let back in, and that nobody else is touched."""

from typing import Any

import pytest

from scheduler.core.admission.wedge import Step, is_watched, steps
from scheduler.core.config import SchedulerConfig
from scheduler.core.gate import AMBIGUOUS, Admission, AdmissionBy, AdmissionState, QuarantineCause
from scheduler.core.ledger import CallEnd, Outcome, ServerConfig, ServerLearned, ServerRecord
from scheduler.core.ledger_docs import to_doc
from scheduler.core.replica import Replica
from scheduler.core.types import LoadUnderWay, Ticket, TicketState
from scheduler.services.admission import engines_watch
from tests.core.play import Play, at_once, card, holds

CONFIG = SchedulerConfig()
NOW = 1000.0
ACTIVE = TicketState.ACTIVE
FAILED = Outcome(ok=False, end=CallEnd.ERROR)


def said(
    state: str = "open", *, by: str = "system", since: float = 0.0, cause: QuarantineCause | None = None
) -> Admission:
    return Admission(state=AdmissionState(state), since=since, by=AdmissionBy(by), cause=cause)


def replica(
    *tickets: tuple[str, TicketState], admission: Admission | None = None, load: bool = False, **learned: Any
) -> Replica:
    """Make a replica of one server with tickets that began long ago."""
    record = ServerRecord(
        config=ServerConfig(name="gpu-1", kind="ollama", endpoint="e"),
        learned=ServerLearned(**{"call_s": 4.0} | learned),
        admission=admission or Admission(),
    )
    made = Replica(config=CONFIG)
    rows: list[Any] = [("server", "gpu-1", to_doc(record))]
    for id, state in tickets:
        ticket = Ticket(id=id, server="gpu-1", agent="a", model="m", state=state, started_at=NOW - 500)
        rows.append(("ticket", id, to_doc(ticket)))
    if load:
        under_way = LoadUnderWay(server="gpu-1", model="n", footprint_mib=1, started_at=NOW)
        rows.append(("load", "gpu-1#n", to_doc(under_way)))
    made.apply(version=1, deltas=rows)
    return made


def found(made: Replica, **bytes_ago: float) -> list[tuple[str, bool]]:
    """Look at a replica; give the state each server is put in, and whether for a trial."""
    progress = {ticket: NOW - ago for ticket, ago in bytes_ago.items()}
    return [(s.admission.state.value, s.trial) for s in steps(replica=made, progress=progress, config=CONFIG, now=NOW)]


OUT = [("quarantined", False)]
ONE, TWO = (("t1", ACTIVE),), (("t1", ACTIVE), ("t2", ACTIVE))

SILENT = [
    ("one call that is silent for too long", ONE, {}, {"t1": 60.1}, OUT),
    ("one call that is silent for just long enough", ONE, {}, {"t1": 60.0}, []),
    ("all of several", TWO, {}, {"t1": 61, "t2": 90}, OUT),
    ("one of two: the other had a byte", TWO, {}, {"t1": 300, "t2": 5}, []),
    ("one of two: the other does not tell", TWO, {}, {"t1": 61}, OUT),
    ("nobody tells", TWO, {}, {}, []),
    ("another call ended well meanwhile", ONE, {"answered_at": NOW - 30}, {"t1": 300}, []),
    ("another call ended well before", ONE, {"answered_at": NOW - 70}, {"t1": 300}, OUT),
    ("where calls are long, silence may be", ONE, {"call_s": 40.0}, {"t1": 199}, []),
    ("where calls are long, for five of them", ONE, {"call_s": 40.0}, {"t1": 201}, OUT),
    ("where nothing is known of calls, five usual ones", ONE, {"call_s": None}, {"t1": 149}, []),
    ("where nothing is known of calls, longer", ONE, {"call_s": None}, {"t1": 151}, OUT),
    ("a place that is only held", (("t1", TicketState.PLANNED),), {}, {"t1": 300}, []),
    ("a call whose model loads", (("t1", TicketState.LOADING),), {}, {"t1": 300}, []),
]


@pytest.mark.parametrize(
    ("tickets", "learned", "bytes_ago", "out"), [row[1:] for row in SILENT], ids=[r[0] for r in SILENT]
)
def test_a_server_is_taken_out_for_silence_alone(tickets, learned, bytes_ago, out):
    assert found(replica(*tickets, **learned), **bytes_ago) == out


@pytest.mark.parametrize("state", ["paused", "draining", "quarantined"])
def test_what_an_operator_said_is_left_alone(state):
    made = replica(*ONE, admission=said(state, by="operator"))

    assert found(made, t1=300) == []
    assert found(replica(admission=said(state, by="operator"))) == []


def test_who_was_taken_back_by_an_operator_is_believed_for_one_more_silence():
    assert found(replica(*ONE, admission=said(by="operator", since=NOW - 60)), t1=300) == []
    assert found(replica(*ONE, admission=said(by="operator", since=NOW - 61)), t1=300) == OUT


SILENCE = QuarantineCause.SILENT
TAKEN = said("quarantined", since=NOW - 100, cause=SILENCE)
BACK, TRIED = [("open", False)], [("open", True)]
BACK_IN = [
    ("still silent", ONE, {}, {"t1": 300}, []),
    ("a byte came", ONE, {}, {"t1": 99}, BACK),
    ("a call ended well", ONE, {"answered_at": NOW - 1}, {"t1": 300}, BACK),
    ("nothing is left there", (), {}, {}, TRIED),
    ("only a held place is left", (("p", TicketState.PLANNED),), {}, {}, TRIED),
    ("a call is left that does not tell", ONE, {}, {}, []),
    ("a load is left", (), {"load": True}, {}, []),
]


@pytest.mark.parametrize(
    ("tickets", "more", "bytes_ago", "back"), [row[1:] for row in BACK_IN], ids=[r[0] for r in BACK_IN]
)
def test_a_server_that_was_taken_out_comes_back_by_a_sign_of_life_or_empty_for_a_trial(tickets, more, bytes_ago, back):
    assert found(replica(*tickets, admission=TAKEN, **more), **bytes_ago) == back


def test_an_empty_one_rests_first():
    assert found(replica(admission=said("quarantined", since=NOW - 9.9, cause=SILENCE))) == []


@pytest.mark.parametrize("cause", sorted(AMBIGUOUS))
def test_one_that_was_taken_out_in_doubt_is_not_let_back_in_for_its_silence(cause):
    """A-28: what ends a silence does not tell what an engine still works on."""
    made = replica(admission=said("quarantined", since=NOW - 500, cause=cause), answered_at=NOW - 1)

    assert (found(made), is_watched(replica=made, config=CONFIG, now=NOW)) == ([], False)


def test_the_reason_is_said_in_words():
    (step,) = steps(replica=replica(*TWO), progress={"t1": NOW - 300, "t2": NOW - 70}, config=CONFIG, now=NOW)

    assert step == Step(
        server="gpu-1",
        admission=Admission(
            state=AdmissionState.QUARANTINED,
            reason="2 calls are at work here and nothing came for 70 s, although the server answers probes",
            since=NOW,
            by=AdmissionBy.SYSTEM,
            cause=QuarantineCause.SILENT,
        ),
    )


@pytest.mark.parametrize(
    ("made", "is_worth_asking"),
    [
        (replica(), False),
        (replica(*ONE), True),
        (replica(("p", TicketState.PLANNED)), False),
        (replica(admission=TAKEN), True),
        (replica(admission=said("paused", by="operator")), False),
    ],
)
def test_the_ledger_is_asked_only_where_somebody_could_have_fallen_silent(made, is_worth_asking):
    assert is_watched(replica=made, config=CONFIG, now=NOW) is is_worth_asking


def test_a_wedged_engine_is_taken_out_and_comes_back_by_a_single_call():
    """Calls at work, no byte, gauges still, health green: everybody waits for what never comes."""
    play = Play().build(card(slots=2), holding={"gpu-a": [holds("m", 1024)]})
    for second in range(400):
        play.at(second, lambda: at_once(engines_watch(ledger=play.ledger, config=CONFIG, now=play.clock.at)))
    for second in range(1, 200, 5):
        play.at(second, lambda: _renewed(play))
    play.call("silent", ("m", 60), at=0.0, runs_s=1000)
    play.at(190.5, lambda: at_once(play.ledger.release(ticket="t-silent", outcome=FAILED, now=play.clock.at)))
    for number in range(3):
        play.call(f"w{number}", ("m", 60), at=160.0 + number, runs_s=6, limit_s=300)

    play.until(155)
    assert play.ledger.replica.servers["gpu-a"].admission.state is AdmissionState.QUARANTINED
    play.until(300)

    assert play.ledger.replica.servers["gpu-a"].admission.is_open
    began = {key: served.at for key, served in play.served.items()}
    assert began == {"silent": 0.0, "w0": 191.0, "w1": 197.0, "w2": 197.0}


def _renewed(play: Play) -> None:
    for ticket in play.ledger.replica.tickets.values():
        at_once(play.ledger.renew(ticket=ticket.id, progress_at=ticket.started_at))
