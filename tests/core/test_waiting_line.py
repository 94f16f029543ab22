"""The line as it is kept: whoever comes, goes, ages or is told something, it is the line one would make afresh."""

from dataclasses import replace
from random import Random

import pytest

from scheduler.core.config import SchedulerConfig
from scheduler.core.types import Drain, Priority
from scheduler.core.waiting_line import WaitingLine
from tests.builders import NOW, call

CONFIG = SchedulerConfig()
STEPS = 60
KEYS = [f"w{number}" for number in range(12)]


def random_waiter(rng, key):
    waiting = call(rng.choice("abc")).prefers(rng.choice("mn")).waits(since=NOW - rng.choice((0, 5, 115, 130)), key=key)
    queues = rng.random() < 0.5
    return replace(
        waiting,
        priority=rng.choice(tuple(Priority)),
        prompt_tokens=rng.choice((None, 10, 5000)),
        start_tag=rng.choice((0.0, 1.0)),
        limit_at=NOW + rng.choice((10, 20)),
        model=rng.choice(("", "m", "n")),
        action="queue" if queues else "wait",
        server=rng.choice(("gpu-1", "gpu-2")) if queues else None,
        ticket=rng.choice((None, None, None, f"t-{key}")),
    )


def all_of(line, drains):
    """Everything that a plan or a page asks of a line."""
    groups = line.groups(holders={"a"}, drains=drains)
    return {
        "groups": groups,
        "newcomers": [sorted(waiter.id for waiter in line.newcomers(group, besides={"w1"})) for group in groups],
        "told otherwise": [
            sorted(
                w.id
                for w in line.told_otherwise(
                    group, stands=lambda told: told[:2] == ("m", "wait"), besides={"w1"}, at_most=99
                )
            )
            for group in groups
        ],
        "queues": line.queues(),
        "queued": [line.queued_on((server, model)) for server in ("gpu-1", "gpu-2") for model in "mn"],
        "past limit": [waiter.id for waiter in line.past_limit(now=NOW + 15)],
        "waiting": [line.is_waiting(key) for key in KEYS],
        "count": len(line),
    }


@pytest.mark.parametrize("seed", range(30))
def test_what_was_kept_is_what_would_be_made_afresh(seed):
    rng = Random(seed)
    kept, waiters = WaitingLine(config=CONFIG), {}
    moment = {"now": NOW, "contexts": (), "is_weighted": False}
    kept.settle(**moment)

    for _ in range(STEPS):
        match rng.choice(("put", "put", "remove", "time", "contexts", "weights")):
            case "put":
                key = rng.choice(KEYS)
                waiters[key] = random_waiter(rng, key)
                kept.put(waiters[key])
            case "remove":
                key = rng.choice(KEYS)
                waiters.pop(key, None)
                kept.remove(key)
            case "time":
                moment["now"] = NOW + rng.choice((-10, 0, 3, 10, 200))
            case "contexts":
                moment["contexts"] = rng.choice(((), (100,), (100, 8000)))
            case "weights":
                moment["is_weighted"] = rng.random() < 0.5
        kept.settle(**moment)
        fresh = WaitingLine(config=CONFIG)
        fresh.settle(**moment)
        for waiter in waiters.values():
            fresh.put(waiter)
        drains = [Drain(model="m", agent="b", victims=(), since=NOW - 5, waiter=rng.choice(KEYS))] * rng.randint(0, 1)

        assert all_of(kept, drains) == all_of(fresh, drains)


def test_newcomers_stand_in_line_only_as_long_as_a_plan_lasts():
    line = WaitingLine(config=CONFIG)
    line.put(call("a").prefers("m").waits(since=NOW - 1, key="old"))

    with line.joined_by([call("a").prefers("m").waits(since=NOW, key="new")]) as joined:
        during = [[member.id for member in group.members] for group in joined.groups(holders=(), drains=())]

    assert during == [["old", "new"]]
    assert [[m.id for m in group.members] for group in line.groups(holders=(), drains=())] == [["old"]]


def test_a_newcomer_that_the_line_knows_already_stays():
    line = WaitingLine(config=CONFIG)
    known = call("a").prefers("m").waits(since=NOW, key="w")
    line.put(known)

    with line.joined_by([known]):
        pass

    assert line.is_waiting("w")


def test_queues_that_were_shown_do_not_change_afterwards():
    line = WaitingLine(config=CONFIG)
    first = replace(call("a").prefers("m").waits(since=NOW, key="w"), model="m", action="queue", server="gpu-1")
    line.put(first)
    shown = line.queues()

    line.remove("w")

    assert (len(shown["gpu-1", "m"]), line.queues()) == (1, {})
