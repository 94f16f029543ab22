"""What waiters, plans and people see of a server whose calls failed in a row."""

from dataclasses import replace

import pytest

from scheduler.core import cycle
from scheduler.core.admission.closed import Closed, closed_by, closed_places
from scheduler.core.config import SchedulerConfig
from scheduler.core.gate import Circuit
from scheduler.core.ledger import CallEnd, GrantChange, Outcome, Plan, ServerConfig, ServerLearned, ServerRecord
from scheduler.core.messages.admission import circuit_tried, waiting_for_servers
from scheduler.core.selection import plan_selection
from scheduler.core.standing import standings
from tests.builders import NOW, call, cluster, server
from tests.core.play import Play, at_once, card, holds

FAILED = Outcome(ok=False, end=CallEnd.ERROR)


def failing(play: Play, *, at: float, calls: int = 3) -> None:
    """Have calls fail on the stage, at once."""

    def fail() -> None:
        for ticket in list(play.ledger.replica.tickets):
            at_once(play.ledger.release(ticket=ticket, outcome=FAILED, now=play.clock.at))

    for number in range(calls):
        play.call(f"bad-{at}-{number}", ("m", 60), at=at, runs_s=1000)
    play.at(at + 0.1, fail)


def test_who_waits_is_tried_again_when_the_rest_is_over_one_first_and_the_others_when_that_went_well():
    play = Play().build(card(slots=4), holding={"gpu-a": [holds("m", 1024)]})
    failing(play, at=0.0)
    for number in range(3):
        play.call(f"w{number}", ("m", 60), at=1.0 + number, runs_s=4)

    play.until(30)

    # The first tick after 0.1 + 10 s, then the length of the trial.
    assert {key: served.at for key, served in play.served.items() if key[0] == "w"} == {
        "w0": 11.0,
        "w1": 15.0,
        "w2": 15.0,
    }
    assert play.stood_aside == {}


def test_calls_go_elsewhere_meanwhile():
    play = Play().build(
        card(slots=4), card("gpu-b"), holding={"gpu-a": [holds("m", 1024)], "gpu-b": [holds("n", 1024)]}
    )
    failing(play, at=0.0)

    play.call("x", ("m", 60), ("n", 60), at=1.0).until(2)

    assert (play.served["x"].server, play.served["x"].at) == ("gpu-b", 1.0)


HALF_OPEN = server("gpu-1").loaded("m", 1024, slots=4).having(half_open=True)


def test_of_those_planned_together_one_gets_the_half_open_server():
    snapshot = cluster(HALF_OPEN).at()
    waiters = [call(name).prefers("m").waits(since=NOW - 9, key=name) for name in "abc"]
    changes, after = cycle.plan(
        snapshot=snapshot, waiters=waiters, held={}, config=SchedulerConfig(), is_weighted=False
    )

    assert [change.ticket.agent for change in changes if isinstance(change, GrantChange)] == ["a"]
    assert not after.servers["gpu-1"].is_open


def test_no_place_is_held_for_selected_agents_where_a_single_call_tries():
    waiter = call("a").prefers("m").waits(key="a")

    grants, decisions = plan_selection(
        snapshot=cluster(HALF_OPEN).at(), selected=[(Plan(id="p", agent="a", thread=""), waiter)]
    )

    assert (grants, decisions["p"].action) == ((), "wait")


def waiting(*servers, model="m"):
    snapshot = cluster(*servers).knowing("m", 1024).at()
    waiter = call("a").prefers(model).waits(since=NOW - 9)
    return snapshot, waiter


RESTS = server("gpu-1").loaded("m", 1024).having(circuit_open=True)
ELSEWHERE = server("gpu-2").having(models=frozenset({"n"}))


@pytest.mark.parametrize(
    ("servers", "closed"),
    [
        ((RESTS,), ("gpu-1",)),
        ((RESTS, ELSEWHERE), ("gpu-1",)),
        ((RESTS, server("gpu-2")), ()),
        ((RESTS, server("gpu-2").having(ready=False)), ("gpu-1", "gpu-2")),
        ((server("gpu-1").loaded("m", 1024).busy("m"),), ()),
    ],
)
def test_who_waits_for_closed_servers_alone_is_told_their_names(servers, closed):
    snapshot, waiter = waiting(*servers)

    assert closed_places(snapshot=snapshot, waiter=waiter) == closed


def test_such_a_wait_has_no_estimate_and_true_words():
    """C25: "no server available" while the only one is there."""
    snapshot, waiter = waiting(RESTS, ELSEWHERE)
    told = replace(waiter, model="m")
    (standing,) = standings(snapshot=snapshot, waiters=[told], config=SchedulerConfig(), is_weighted=False)

    assert (standing.eta_s, standing.closed) == (None, ("gpu-1",))
    assert waiting_for_servers(model="m", servers=standing.closed) == (
        "waiting for gpu-1 to take calls: m has no place elsewhere"
    )


def test_long_lists_of_servers_are_cut():
    said = waiting_for_servers(model="m", servers=["a", "b", "c", "d", "e"])

    assert said == "waiting for a, b, c and 2 more to take calls: m has no place elsewhere"


OPENED = Circuit(failures=3, openings=1, opened_at=990.0, rests_until=1010.0, status=503)


@pytest.mark.parametrize(
    ("circuit", "now", "closed"),
    [
        (Circuit(failures=2), 1000.0, None),
        (
            OPENED,
            1002.0,
            Closed(
                kind="circuit",
                since=990.0,
                until=1010.0,
                sentence="3 calls in a row failed here, the last with HTTP 503. Nothing is placed here for a "
                "while; then one call tries it.",
            ),
        ),
        (
            OPENED,
            1010.0,
            Closed(
                kind="circuit",
                since=990.0,
                until=None,
                sentence="3 calls in a row failed here. One call tries it; others wait for how that ends.",
            ),
        ),
    ],
)
def test_people_read_since_when_until_when_and_why(circuit, now, closed):
    config = ServerConfig(name="gpu-1", kind="ollama", endpoint="e")
    record = ServerRecord(config=config, learned=ServerLearned(circuit=circuit))

    assert closed_by(record=record, server=server("gpu-1").value, now=now) == closed


@pytest.mark.parametrize(
    ("failures", "said"),
    [
        (0, "The engine was silent, and its calls are over. One call tries it; others wait for how that ends."),
        (1, "The call that tried it failed. One call tries it; others wait for how that ends."),
    ],
)
def test_a_trial_after_silence_is_told_as_such(failures, said):
    assert circuit_tried(failures=failures) == said
