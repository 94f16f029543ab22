"""A place held at selection: taken by the agent's call, lent to its earlier ones, given up when it is no good."""

import json
from dataclasses import replace

import pytest

from scheduler.core import cycle
from scheduler.core.ledger import GrantChange
from scheduler.core.placement.held import HeldPlace, useless_plans
from scheduler.core.types import TicketState
from tests.builders import NOW, call, cluster, server
from tests.core.planned import CONFIG, planned

PLANNED = {"state": "planned", "agent": "analyst", "id": "p-1", "plan": "plan-1"}
HELD = server().loaded("m").ticket("m", **PLANNED)
CHOSEN = '{"action":"load","plannedAt":990.0}'


def plan(snapshot, *waiters):
    """The changes, where the plan `plan-1` holds the ticket `p-1`."""
    ticket = next(ticket for each in snapshot.servers.values() for ticket in each.tickets if ticket.id == "p-1")
    changes, _ = cycle.plan(snapshot=snapshot, waiters=waiters, held=holding(ticket), config=CONFIG, is_weighted=False)
    return changes


def holding(ticket):
    """The plan `plan-1` with its place."""
    return {"plan-1": HeldPlace(ticket=ticket, trace=CHOSEN)}


def caller(**more):
    """The agent's own call, of its plan."""
    return replace(call("analyst").prefers("m", 70).then("n", 65).waits(key="w"), plan="plan-1", **more)


def grant_of(change: object):
    assert isinstance(change, GrantChange)
    return (change.ticket.state, change.ticket.server, change.ticket.model, change.ticket.action, change.replaces)


def test_the_agent_s_call_takes_its_place_and_gives_the_plan_back_in_one_step():
    (change,) = plan(cluster(HELD).at(), caller())

    assert grant_of(change) == (TicketState.ACTIVE, "gpu-1", "m", "use", "p-1")


def test_it_takes_its_place_although_an_older_waiter_wants_it():
    """The place is the agent's; nobody older can use it now."""
    older = call("older").prefers("m").waits(since=NOW - 50, model="m", action="queue", server="gpu-1")

    (change,) = plan(cluster(HELD).at(), older, caller())

    assert grant_of(change) == (TicketState.ACTIVE, "gpu-1", "m", "use", "p-1")


def test_it_takes_its_place_rather_than_the_preferred_model_elsewhere():
    """The plan was made for it; what it would do without one is no matter."""
    snapshot = cluster(server("gpu-1").loaded("n").ticket("n", **PLANNED), server("gpu-2").loaded("m")).at()

    (change,) = plan(snapshot, caller())

    assert grant_of(change) == (TicketState.ACTIVE, "gpu-1", "n", "use", "p-1")


def test_while_the_place_still_loads_it_joins_the_load():
    snapshot = cluster(server().load("m").ticket("m", **PLANNED, action="load")).at()

    (change,) = plan(snapshot, caller())

    assert grant_of(change) == (TicketState.LOADING, "gpu-1", "m", "load", "p-1")


def test_the_call_takes_over_the_decision_that_chose_its_place():
    """Nothing is weighed for a call whose place is held; what was weighed at selection is why it runs there."""
    (change,) = plan(cluster(HELD).at(), caller())

    assert isinstance(change, GrantChange)
    assert change.trace == CHOSEN


def test_a_call_placed_afresh_is_told_by_its_own_decision():
    snapshot = cluster(HELD.having(ready=False), server("gpu-2").loaded("m")).at()

    (change,) = plan(snapshot, caller())

    assert isinstance(change, GrantChange)
    assert json.loads(change.trace)["options"][0]["server"] == "gpu-2"


def test_an_earlier_call_of_the_agent_is_lent_the_place():
    """Its triage: nobody waits for itself."""
    triage = replace(caller(), plan=None)

    (change,) = plan(cluster(HELD).at(), triage)

    assert grant_of(change) == (TicketState.ACTIVE, "gpu-1", "m", "use", None)


def test_while_the_place_is_lent_the_agent_s_call_queues_for_it():
    lent = HELD.busy("m", agent="analyst", at=NOW - 10)

    changes = planned(cluster(lent).at(), caller(), held=holding(lent.value.tickets[0]))

    assert changes == [("queue", "w", "m", "gpu-1")]


def test_a_call_that_queues_for_its_held_place_says_how_long():
    lent = HELD.busy("m", agent="analyst", at=NOW - 10)

    (change,) = plan(cluster(lent).at(), caller())

    assert [option["costSeconds"] for option in json.loads(change.trace)["options"]] == [20.0]


def test_nobody_else_is_lent_the_place():
    stranger = call("stranger").prefers("m").waits()

    assert planned(cluster(HELD).at(), stranger) == [("queue", "stranger", "m", "gpu-1")]


def test_a_place_lent_to_one_call_is_not_lent_to_the_next():
    calls = [replace(caller(), plan=None, id=f"w{i}") for i in range(2)]

    assert [change[:2] for change in planned(cluster(HELD).at(), *calls, held={})] == [("use", "w0"), ("queue", "w1")]


@pytest.mark.parametrize(
    "broken",
    [{"ready": False}, {"circuit_open": True}, {"context_length": 100}],
    ids=["its server is not ready", "its server's circuit is open", "the prompt is longer than its context"],
)
def test_a_place_that_is_no_good_is_given_up_and_the_call_placed_afresh(broken):
    snapshot = cluster(HELD.having(**broken), server("gpu-2").loaded("m")).at()

    (change,) = plan(snapshot, caller(prompt_tokens=500))

    assert grant_of(change) == (TicketState.ACTIVE, "gpu-2", "m", "use", "p-1")


def test_a_place_on_a_model_that_the_call_does_not_accept_is_given_up():
    snapshot = cluster(server("gpu-1").loaded("odd").ticket("odd", **PLANNED), server("gpu-2").loaded("m")).at()

    (change,) = plan(snapshot, caller())

    assert grant_of(change) == (TicketState.ACTIVE, "gpu-2", "m", "use", "p-1")


def test_what_the_given_up_place_kept_in_use_may_be_unloaded_for_the_call():
    snapshot = cluster(server().total(10240).loaded("odd").ticket("odd", **PLANNED)).knowing("m", 10240).at()

    (change,) = plan(snapshot, caller())

    assert isinstance(change, GrantChange)
    assert (change.ticket.model, change.load and change.load.evicts, change.replaces) == ("m", ("odd",), "p-1")


@pytest.mark.parametrize(
    ("built", "expected"),
    [
        (HELD, ()),
        (HELD.busy("m", agent="analyst"), ()),
        (HELD.having(ready=False), ("plan-1",)),
        (HELD.having(tickets_load=False, residents=()), ("plan-1",)),
    ],
    ids=["good", "lent", "on a closed server", "on a copy that the engine lost"],
)
def test_a_plan_is_useless_when_its_own_call_waits_and_its_place_is_no_good(built, expected):
    snapshot = cluster(built).at()
    held = holding(built.value.tickets[0])

    assert useless_plans(snapshot=snapshot, waiters=[caller(), call("b").prefers("m").waits()], held=held) == expected


def test_a_plan_whose_call_was_granted_is_not_called_useless():
    held = holding(HELD.value.tickets[0])
    snapshot = cluster(HELD.having(ready=False)).at()

    assert useless_plans(snapshot=snapshot, waiters=[caller(ticket="t-w")], held=held) == ()
