"""How long until a copy frees up: what runs, what loads, what is planned, who queues ahead, and the server's cap."""

import pytest

from scheduler.core.placement.estimates import wait_seconds
from tests.builders import NOW, call, cluster, server

ONE = call().prefers("m")
BACKGROUND = ONE.background()


def copy(*, slots=1, queued=0, **more):
    return server().loaded("m", 10240, slots=slots, queued=queued).having(**more)


CASES = [
    ("A call has what is left of the usual length", copy().busy("m", at=NOW - 12), ONE, 18.0),
    ("A call about to end still has a tenth of it", copy().busy("m", at=NOW - 29), ONE, 3.0),
    ("A call that outlived it has a tenth of it", copy().busy("m", at=NOW - 300), ONE, 3.0),
    ("The usual length is the server's own", copy(call_s=10.0).busy("m", at=NOW - 4), ONE, 6.0),
    ("A planned place takes a whole call", copy().ticket("m", state="planned", at=NOW - 20), ONE, 30.0),
    ("A load takes its rest and then a call", server().loading("m", 10240, at=NOW - 4), ONE, 36.0),
    ("A load that is late takes a call", server().loading("m", 10240, at=NOW - 40), ONE, 30.0),
    ("A load takes as long as this server loads", server().having(load_mib_per_s=512.0).loading("m", 10240), ONE, 50.0),
    ("The next of two slots counts", copy(slots=2).busy("m", at=NOW - 20).busy("m", at=NOW - 5), ONE, 10.0),
    (
        "One call ahead takes the slot that frees first",
        copy(slots=2, queued=1).busy("m", at=NOW - 20).busy("m"),
        ONE,
        30.0,
    ),
    (
        "Calls ahead go one after another",
        copy(slots=2, queued=2).busy("m", at=NOW - 20).busy("m", at=NOW - 5),
        ONE,
        40.0,
    ),
    ("Three ahead on one slot", copy(queued=3).busy("m", at=NOW - 10), ONE, 110.0),
    ("A copy with a free slot has one now", copy(slots=2).busy("m"), ONE, 0.0),
    (
        "More calls than slots: one is free when enough have ended",
        copy().busy("m", at=NOW - 20).busy("m", at=NOW - 5),
        ONE,
        25.0,
    ),
    ("The own agent's held place does not count", copy().ticket("m", state="planned", agent="analyst"), ONE, 0.0),
    (
        "The server's cap blocks: all its calls count",
        copy(max_concurrent=1).loaded("n").busy("n", at=NOW - 12),
        ONE,
        18.0,
    ),
    (
        "Copy and cap block: the larger answer",
        copy(max_concurrent=2).busy("m", at=NOW - 20).busy("n", at=NOW - 25),
        ONE,
        10.0,
    ),
    ("A cap with room does not count", copy(max_concurrent=3).busy("m", at=NOW - 20).busy("n"), ONE, 10.0),
    (
        "The class's part of the cap blocks: background calls count",
        copy(slots=9, max_concurrent=3, interactive_reserve=2)
        .busy("m", at=NOW - 20, priority="background")
        .busy("m", at=NOW - 27),
        BACKGROUND,
        10.0,
    ),
    (
        "Both parts block: the larger answer",
        copy(slots=9, max_concurrent=2, interactive_reserve=1)
        .busy("m", at=NOW - 10, priority="background")
        .busy("m", at=NOW - 25),
        BACKGROUND,
        20.0,
    ),
    ("A cap that leaves the class nothing: no answer", copy(max_concurrent=2, interactive_reserve=2), BACKGROUND, None),
    (
        "The same cap leaves interactive calls theirs",
        copy(max_concurrent=2, interactive_reserve=2, slots=1).busy("m", at=NOW - 12),
        ONE,
        18.0,
    ),
]


@pytest.mark.parametrize(("built", "asked", "expected"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_seconds_until_a_copy_frees_up(built, asked, expected):
    snapshot = cluster(built).at()

    found = wait_seconds(snapshot=snapshot, server=snapshot.servers["gpu-1"], model="m", request=asked.value)

    assert found == expected
