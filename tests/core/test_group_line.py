"""A-35. Who waits for a place in a resource group: in whose order it is given, when, and what they are told."""

from dataclasses import replace

import pytest

from providers.core.specs import ResourceGroup
from scheduler.core.standing import standings
from tests.builders import NOW, cluster, server
from tests.core.planned import CONFIG, grants, planned
from tests.core.play import Play, at_once, card, holds
from tests.core.test_cycle import A, B, wants

ONE, TWO = (ResourceGroup(name="bus", max_concurrent=most) for most in (1, 2))


def pair(group, **more):
    """Two servers of a group, each with a model of its own."""
    return tuple(server(name).loaded(m, slots=4).having(resource_group=group, **more) for name, m in ON.items())


ON = {"gpu-1": A, "gpu-2": B}


def played(group=ONE, *, total=5120):
    """A stage of two servers in a group, with one model each."""
    names = {"gpu-a": "a", "gpu-b": "b"}
    return Play().build(
        *(card(name, total=total, slots=4, resource_group=group) for name in names),
        holding={name: [holds(model, 5120)] for name, model in names.items()},
        footprints={"a": 5120, "b": 5120, "cold": 5120},
    )


def test_the_only_place_goes_to_the_oldest_wherever_it_waits():
    snapshot = cluster(*pair(ONE)).at()

    said = planned(snapshot, wants("late", A, since=NOW - 1), wants("early", B, since=NOW - 2))

    assert said == [("use", "early", B, "gpu-2"), ("queue", "late", A, "gpu-1")]


def test_one_pass_gives_no_more_places_than_the_group_has():
    snapshot = cluster(*pair(TWO)).at()
    waiters = [wants(f"w{n}", A if n % 2 else B, since=NOW - 9 + n) for n in range(6)]

    assert grants(planned(snapshot, *waiters)) == [("use", "w0", B, "gpu-2"), ("use", "w1", A, "gpu-1")]


def test_nobody_barges_a_newcomer_on_one_server_leaves_the_place_to_who_waits_on_the_other():
    first, second = pair(TWO)
    snapshot = cluster(first.busy(A), second).at()

    said = planned(snapshot, wants("new", A, since=NOW), wants("old", B, since=NOW - 5))

    assert grants(said) == [("use", "old", B, "gpu-2")]


def test_a_call_that_ends_on_one_server_lets_in_who_waits_on_the_other_at_once():
    """The group is full, the slot is free: what frees it happens elsewhere."""
    play = played().call("first", ("a", 60), at=0.0, runs_s=7.3).call("second", ("b", 60), at=1.0)

    play.until(20)

    assert [play.served["second"].at, play.served["second"].server] == [7.3, "gpu-b"]


def test_a_raised_cap_lets_in_exactly_the_difference_and_a_lowered_one_ends_nothing():
    """A-34 for a group, with who waits on two servers."""
    play = played()
    for number in range(6):
        play.call(f"w{number}", ("a" if number % 2 else "b", 60), at=number / 10, runs_s=50.0)

    def set_cap(most):
        names, sizes = ("gpu-a", "gpu-b"), {"a": 5120, "b": 5120, "cold": 5120}
        group = ResourceGroup(name="bus", max_concurrent=most)
        servers = tuple(card(name, total=5120, slots=4, resource_group=group) for name in names)
        at_once(play.ledger.configure(servers=servers, footprints=sizes, weights={}))

    play.at(10.0, lambda: set_cap(3))
    play.at(20.0, lambda: set_cap(1))

    play.until(30)

    assert {key: served.at for key, served in play.served.items()} == {"w0": 0.0, "w1": 10.0, "w2": 10.0}
    assert len(play.ledger.replica.tickets) == 3
    assert play.stood_aside == {}


def test_a_load_under_a_full_group_begins_when_a_call_elsewhere_ends():
    play = played(total=10240).call("first", ("a", 60), at=0.0, runs_s=7.3).call("x", ("cold", 60), at=1.0)

    play.until(20)

    assert [(at, model) for at, _, model, _ in play.loads] == [(7.3, "cold")]


def eta(built, waiter):
    """Say what the line expects for one waiter, and which group holds it."""
    snapshot = cluster(*built).knowing("cold", 10240).at()
    (standing,) = standings(snapshot=snapshot, waiters=[waiter], config=CONFIG, is_weighted=False)
    return standing.eta_s, standing.group


FIRST, SECOND = pair(ONE)
QUEUES = wants("w", A, since=NOW - 5, model=A, action="queue", server="gpu-1")
LOADS = wants("w", "cold", since=NOW - 5, model="cold")
STANDINGS = {
    "the group is full elsewhere": ((FIRST, SECOND.busy(B, at=NOW - 12)), QUEUES, (18.0, "bus")),
    "the slot is taken as well: that is what people see first": (
        (FIRST.having(slots=1).busy(A, at=NOW - 20), SECOND.busy(B, at=NOW - 12)),
        QUEUES,
        (18.0, ""),
    ),
    "its own cap holds as well": (
        (FIRST.having(max_concurrent=1).busy("n", at=NOW - 20), SECOND.busy(B, at=NOW - 12)),
        QUEUES,
        (18.0, ""),
    ),
    "a load has the memory and needs the group's place": (
        (FIRST, SECOND.busy(B, at=NOW - 12)),
        LOADS,
        (18.0 + 10.0, ""),
    ),
    "a load has the memory and needs a place under the server's own cap": (
        (server().having(max_concurrent=1).loaded(A).busy(A, at=NOW - 12),),
        LOADS,
        (18.0 + 10.0, ""),
    ),
    "a load that no cap ever lets in is not to be expected": (
        (server().having(max_concurrent=1, interactive_reserve=1).loaded(A).busy(A),),
        replace(LOADS, priority="background"),
        (None, ""),
    ),
    "a server that is emptied has no place before its group has": (
        (FIRST.total(10240).having(slots=1), SECOND.total(10240).busy(B, at=NOW - 3)),
        LOADS,
        (27.0, ""),
    ),
}


@pytest.mark.parametrize(("built", "waiter", "expected"), STANDINGS.values(), ids=STANDINGS)
def test_who_waits_is_told_when_the_group_has_a_place(built, waiter, expected):
    assert eta(built, waiter) == expected
