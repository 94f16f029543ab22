"""One cycle: slots by the line, loads by urgency, nobody barges, everybody is told, who must leaves."""

import pytest

from tests.builders import NOW, call, cluster, server
from tests.core.planned import grants, planned

A = "a-model"
B = "b-model"


def wants(agent, *models, **more):
    """A waiter for these models, all of the same score."""
    asked = call(agent)
    for model in models:
        asked = asked.prefers(model)
    return asked.waits(**more)


def test_nobody_waits_nothing_happens():
    assert planned(cluster(server().loaded(A)).at()) == []


def test_a_free_slot_goes_to_the_oldest_that_may_use_it():
    snapshot = cluster(server().loaded(A)).at()

    said = planned(snapshot, wants("late", A, since=NOW - 1), wants("early", A, since=NOW - 2))

    assert said == [("use", "early", A, "gpu-1"), ("queue", "late", A, "gpu-1")]


def test_a_newcomer_never_takes_the_slot_that_an_older_waiter_of_other_candidates_could_use():
    snapshot = cluster(server().loaded(A)).at()
    newcomer = wants("new", A, since=NOW)
    older = wants("old", B, A, since=NOW - 5)

    assert grants(planned(snapshot, newcomer, older)) == [("use", "old", A, "gpu-1")]


def test_a_newcomer_takes_a_slot_that_no_older_waiter_can_use():
    snapshot = cluster(server().total(10240).loaded(A)).knowing(B, 10240).wanting(A, waiting=[NOW]).at()

    said = planned(snapshot, wants("old", B, since=NOW - 50), wants("new", A, since=NOW))

    assert said == [("use", "new", A, "gpu-1"), ("wait", "old", B)]


def test_interactive_goes_before_an_older_background_waiter():
    snapshot = cluster(server().loaded(A)).at()
    background = call("summary").background().prefers(A).waits(since=NOW - 100)

    assert grants(planned(snapshot, background, wants("chat", A))) == [("use", "chat", A, "gpu-1")]


def test_a_background_waiter_older_than_two_minutes_counts_as_interactive():
    snapshot = cluster(server().loaded(A)).at()
    background = call("summary").background().prefers(A).waits(since=NOW - 121, limit=500)

    assert grants(planned(snapshot, background, wants("chat", A))) == [("use", "summary", A, "gpu-1")]


def test_at_two_minutes_sharp_a_background_waiter_is_still_background():
    snapshot = cluster(server().loaded(A)).at()
    background = call("summary").background().prefers(A).waits(since=NOW - 120, limit=500)

    assert grants(planned(snapshot, background, wants("chat", A))) == [("use", "chat", A, "gpu-1")]


def test_an_aged_background_waiter_takes_only_what_is_not_reserved():
    built = server().loaded(A, slots=4).having(max_concurrent=2, interactive_reserve=1).busy(A, priority="background")
    background = call("summary").background().prefers(A).waits(since=NOW - 300, limit=900)

    assert planned(cluster(built).at(), background) == [("queue", "summary", A, "gpu-1")]


def test_every_free_slot_is_given_in_one_cycle():
    snapshot = cluster(server("gpu-1").loaded(A, slots=2), server("gpu-2").loaded(A)).at()
    waiters = [wants(f"w{i}", A, since=NOW - 9 + i) for i in range(4)]

    assert planned(snapshot, *waiters) == [
        ("use", "w0", A, "gpu-1"),
        ("use", "w1", A, "gpu-2"),
        ("use", "w2", A, "gpu-1"),
        ("queue", "w3", A, "gpu-1"),
    ]


def test_waiters_for_one_cold_model_share_one_load_as_far_as_its_slots_go():
    snapshot = cluster(server().having(slots=2), server("gpu-2")).knowing(A, 10240).at()

    said = planned(snapshot, *(wants(f"w{i}", A, since=NOW - 9 + i) for i in range(3)))

    assert said == [("load", "w0", A, "gpu-1"), ("join", "w1", A, "gpu-1"), ("queue", "w2", A, "gpu-1")]


def test_others_that_accept_the_model_being_loaded_join_it():
    """Agents that share a candidate converge on one copy."""
    snapshot = cluster(server().having(slots=2), server("gpu-2")).knowing(A, 10240).knowing(B, 10240).at()
    sharing = call("second").prefers(B, 70).then(A, 65).waits(since=NOW - 1)

    said = planned(snapshot, wants("first", A, since=NOW - 2), sharing)

    assert said == [("load", "first", A, "gpu-1"), ("join", "second", A, "gpu-1")]


