"""The line: who comes before whom, and who is decided together."""

from dataclasses import replace

import pytest

from scheduler.core.config import SchedulerConfig
from scheduler.core.ledger import GrantChange, Outcome, ServerSeen
from scheduler.core.line import Group, prompt_bucket, turn_of
from scheduler.core.types import Priority, Ticket, TicketState, Waiter
from scheduler.core.waiting_line import line_of
from tests.builders import NOW, call, cluster, server
from tests.core.play import at_once, card, holds
from tests.fakes.manual_clock import ManualClock
from tests.fakes.memory_ledger import MemoryLedger

CONFIG = SchedulerConfig()
SNAPSHOT = cluster(server().loaded("m")).at()


def line(*waiters, snapshot=SNAPSHOT, holders=(), is_weighted=False):
    """The ids of the groups' members, group by group."""
    standing = line_of(waiters=waiters, snapshot=snapshot, config=CONFIG, is_weighted=is_weighted)
    found = standing.groups(holders=holders, drains=snapshot.index.drains.values())
    return [[member.id for member in group.members] for group in found]


def waiter(key, *, since=NOW, model="m", **more):
    return replace(call(more.pop("agent", key)).prefers(model).waits(since=since, key=key), **more)


def test_a_group_is_in_the_order_of_arrival_and_groups_in_the_order_of_their_heads():
    waiters = [waiter("n1", since=NOW - 1, model="n"), waiter("m2", since=NOW - 2), waiter("m3", since=NOW - 3)]

    assert line(*waiters) == [["m3", "m2"], ["n1"]]


def test_of_two_that_arrived_together_the_id_decides():
    assert line(waiter("b"), waiter("a")) == [["a", "b"]]


@pytest.mark.parametrize(
    "change",
    [
        {"tolerance": 0},
        {"priority": Priority.BACKGROUND},
        {"candidates": call().prefers("m", 61).value.candidates},
        {"candidates": call().prefers("m").then("n").value.candidates},
    ],
    ids=["tolerance", "class", "score", "candidates"],
)
def test_waiters_that_differ_in_what_decides_are_no_group(change):
    assert line(waiter("a"), replace(waiter("b"), **change)) == [["a"], ["b"]]


def test_prompts_that_meet_the_same_contexts_are_one_group_whatever_their_length():
    snapshot = cluster(server("gpu-1").having(context_length=4096), server("gpu-2").having(context_length=8192)).at()
    prompts = {"a": None, "b": 10, "c": 4096, "d": 4097, "e": 8192, "f": 9000, "g": 90_000}

    found = line(*(waiter(key, prompt_tokens=tokens) for key, tokens in prompts.items()), snapshot=snapshot)

    assert found == [["a", "b", "c"], ["d", "e"], ["f", "g"]]


@pytest.mark.parametrize(("tokens", "bucket"), [(None, 0), (0, 0), (100, 0), (101, 1), (200, 1), (201, 2)])
def test_a_prompt_s_bucket_counts_the_contexts_too_short_for_it(tokens, bucket):
    assert prompt_bucket(tokens, contexts=(100, 200)) == bucket


def test_an_agent_with_a_held_place_is_decided_by_itself():
    """What is lent to it alone must not be promised to others of its group."""
    assert line(waiter("a"), waiter("b"), waiter("c"), holders={"b"}) == [["a", "c"], ["b"]]


def test_a_waiter_that_a_server_is_emptied_for_is_decided_by_itself():
    """Whoever leads its group has no right to the drain's victims."""
    snapshot = cluster(server().loaded("x").drained("m", victims=["x"], agent="b", waiter="b", since=NOW - 30)).at()

    assert line(waiter("a"), waiter("b"), waiter("c"), snapshot=snapshot) == [["a", "c"], ["b"]]


def test_who_arrived_before_a_drain_and_who_after_it_are_no_group():
    snapshot = cluster(server().loaded("m").drained("x", victims=["m"], since=NOW - 5)).at()

    assert line(waiter("before", since=NOW - 6), waiter("after", since=NOW - 5), snapshot=snapshot) == [
        ["before"],
        ["after"],
    ]


