"""Calls of a client key that may have only so many at once: they wait in line, and keep nobody out meanwhile."""

from dataclasses import replace

from scheduler.core import cycle
from scheduler.core.config import SchedulerConfig
from scheduler.core.ledger import GrantChange, StandAsideChange, WaitChange
from tests.builders import NOW, call, cluster, server
from tests.core.play import Play, Served, card, holds

MIB = 20480


def keyed(name, *, limit=1, key="k", since=NOW - 5, prefers="m"):
    return replace(call(name).prefers(prefers).waits(since=since, key=name), key=key, key_limit=limit)


def planned(*waiters, snapshot):
    changes, _ = cycle.plan(snapshot=snapshot, waiters=waiters, held={}, config=SchedulerConfig(), is_weighted=False)
    granted = [change.ticket.waiter for change in changes if isinstance(change, GrantChange)]
    told = {
        change.waiter.id: (change.waiter.action, change.waiter.server, change.waiter.reason)
        for change in changes
        if isinstance(change, WaitChange)
    }
    aside = {change.waiter: change.reason for change in changes if isinstance(change, StandAsideChange)}
    return granted, told, aside


FREE = cluster(server("gpu-1").loaded("m", MIB, slots=4)).at()
BUSY = cluster(server("gpu-1").loaded("m", MIB, slots=1).busy("m", at=NOW - 1)).at()


def test_of_a_key_only_so_many_are_served_as_it_may_have_and_the_next_in_line_goes_before_the_rest():
    granted, told, _ = planned(
        keyed("a", since=NOW - 9), keyed("b", since=NOW - 8), keyed("c", key="l", since=NOW - 7), snapshot=FREE
    )

    assert granted == ["a", "c"]
    assert told == {"b": ("wait", None, "key-limit")}


def test_a_key_is_one_key_for_all_models_classes_and_limits():
    other = server("gpu-2").loaded("n", MIB)
    both = cluster(server("gpu-1").loaded("m", MIB, slots=4), other).at()

    granted, told, _ = planned(
        keyed("a", since=NOW - 9), keyed("b", prefers="n"), keyed("c", limit=2, since=NOW - 2), snapshot=both
    )

    assert granted == ["a", "c"]
    assert told == {"b": ("wait", None, "key-limit")}


def test_where_no_slot_is_free_the_first_queue_and_those_past_the_limit_wait_for_their_key():
    _, told, _ = planned(*(keyed(f"{n}", limit=2, since=NOW - 9 + n) for n in range(4)), snapshot=BUSY)

    queue, key = ("queue", "gpu-1", "gpu-busy"), ("wait", None, "key-limit")
    assert told == {"0": queue, "1": queue, "2": key, "3": key}


def test_those_past_the_limit_are_no_queue_for_others():
    """A key with a hundred calls in line must not make a second copy look worth its price."""
    crowd = [keyed(f"k{n}", since=NOW - 9 + n / 100) for n in range(100)]
    room = (
        cluster(server("gpu-1").loaded("m", 8192, slots=1).busy("m", at=NOW - 1), server("gpu-2"))
        .knowing("m", 8192)
        .at()
    )

    granted, told, _ = planned(*crowd, call("x").prefers("m").waits(since=NOW - 1, key="x"), snapshot=room)

    assert granted == []
    assert told["x"] == ("queue", "gpu-1", "gpu-busy")


def test_a_wait_that_ended_at_its_limit_because_of_its_key_says_so():
    late = replace(keyed("b", since=NOW - 90), limit_at=NOW)

    _, _, aside = planned(keyed("a", since=NOW - 99), late, snapshot=FREE)

    assert aside == {"b": "key-limit"}


def test_a_call_that_can_never_be_placed_does_not_wait_for_its_key_first():
    snapshot = cluster(server("gpu-1").loaded("m", MIB)).knowing("huge", 10**6).at()

    _, _, aside = planned(keyed("a", since=NOW - 9), keyed("b", prefers="huge"), snapshot=snapshot)

    assert aside == {"b": "model-too-large"}


def test_a_released_ticket_of_the_key_is_the_next_ones_turn():
    play = Play().build(card(slots=4), holding={"gpu-a": [holds("m", MIB)]})
    for number in range(4):
        play.call(f"k{number}", ("m", 60), at=number / 10, runs_s=5, key="k", key_limit=1)

    play.call("x", ("m", 60), at=1.0).until(30)

    assert {key: served.at for key, served in play.served.items()} == {
        "k0": 0.0,
        "x": 1.0,
        "k1": 5.0,
        "k2": 10.0,
        "k3": 15.0,
    }


def test_a_model_that_only_calls_of_a_full_key_wait_for_may_go():
    """They could not use it now, so it is not kept for them."""
    play = Play().build(
        card(), card("gpu-b"), holding={"gpu-a": [holds("A", MIB)], "gpu-b": [holds("C", MIB)]}, footprints={"B": MIB}
    )
    play.call("long", ("C", 60), runs_s=60, key="k", key_limit=1)
    play.call("held", ("A", 60), at=1.0, key="k", key_limit=1)

    play.call("x", ("B", 60), at=2.0).until(40)

    assert play.served["x"] == Served(at=22.0, server="gpu-a", model="B")
    assert "held" not in play.served
