"""A model in use that the engine let go of by itself: no copy any more, but its memory may be taken again soon."""

import pytest

from scheduler.core.decisions import Load, Queue, Wait
from scheduler.core.placement.decide import decide
from tests.builders import call, cluster, server
from tests.core.placement.taken import taken

LOST = server("gpu-1").having(slots=2, tickets_load=False).busy("m", footprint_mib=None)

CASES = [
    ("It is not joined: nothing is loading it", cluster(LOST).knowing("m", 10240), "m", Wait(model="m")),
    (
        "It is loaded elsewhere",
        cluster(LOST, server("gpu-2").total(10240)).knowing("m", 10240),
        "m",
        Load(server="gpu-2", model="m", footprint_mib=10240, cost_s=10.0),
    ),
    (
        "Its memory is still reserved",
        cluster(LOST).knowing("m", 10240).knowing("n", 24576),
        "n",
        Wait(model="n"),
    ),
    (
        "What is left beside it is free",
        cluster(LOST).knowing("m", 10240).knowing("n", 22528),
        "n",
        "load",
    ),
    (
        "With a record of its load it is a load like any other",
        cluster(LOST.load("m", 10240)).knowing("m", 10240),
        "m",
        "join",
    ),
    (
        "In a snapshot from outside a ticket is all there is to know of a load",
        cluster(LOST.having(tickets_load=True, slots=1)).knowing("m", 10240),
        "m",
        Queue(server="gpu-1", model="m", cost_s=30.0),
    ),
]


@pytest.mark.parametrize(("built", "model", "expected"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_a_lost_copy(built, model, expected):
    assert taken(decide(request=call().prefers(model).value, snapshot=built.at()), like=expected) == expected
