"""Who is told what it waits for: newcomers and heads at once, a crowd that would be told otherwise bit by bit."""

from dataclasses import replace

from scheduler.core import cycle
from scheduler.core.config import SchedulerConfig
from scheduler.core.ledger import WaitChange
from tests.builders import NOW, call, cluster, server

CROWD = 120
BUSY = cluster(server("gpu-1").loaded("m", 30000, slots=1).busy("m", at=NOW - 1)).at()


def crowd(**told):
    waiting = (call("a").prefers("m").waits(since=NOW - 1 - n / 1000, key=f"w{n:03}") for n in range(CROWD))
    return [replace(waiter, **told) for waiter in waiting]


def told(*waiters):
    """Plan for the waiters on one busy copy; give those who are told something, as they are from then on."""
    changes, _ = cycle.plan(snapshot=BUSY, waiters=waiters, held={}, config=SchedulerConfig(), is_weighted=False)
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
    waiters = crowd(model="m", action="queue", server="gone")

    assert [waiter.id for waiter in told(*waiters)] == [f"w{CROWD - 1:03}"]
