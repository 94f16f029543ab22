"""Who is told what it waits for: newcomers and heads at once, a crowd that would be told otherwise bit by bit."""

from dataclasses import replace

import pytest

from scheduler.core import cycle
from scheduler.core.config import SchedulerConfig
from scheduler.core.ledger import WaitChange
from tests.builders import NOW, call, cluster, server

CROWD = 120
BUSY = cluster(server("gpu-1").loaded("m", 30000, slots=1).busy("m", at=NOW - 1)).at()


def crowd(**told):
    waiting = (call("a").prefers("m").waits(since=NOW - 1 - n / 1000, key=f"w{n:03}") for n in range(CROWD))
    return [replace(waiter, **told) for waiter in waiting]


def two_copies(**second):
    """A busy copy on gpu-1 and a later one on gpu-2, where something may be otherwise."""
    one = server("gpu-1").loaded("m", 30000).busy("m", at=NOW - 20)
    return cluster(one, server("gpu-2").loaded("m", 30000).busy("m", at=NOW - 1).having(**second)).at()


def told(*waiters, snapshot=BUSY):
    """Plan for the waiters on one busy copy; give those who are told something, as they are from then on."""
    changes, _ = cycle.plan(snapshot=snapshot, waiters=waiters, held={}, config=SchedulerConfig(), is_weighted=False)
    return [change.waiter for change in changes if isinstance(change, WaitChange)]


def test_newcomers_are_all_told_at_once():
    found = told(*crowd())

    assert len(found) == CROWD
    assert {(waiter.model, waiter.action, waiter.server) for waiter in found} == {("m", "queue", "gpu-1")}


def test_of_a_crowd_that_would_be_told_otherwise_the_head_and_some_are_told():
    """Ten thousand documents are not rewritten because the head of the line changed its mind."""
    found = told(*crowd(model="m", action="wait"))

    assert found[0].id == f"w{CROWD - 1:03}"
    assert 50 <= len(found) <= 51


def test_pass_by_pass_everybody_is_told():
    waiters = {waiter.id: waiter for waiter in crowd(model="m", action="wait")}

    for _ in range(4):
        waiters |= {waiter.id: waiter for waiter in told(*waiters.values())}

    assert {(waiter.action, waiter.server) for waiter in waiters.values()} == {("queue", "gpu-1")}
    assert told(*waiters.values()) == []


def test_whoever_was_told_the_same_is_told_nothing():
    waiters = crowd(model="m", action="queue", server="gpu-1")

    assert told(*waiters) == []


def test_only_the_head_is_told_that_another_copy_is_nearer():
    """With every call that ends another one is; the line would be written anew each time."""
    waiters = crowd(model="m", action="queue", server="gpu-2")

    found = told(*waiters, snapshot=two_copies())

    assert [(waiter.id, waiter.server) for waiter in found] == [(f"w{CROWD - 1:03}", "gpu-1")]


@pytest.mark.parametrize(
    "lost", [{"ready": False}, {"residents": (), "tickets_load": False}], ids=["server died", "engine lost it"]
)
def test_whoever_queues_on_a_copy_that_is_gone_is_told_where_it_queues_now(lost):
    """Their page named a dead server, and estimated by its calls, until their turn came."""
    waiters = {waiter.id: waiter for waiter in crowd(model="m", action="queue", server="gpu-2")}
    snapshot = two_copies(**lost)

    passes = 0
    while found := told(*waiters.values(), snapshot=snapshot):
        waiters |= {waiter.id: waiter for waiter in found}
        passes += 1

    assert {waiter.server for waiter in waiters.values()} == {"gpu-1"}
    assert passes == 3