@pytest.mark.parametrize(
    ("age", "priority", "rank"),
    [
        (0, Priority.INTERACTIVE, 0),
        (0, Priority.BACKGROUND, 1),
        (120, Priority.BACKGROUND, 1),
        (120.1, Priority.BACKGROUND, 0),
    ],
)
def test_the_class_ages(age, priority, rank):
    turn = turn_of(waiter=waiter("w", since=NOW - age, priority=priority), now=NOW, config=CONFIG, is_weighted=False)

    assert turn == (rank, 0.0, NOW - age, "w")


@pytest.mark.parametrize(
    ("ages", "load_s", "urgency"),
    [([0], 8, 0.1), ([30], 8, 0.2), ([0, 0], 8, 0.2), ([30, 0, 0], 28, 0.2), ([0], 0, 0.5)],
    ids=["new", "half a minute old", "two of them", "three, a slower load", "no load at all"],
)
def test_urgency_grows_with_calls_and_age_and_shrinks_with_the_load(ages, load_s, urgency):
    members = tuple(waiter(f"w{i}", since=NOW - age) for i, age in enumerate(ages))
    turns = [turn_of(waiter=member, now=NOW, config=CONFIG, is_weighted=False) for member in members]
    group = Group(turns=turns, waiters=members)

    assert group.urgency(now=NOW, load_s=load_s) == pytest.approx(urgency)


@pytest.mark.parametrize(
    ("weights", "expected"),
    [
        ({"a": 1, "b": 1, "c": 1}, "A B C A B A A A A"),
        ({"a": 2, "b": 1, "c": 1}, "A B C A A B A A A"),
    ],
    ids=["equal weights", "crew A weighs two"],
)
def test_crews_take_turns_by_weighted_start_time_fair_queueing(weights, expected):
    """Six calls of crew A, two of B, one of C wait for one slot; within a crew the first comes first."""
    ledger = served_one_at_a_time(weights)
    for number, crew in enumerate("aaaaaabbc"):
        at_once(ledger.enqueue(waiter=waiter(f"{crew}{number}", since=float(number) / 100, crew=crew)))

    assert " ".join(serve_all(ledger)) == expected


def served_one_at_a_time(weights):
    """A ledger with one warm copy of one slot."""
    ledger = MemoryLedger(config=CONFIG, clock=ManualClock(at=0.0))
    at_once(ledger.configure(servers=[card()], footprints={}, weights=weights))
    probe = at_once(ledger.probe_begin(server="gpu-a", lease_s=1.0))
    seen = ServerSeen(ready=True, phase="Ready", residents=(holds("m", 1024),))
    at_once(ledger.probe_end(server="gpu-a", probe=probe, seen=seen))
    return ledger


def serve_all(ledger):
    """Grant the slot to whose turn it is, one after another; give the crews in their order."""
    served = []
    while waiting := ledger.replica.waiting():
        snapshot = ledger.replica.snapshot(now=1.0)
        line = line_of(waiters=waiting, snapshot=snapshot, config=CONFIG, is_weighted=True)
        first = line.groups(holders=(), drains=())[0].head
        served.append(first.crew.upper())
        grant(ledger, first)
    return served


def grant(ledger, granted: Waiter):
    ticket = Ticket(
        id=f"t-{granted.id}",
        server="gpu-a",
        agent=granted.agent,
        model="m",
        state=TicketState.ACTIVE,
        started_at=1.0,
        call=granted.id,
        waiter=granted.id,
    )
    committed = at_once(ledger.commit(changes=[GrantChange(ticket=ticket)], now=1.0))
    assert committed.results == (None,)
    at_once(ledger.pick_up(waiter=granted.id, now=1.0))
    at_once(ledger.release(ticket=ticket.id, outcome=Outcome(ok=True), now=1.0))
