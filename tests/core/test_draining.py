"""Drains: when they begin and where, what they allow, how few they are, how they end."""

from dataclasses import replace

import pytest

from scheduler.core.types import Priority
from tests.builders import NOW, call, cluster, server
from tests.core.planned import grants, planned

BIG, SMALL = "big", "small"


def busy(name="gpu-1", *, total=10240, at=NOW, model=SMALL, mib=10240):
    """A server filled by one model in use."""
    return server(name).total(total).loaded(model, mib).busy(model, at=at)


def big(*, since, limit=300.0, key="w", **more):
    """A waiter for the big model."""
    return call(key).prefers(BIG).waits(since=since, limit=limit, model=BIG, action="wait", **more)


@pytest.mark.parametrize(
    ("age", "limit", "is_due"),
    [(60, 300, True), (59.9, 300, False), (60, 90, True), (20, 30, True), (19.9, 30, False), (60, 89, True)],
    ids=[
        "after sixty seconds",
        "not before",
        "two thirds of ninety are sixty",
        "two thirds of a shorter limit",
        "not before two thirds",
        "sixty at the latest",
    ],
)
def test_a_drain_is_due(age, limit, is_due):
    snapshot = cluster(busy()).knowing(BIG, 10240).at()

    said = planned(snapshot, big(since=NOW - age, limit=limit))

    assert said == ([("drain", "w", BIG, "gpu-1", (SMALL,))] if is_due else [])


def test_models_that_agents_wait_for_are_drained_too():
    snapshot = cluster(server().total(10240).loaded(SMALL)).knowing(BIG, 10240).wanting(SMALL, waiting=[NOW]).at()

    assert planned(snapshot, big(since=NOW - 60)) == [("drain", "w", BIG, "gpu-1", (SMALL,))]


def test_the_server_where_the_longest_call_and_the_eviction_cost_least_is_drained():
    """gpu-1: 25 s left, 10 s load. gpu-2: 10 s left, 20 s load at half the speed. gpu-3: 12 s left, 10 s load."""
    snapshot = (
        cluster(
            busy("gpu-1", at=NOW - 5),
            server("gpu-2").total(10240).loaded("y").busy("y", at=NOW - 20).having(load_mib_per_s=512.0),
            busy("gpu-3", at=NOW - 18, model="z"),
        )
        .knowing(BIG, 10240)
        .at()
    )

    assert planned(snapshot, big(since=NOW - 60)) == [("drain", "w", BIG, "gpu-3", ("z",))]


def test_what_agents_wait_for_makes_a_server_dearer_to_drain():
    snapshot = (
        cluster(busy("gpu-1"), busy("gpu-2", at=NOW - 1, model="y"))
        .knowing(BIG, 10240)
        .wanting("y", waiting=[NOW])
        .at()
    )

    assert planned(snapshot, big(since=NOW - 60)) == [("drain", "w", BIG, "gpu-1", (SMALL,))]


def test_of_servers_that_cost_the_same_the_heavier_is_drained_then_the_first_name():
    alike = cluster(busy("gpu-2"), busy("gpu-1", model="y")).knowing(BIG, 10240).at()
    heavier = cluster(busy("gpu-2").having(weight=200), busy("gpu-1", model="y")).knowing(BIG, 10240).at()

    assert planned(alike, big(since=NOW - 60)) == [("drain", "w", BIG, "gpu-1", ("y",))]
    assert planned(heavier, big(since=NOW - 60)) == [("drain", "w", BIG, "gpu-2", (SMALL,))]


@pytest.mark.parametrize(
    "built",
    [
        busy().having(can_load=False),
        busy().having(ready=False),
        busy().having(circuit_open=True),
        busy().having(models=frozenset({SMALL})),
        busy(total=8192, mib=8192),
        busy().having(blocked=frozenset({BIG})),
        busy().having(max_concurrent=0),
        busy().drained("other", victims=[SMALL], waiter="other"),
        server().total(10240).loading("coming"),
    ],
    ids=[
        "that only serves",
        "that is not ready",
        "whose circuit is open",
        "that does not have the model",
        "that is too small",
        "where the model's load has just failed",
        "whose cap leaves the class nothing",
        "that is drained for somebody already",
        "that is filled by a load: nothing there can be unloaded yet",
    ],
)
def test_a_server_is_not_drained(built):
    helper = server("gpu-9").total(10240).having(ready=False)
    snapshot = cluster(built, helper, helper.having(name="gpu-8"), helper.having(name="gpu-7")).knowing(BIG, 10240)
    other = call("other").prefers("other").waits(since=NOW - 1, model="other", action="wait")

    said = planned(snapshot.knowing("other", 10240).at(), big(since=NOW - 60), other)

    assert [each for each in said if each[0] == "drain"] == []


def test_at_most_half_of_the_servers_are_drained_the_oldest_waiters_first():
    servers = [busy(f"gpu-{i}", model=f"m{i}") for i in range(1, 6)]
    snapshot = cluster(*servers).knowing(BIG, 10240).knowing("huge", 10240).knowing("vast", 10240).at()
    waiters = [
        call(model).prefers(model).waits(since=NOW - age, limit=300, model=model, action="wait")
        for model, age in ((BIG, 80), ("huge", 90), ("vast", 70))
    ]

    said = planned(snapshot, *waiters)

    assert [each[:4] for each in said] == [("drain", "huge", "huge", "gpu-1"), ("drain", BIG, BIG, "gpu-2")]


