"""Who waits for a server, what is in flight there, and what an operator may do about it."""

from dataclasses import replace

import pytest

from scheduler.core.admission.in_flight import InFlight, in_flight_of
from scheduler.core.admission.queue import queue_of, queues_of
from scheduler.core.gate import AdmissionState
from scheduler.core.messages import endpoints as messages
from scheduler.core.operator_steps import Step, steps_of
from scheduler.core.types import Candidate, Waiter
from tests.builders import cluster, server

SMALL, LARGE = server("gpu-1").total(8192), server("gpu-2").total(32768)


def waiter(id, model="m", **more):
    """Make a waiter for one model."""
    candidates = (Candidate(model=model, score=70),)
    return Waiter(id=id, agent="a", candidates=candidates, arrived_at=0.0, limit_at=90.0, model=model, **more)


def queued(name, *waiters):
    """List who waits for a server: id, where else it may run, whether clearing sends it away."""
    snapshot = replace(cluster(SMALL, LARGE), footprints={"m": 6144, "large": 20480}).at(1000.0)
    return [
        (found.waiter.id, found.elsewhere, found.is_cleared)
        for found in queue_of(snapshot=snapshot, waiters=waiters, server=name)
    ]


def test_who_queues_on_a_copy_waits_for_its_server_alone():
    assert queued("gpu-1", waiter("a", server="gpu-1"), waiter("b", server="gpu-2")) == [("a", (), True)]


def test_who_needs_a_place_waits_for_every_server_that_could_give_it_and_is_cleared_where_it_is_the_only_one():
    line = (waiter("a"), waiter("b", model="large"))

    assert queued("gpu-1", *line) == [("a", ("gpu-2",), False)]
    assert queued("gpu-2", *line) == [("a", ("gpu-1",), False), ("b", (), True)]


def test_all_queues_at_once_are_the_queues_one_by_one():
    snapshot = replace(cluster(SMALL, LARGE), footprints={"m": 6144, "large": 20480}).at(1000.0)
    line = (waiter("a"), waiter("b", model="large"), waiter("c", server="gpu-1"), waiter("d", server="gone"))

    queues = queues_of(snapshot=snapshot, waiters=line)

    assert {name: tuple(found) for name, found in queues.items()} == {
        name: tuple(queue_of(snapshot=snapshot, waiters=line, server=name)) for name in ("gpu-1", "gpu-2")
    }


def test_who_has_its_place_or_stood_aside_waits_no_more():
    assert queued("gpu-1", waiter("a", ticket="t"), waiter("b", stood_aside="gpu-busy")) == []


def flight(*, cap, reserve, interactive, background):
    """Count a server with so many calls."""
    built = server("gpu-1").having(max_concurrent=cap, interactive_reserve=reserve)
    for _ in range(interactive):
        built = built.ticket("m")
    for _ in range(background):
        built = built.ticket("m", priority="background")
    return in_flight_of(built.value)


@pytest.mark.parametrize(
    ("cap", "reserve", "held", "free", "kept"),
    [
        (1, 0, (0, 0), 1, 0),
        (2, 1, (0, 1), 1, 1),
        (2, 1, (1, 0), 1, 0),
        (4, 1, (0, 3), 1, 1),
        (4, 1, (2, 1), 1, 0),
        (4, 1, (1, 3), 0, 0),
        (4, 1, (4, 0), 0, 0),
        (4, 2, (1, 2), 1, 1),
        (4, 4, (0, 0), 4, 4),
        (3, 0, (5, 0), 0, 0),
        (None, 0, (2, 1), None, None),
    ],
)
def test_a_free_place_is_kept_where_a_background_call_may_not_take_it(cap, reserve, held, free, kept):
    """A-41: a background call is let in iff held < C and held_bg < C - R, an interactive one iff held < C."""
    counted = flight(cap=cap, reserve=reserve, interactive=held[0], background=held[1])

    assert counted == InFlight(
        interactive=held[0], background=held[1], loading=0, held=0, left=0, cap=cap, free=free, kept=kept
    )


def test_places_that_load_or_are_held_count_and_are_told_apart():
    built = server("gpu-1").ticket("m", state="loading").ticket("m", state="planned", priority="background")

    counted = in_flight_of(built.value)

    assert (counted.total, counted.loading, counted.held) == (2, 1, 1)


def test_a_place_whose_caller_has_left_counts_as_before_and_is_told():
    """A-23."""
    built = server("gpu-1").having(max_concurrent=2).ticket("m", left_at=5.0).ticket("m")

    counted = in_flight_of(built.value)

    assert (counted.total, counted.left, counted.free) == (2, 1, 0)


@pytest.mark.parametrize(
    ("state", "waiting", "steps"),
    [
        ("open", 0, ("pause", "drain", "quarantine")),
        ("paused", 2, ("resume", "drain", "quarantine", "clear-queue")),
        ("draining", 0, ("resume", "pause", "quarantine")),
        ("quarantined", 1, ("clear-quarantine", "clear-queue")),
    ],
)
def test_an_operator_is_offered_what_makes_sense(state, waiting, steps):
    assert steps_of(state=AdmissionState(state), waiting=waiting) == steps


@pytest.mark.parametrize("step", Step)
def test_every_step_has_its_words(step):
    said = [
        messages.step_done(step=step, server="gpu-1", is_news=is_news, sent_away=is_news) for is_news in (True, False)
    ]

    assert all("gpu-1" in sentence for sentence in said)
    assert said[0] != said[1]
    assert messages.step_name(step=step)
    assert messages.step_means(step=step, sent_away=2, stay=1)


def test_clearing_says_before_who_goes_and_who_stays():
    assert messages.step_means(step=Step.CLEAR_QUEUE, sent_away=2, stay=1) == (
        "2 waiting calls are sent away with an error; 1 that may run elsewhere waits on. This cannot be undone."
    )
    assert messages.step_means(step=Step.CLEAR_QUEUE, sent_away=1, stay=0) == (
        "1 waiting call is sent away with an error. This cannot be undone."
    )


@pytest.mark.parametrize(
    ("total", "cap", "said"),
    [
        (1, None, "1 call at once, no cap"),
        (3, 4, "3 of 4 calls at once"),
        (0, 1, "0 of 1 call at once"),
        (5, 3, "5 of 3 calls at once: none is ended, new ones wait"),
    ],
)
def test_calls_at_once_in_words(total, cap, said):
    assert messages.calls_of_cap(total=total, cap=cap) == said


@pytest.mark.parametrize(
    ("count", "said"),
    [
        (0, ""),
        (1, "Of 1 call the caller has left; the engine works on, and the place is kept until it ends."),
        (2, "Of 2 calls the callers have left; the engine works on, and the place is kept until it ends."),
    ],
)
def test_work_for_nobody_in_words(count, said):
    assert messages.works_on_for(count=count) == said