@pytest.mark.parametrize(
    ("waiting", "first"),
    [
        ([("b1", B, 9)], "b1"),
        ([("b1", B, 9), ("a1", A, 1)], "b1"),
        ([("b1", B, 1), ("a1", A, 1), ("a2", A, 1)], "a1"),
        ([("b1", B, 33), ("a1", A, 1), ("a2", A, 1)], "b1"),
        ([("b1", B, 30), ("a1", A, 1), ("a2", A, 1), ("a3", A, 1)], "a1"),
    ],
    ids=[
        "alone",
        "the older of two",
        "two waiting calls before one",
        "one of thirty-three seconds before two of one second",
        "three before one of thirty seconds",
    ],
)
def test_loads_go_to_the_most_urgent_group(waiting, first):
    """Calls waiting, times one and the age of the oldest in half minutes, over the load."""
    snapshot = cluster(server().total(10240)).knowing(A, 10240).knowing(B, 10240).at()

    said = planned(snapshot, *(wants(agent, model, since=NOW - age) for agent, model, age in waiting))

    assert grants(said)[0][:2] == ("load", first)


def test_a_quick_load_goes_before_a_slow_one_of_the_same_urgency():
    snapshot = cluster(server().total(10240)).knowing(A, 10240).knowing(B, 5121).at()

    said = planned(snapshot, wants("slow", A, since=NOW - 2), wants("quick", B, since=NOW - 1))

    assert grants(said) == [("load", "quick", B, "gpu-1")]


def test_an_interactive_load_goes_before_a_more_urgent_background_one():
    snapshot = cluster(server().total(10240)).knowing(A, 10240).knowing(B, 10240).at()
    background = [call(f"b{i}").background().prefers(B).waits(since=NOW - 60) for i in range(5)]

    said = planned(snapshot, *background, wants("chat", A))

    assert grants(said) == [("load", "chat", A, "gpu-1")]


def test_what_a_newcomer_is_told_to_wait_for_is_not_unloaded_for_another_in_the_same_cycle():
    """C46: the ledger does not know of the newcomer's wait yet. Its class is full here, so the model itself is idle."""
    built = server().total(20480).loaded(A).loaded("n").having(max_concurrent=2, interactive_reserve=1, slots=2)
    snapshot = cluster(built.busy("n", priority="background")).knowing(B, 10240).at()
    newcomer = call("summary").background().prefers(A).waits()

    said = planned(snapshot, newcomer, wants("chat", B, since=NOW - 2))

    assert said == [("wait", "chat", B), ("queue", "summary", A, "gpu-1")]


def test_whoever_queues_far_behind_gets_a_second_copy_although_the_head_would_not():
    """Thirty seconds for each call ahead; a second copy costs its load of ten and two calls of thirty."""
    snapshot = cluster(server("gpu-1").loaded(A).busy(A), server("gpu-2").total(10240)).at()

    said = planned(snapshot, *(wants(f"w{i}", A, since=NOW - 9 + i) for i in range(5)))

    assert said == [
        ("load", "w2", A, "gpu-2"),
        *((("queue"), f"w{i}", A, "gpu-2") for i in (0, 1, 3, 4)),
    ]


def test_no_second_copy_comes_for_a_short_queue():
    snapshot = cluster(server("gpu-1").loaded(A).busy(A), server("gpu-2").total(10240)).at()

    said = planned(snapshot, *(wants(f"w{i}", A, since=NOW - 9 + i) for i in range(2)))

    assert grants(said) == []


def test_a_waiter_s_own_wait_does_not_protect_a_model_from_itself():
    snapshot = cluster(server().total(10240).loaded(A)).knowing(B, 10240)
    waiter = call("w").prefers(B, 70).waits(model=A)
    demanded = snapshot.at().with_waiting(model=A, waiting={"w": NOW})

    assert planned(demanded, waiter) == [("evict", "w", B, "gpu-1", (A,))]


def test_what_nobody_can_ever_hold_stands_aside_at_once_with_all_that_ask_for_it():
    snapshot = cluster(server().total(8192)).knowing(A, 20480).at()

    said = planned(snapshot, wants("w1", A, since=NOW - 2), wants("w2", A, since=NOW - 1))

    assert said == [
        ("stand_aside", "w1", A, "model-too-large"),
        ("stand_aside", "w2", A, "model-too-large"),
    ]