def test_a_single_server_may_be_drained():
    assert planned(cluster(busy()).knowing(BIG, 10240).at(), big(since=NOW - 60)) != []


def test_a_waiter_has_one_drain():
    built = busy("gpu-1").drained(BIG, victims=[SMALL], agent="w", waiter="w", since=NOW - 5)
    snapshot = cluster(built, busy("gpu-2", model="y"), busy("gpu-3", model="z"), busy("gpu-4", model="x"))

    assert planned(snapshot.knowing(BIG, 10240).at(), big(since=NOW - 65)) == []


def test_who_queues_for_a_slot_gets_no_drain():
    """Its turn comes by itself."""
    snapshot = cluster(server("gpu-1").loaded(BIG).busy(BIG), busy("gpu-2")).knowing(BIG, 10240).at()
    waiter = call("w").prefers(BIG).waits(since=NOW - 70, limit=300, model=BIG, action="queue", server="gpu-1")

    assert planned(snapshot, waiter) == []


DRAINED = server().total(10240).loaded(SMALL).drained(BIG, victims=[SMALL], agent="w", waiter="w", since=NOW - 5)


def test_once_its_victim_is_idle_the_drain_s_waiter_unloads_it_although_agents_wait_for_it():
    snapshot = cluster(DRAINED).knowing(BIG, 10240).wanting(SMALL, waiting=[NOW]).at()

    said = planned(snapshot, big(since=NOW - 65), call("late").prefers(SMALL).waits())

    assert grants(said) == [("evict", "w", BIG, "gpu-1", (SMALL,))]


def test_who_waited_before_the_drain_began_goes_first_within_one_load_time():
    snapshot = cluster(DRAINED).knowing(BIG, 10240).at()
    earlier = call("earlier").prefers(SMALL).waits(since=NOW - 6)

    said = planned(snapshot, big(since=NOW - 65), earlier, call("late").prefers(SMALL).waits())

    assert said == [("use", "earlier", SMALL, "gpu-1"), ("wait", "late", SMALL)]


def test_a_drain_s_waiter_moves_although_another_leads_its_group():
    """A call whose ticket was lost waits again as old as it was, and leads the group from then on."""
    snapshot = cluster(DRAINED).knowing(BIG, 10240).wanting(SMALL, waiting=[NOW]).at()

    said = planned(snapshot, big(since=NOW - 65), big(since=NOW - 80, key="older"))

    assert grants(said) == [("evict", "w", BIG, "gpu-1", (SMALL,))]


def test_the_victims_are_free_for_the_agent_s_other_calls_for_the_model_too():
    """A drain is for a request of its agent whose preferred model it is, whichever of its calls that is."""
    built = DRAINED.total(10241).having(max_concurrent=2, interactive_reserve=1).loaded("n", 1)
    snapshot = cluster(built.busy("n", priority="background")).knowing(BIG, 10240).wanting(SMALL, waiting=[NOW]).at()
    barred = replace(big(since=NOW - 65), priority=Priority.BACKGROUND)
    stranger = call("stranger").prefers(BIG, 70).then("z", 65).waits(since=NOW - 20)
    own = call("w").prefers(BIG, 70).then("z", 65).waits(since=NOW - 10, key="w2")

    said = planned(snapshot, barred, stranger, own)

    assert grants(said) == [("evict", "w2", BIG, "gpu-1", (SMALL,))]


def test_a_drain_ends_when_its_waiter_is_gone_and_its_victims_are_free_in_the_same_cycle():
    snapshot = cluster(DRAINED).knowing(BIG, 10240).at()

    said = planned(snapshot, call("late").prefers(SMALL).waits())

    assert said == [("drain ends", "gpu-1"), ("use", "late", SMALL, "gpu-1")]


def test_a_drain_ends_when_its_server_is_closed_and_may_begin_elsewhere():
    snapshot = cluster(DRAINED.having(ready=False), busy("gpu-2", model="y")).knowing(BIG, 10240).at()

    assert planned(snapshot, big(since=NOW - 65)) == [
        ("drain ends", "gpu-1"),
        ("drain", "w", BIG, "gpu-2", ("y",)),
    ]


def test_a_drain_ends_with_its_waiter_s_limit_and_lets_the_others_in_at_once():
    snapshot = cluster(DRAINED.having(slots=2).busy(SMALL)).knowing(BIG, 10240).at()

    said = planned(snapshot, big(since=NOW - 90, limit=90), call("late").prefers(SMALL).waits())

    assert said == [("stand_aside", "w", BIG, "gpu-busy"), ("use", "late", SMALL, "gpu-1")]


def test_a_drain_ends_when_its_waiter_is_placed_elsewhere_and_lets_the_others_in_at_once():
    snapshot = cluster(DRAINED, server("gpu-2").loaded(BIG)).knowing(BIG, 10240).at()

    said = planned(snapshot, big(since=NOW - 65), call("late").prefers(SMALL).waits())

    assert said == [("use", "w", BIG, "gpu-2"), ("use", "late", SMALL, "gpu-1")]
