"""Two names of the same weights on a server are one copy: one set of slots, one memory, one life."""

from dataclasses import replace

import pytest

from scheduler.core.decisions import Evict, Queue, Use, Wait
from scheduler.core.placement.decide import decide
from scheduler.core.types import CallRequest
from tests.builders import NOW, call, cluster, server
from tests.core.placement.taken import taken

TWO_NAMES = server().total(10240).loaded("m", 10240, aliases=("m-latest",))

CASES = [
    ("It is used by its other name", cluster(TWO_NAMES), "m-latest", Use(server="gpu-1", model="m-latest")),
    (
        "Its slots are shared by its names",
        cluster(TWO_NAMES.busy("m")),
        "m-latest",
        Queue(server="gpu-1", model="m-latest", cost_s=30.0),
    ),
    (
        "A call under its other name keeps it in use",
        cluster(TWO_NAMES.busy("m-latest")).knowing("big", 10240),
        "big",
        Wait(model="big"),
    ),
    (
        "Who waits for its other name protects it",
        cluster(TWO_NAMES).knowing("big", 10240).wanting("m-latest", waiting=[NOW]),
        "big",
        Wait(model="big"),
    ),
    (
        "It is unloaded once, for all its names",
        cluster(TWO_NAMES).knowing("big", 10240),
        "big",
        Evict(server="gpu-1", model="big", footprint_mib=10240, evicts=("m",), cost_s=11.0),
    ),
    (
        "A drain of it closes its other name too",
        cluster(TWO_NAMES.drained("big", victims=["m"])).knowing("big", 10240),
        "m-latest",
        Wait(model="m-latest"),
    ),
]


@pytest.mark.parametrize(("built", "model", "expected"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_a_copy_of_two_names(built, model, expected):
    assert taken(decide(request=call().prefers(model).value, snapshot=built.at()), like=expected) == expected


def test_a_request_s_own_wait_under_the_other_name_does_not_protect_it():
    snapshot = cluster(TWO_NAMES).knowing("big", 10240).wanting("m-latest", waiting=[NOW]).at()
    request: CallRequest = replace(call().prefers("big").value, waiter="w0")

    assert decide(request=request, snapshot=snapshot).action == "evict"
