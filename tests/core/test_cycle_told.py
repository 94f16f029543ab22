"""What a cycle tells those who wait, and what it costs."""

from cProfile import Profile
from dataclasses import replace

from scheduler.core import cycle
from scheduler.core.placement.decide import decide
from scheduler.core.types import TicketState
from tests.builders import NOW, call, cluster, server
from tests.core.planned import CONFIG, grants, planned
from tests.core.test_cycle import A, B, wants


def test_a_waiter_is_told_again_only_when_what_it_waits_for_has_changed():
    snapshot = cluster(server().loaded(A).busy(A)).at()
    told = wants("w", A, since=NOW - 5, model=A, action="queue", server="gpu-1")

    assert planned(snapshot, told) == []
    assert planned(snapshot, replace(told, action="wait", server=None)) == [("queue", "w", A, "gpu-1")]


def test_every_waiter_is_told_which_model_it_waits_for():
    snapshot = cluster(server().total(10240).loaded(A).busy(A)).knowing(B, 10240).at()

    said = planned(snapshot, wants("w1", B, since=NOW - 2), wants("w2", B, since=NOW - 1))

    assert said == [("wait", "w1", B), ("wait", "w2", B)]


def test_crews_with_weights_take_turns_by_their_tags():
    snapshot = cluster(server().loaded(A)).at()
    many = wants("a", A, since=NOW - 9, start_tag=3.0)
    few = wants("b", A, since=NOW - 1, start_tag=1.0)

    assert grants(planned(snapshot, many, few, is_weighted=True)) == [("use", "b", A, "gpu-1")]
    assert grants(planned(snapshot, many, few, is_weighted=False)) == [("use", "a", A, "gpu-1")]


def test_ten_thousand_waiters_of_one_kind_cost_a_handful_of_decisions():
    snapshot = cluster(server().loaded(A).busy(A)).at()
    waiters = [wants("agent", A, since=NOW - 1, key=f"w{i:05}") for i in range(10_000)]
    profile = Profile()

    profile.runcall(cycle.plan, snapshot=snapshot, waiters=waiters, held={}, config=CONFIG, is_weighted=False)

    calls = {entry.code: entry.callcount for entry in profile.getstats()}
    assert 0 < calls[decide.__code__] < 10


def test_a_granted_call_holds_what_its_waiter_said():
    snapshot = cluster(server().total(10240).loaded(A)).knowing(B, 10240).at()
    waiter = replace(
        call("crew/agent").background().prefers(B).waits(since=NOW - 3, key="w7"),
        crew="c",
        thread="t",
        phase="mulling",
        purpose="mulling",
    )

    changes, folded = cycle.plan(snapshot=snapshot, waiters=[waiter], held={}, config=CONFIG, is_weighted=False)

    grant = changes[0]
    assert (grant.ticket.state, grant.ticket.action, grant.ticket.evicted) == (TicketState.LOADING, "evict", (A,))
    assert (grant.ticket.crew, grant.ticket.thread, grant.ticket.phase) == ("c", "t", "mulling")
    assert (grant.load.model, grant.load.evicts, grant.load.started_at) == (B, (A,), NOW)
    assert folded.servers["gpu-1"].tickets == (grant.ticket,)
    assert list(folded.servers["gpu-1"].warm) == []