def test_a_shorter_prompt_does_not_stand_aside_with_a_longer_one_of_the_same_candidates():
    snapshot = cluster(server().loaded(A, context_length=5000).busy(A)).at()
    long = call("long").prefers(A).having(prompt_tokens=8000).waits(since=NOW - 2)
    short = call("short").prefers(A).having(prompt_tokens=4100).waits(since=NOW - 1)

    assert planned(snapshot, long, short) == [
        ("stand_aside", "long", A, "prompt-too-large"),
        ("queue", "short", A, "gpu-1"),
    ]


def test_a_shorter_prompt_does_not_wait_behind_a_longer_one_for_a_copy_that_is_its_alone():
    snapshot = cluster(
        server("gpu-1").loaded(A, context_length=5000), server("gpu-2").loaded(A, context_length=9000).busy(A)
    ).at()
    long = call("long").prefers(A).having(prompt_tokens=8000).waits(since=NOW - 2)
    short = call("short").prefers(A).having(prompt_tokens=4100).waits(since=NOW - 1)

    assert planned(snapshot, long, short) == [("use", "short", A, "gpu-1"), ("queue", "long", A, "gpu-2")]


def test_who_has_waited_to_its_limit_stands_aside():
    snapshot = cluster(server().loaded(A).busy(A)).at()

    said = planned(snapshot, wants("w", A, since=NOW - 90, limit=90))

    assert said == [("stand_aside", "w", A, "gpu-busy")]


def test_who_waited_for_a_model_of_unknown_size_is_told_so():
    """A router of llama.cpp does not tell sizes: nothing is busy there, and no waiting would have helped."""
    alone = cluster(server().having(models=frozenset({A}))).at()
    elsewhere = cluster(server().having(models=frozenset({A})), server("gpu-2").loaded(A, None)).at()

    assert planned(alone, wants("w", A, since=NOW - 90, limit=90)) == [("stand_aside", "w", A, "size-unknown")]
    assert planned(elsewhere, wants("w", A, since=NOW - 90, limit=90))[0][0] == "use"


CLOSED = {
    "it cannot be reached": server().loaded(A).having(ready=False),
    "it is paused": server().loaded(A).having(paused=True),
    "its circuit is open": server().loaded(A).having(circuit_open=True),
    "loads of the model failed there": server().having(blocked=frozenset({A})),
}


@pytest.mark.parametrize("closed", CLOSED.values(), ids=CLOSED.keys())
@pytest.mark.parametrize("other", [(), (server("gpu-2").having(models=frozenset({B})),)], ids=["alone", "with another"])
def test_who_had_only_servers_that_took_no_calls_is_not_told_that_they_were_busy(closed, other):
    snapshot = cluster(closed, *other).knowing(A, 1024).at()

    said = planned(snapshot, wants("w", A, since=NOW - 90, limit=90))

    assert said == [("stand_aside", "w", A, "gpu-closed")]


@pytest.mark.parametrize("closed", CLOSED.values(), ids=CLOSED.keys())
def test_who_had_one_server_that_was_merely_busy_is_told_so(closed):
    snapshot = cluster(closed, server("gpu-2").loaded(A).busy(A)).knowing(A, 1024).at()

    said = planned(snapshot, wants("w", A, since=NOW - 90, limit=90))

    assert said == [("stand_aside", "w", A, "gpu-busy")]


def test_at_the_limit_it_is_tried_once_more_first():
    snapshot = cluster(server().loaded(A)).at()

    assert planned(snapshot, wants("w", A, since=NOW - 90, limit=90)) == [("use", "w", A, "gpu-1")]


def test_only_those_of_a_group_that_reached_their_limit_leave():
    snapshot = cluster(server().loaded(A).busy(A)).at()

    said = planned(snapshot, wants("done", A, since=NOW - 50, limit=50), wants("stays", A, since=NOW - 40))

    assert said == [("stand_aside", "done", A, "gpu-busy"), ("queue", "stays", A, "gpu-1")]


def test_when_the_only_one_who_waited_for_a_model_leaves_it_may_be_unloaded_in_the_same_cycle():
    built = server().total(10240).loaded(A, context_length=5000)
    snapshot = cluster(built).knowing(B, 10240).at().with_waiting(model=A, waiting={"gone": NOW - 90})
    leaving = call("gone").prefers(A).having(prompt_tokens=6000).waits(since=NOW - 90, model=A, action="wait")

    said = planned(snapshot, leaving, wants("next", B, since=NOW - 3))

    assert said == [("stand_aside", "gone", A, "prompt-too-large"), ("evict", "next", B, "gpu-1", (A,))]
