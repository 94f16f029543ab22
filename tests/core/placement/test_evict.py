"""Steps 5 and 6 of the decision: no memory is free, so unloading is weighed against queueing; else one waits."""

import pytest

from scheduler.core.decisions import Evict, Load, Option, Queue, Reason, Verdict, Wait
from scheduler.core.placement.decide import decide
from tests.builders import NOW, call, cluster, server
from tests.core.placement.taken import taken

ONE = call().prefers("big", 70)
EQUALS = call().prefers("big", 70).then("twin", 70)
LOWER = call().prefers("big", 70).then("small", 65)


def full(name="gpu-1"):
    """A server of 10 GiB, so that one model of 10240 MiB fills it."""
    return server(name).total(10240)


CASES = [
    (
        "An idle model is unloaded: the load, a second for the unload, nothing for what nobody needs",
        cluster(full().loaded("old")).knowing("big", 10240),
        ONE,
        Evict(server="gpu-1", model="big", footprint_mib=10240, evicts=("old",), cost_s=11.0),
    ),
    (
        "What is likely to come back costs its reload in part",
        cluster(full().loaded("old")).knowing("big", 10240).wanting("old", use=3.0, predicted=2.0),
        ONE,
        Evict(server="gpu-1", model="big", footprint_mib=10240, evicts=("old",), cost_s=10.0 + 1 + 10.0 * 0.5),
    ),
    (
        "The server whose victim is needed least gives way",
        cluster(full("gpu-1").loaded("loved"), full("gpu-2").loaded("old"))
        .knowing("big", 10240)
        .wanting("loved", use=5.0),
        ONE,
        Evict(server="gpu-2", model="big", footprint_mib=10240, evicts=("old",), cost_s=11.0),
    ),
    (
        "Of evictions that cost the same, the one with fewer victims",
        cluster(
            full("gpu-1").loaded("a", 5120).loaded("b", 5120),
            full("gpu-2").loaded("c").having(success_rate=59 / 60),
        ).knowing("big", 10240),
        ONE,
        Evict(server="gpu-2", model="big", footprint_mib=10240, evicts=("c",), cost_s=10.0 + 1 + 60 * (1 - 59 / 60)),
    ),
    (
        "Of evictions of equals that cost the same, the candidate first in the list",
        cluster(full().loaded("old")).knowing("big", 10240).knowing("twin", 10240),
        EQUALS,
        Evict(server="gpu-1", model="big", footprint_mib=10240, evicts=("old",), cost_s=11.0),
    ),
    (
        "Of evictions that are alike, the heavier server",
        cluster(full("gpu-1").loaded("a"), full("gpu-2").loaded("b").having(weight=101)).knowing("big", 10240),
        ONE,
        Evict(server="gpu-2", model="big", footprint_mib=10240, evicts=("b",), cost_s=11.0),
    ),
    (
        "Evictions have no price for room left unused, and none for a second copy",
        cluster(server("gpu-1").loaded("old", 32768), full("gpu-2").loaded("big").busy("big", times=3)).knowing(
            "big", 10240
        ),
        ONE,
        Evict(server="gpu-1", model="big", footprint_mib=10240, evicts=("old",), cost_s=11.0),
    ),
    (
        "Queueing on any acceptable copy is weighed against unloading",
        cluster(full("gpu-1").loaded("old"), full("gpu-2").loaded("small").busy("small", at=NOW - 25)).knowing(
            "big", 10240
        ),
        LOWER,
        Queue(server="gpu-2", model="small", cost_s=5.0),
    ),
    (
        "Queueing wins a tie with unloading",
        cluster(full("gpu-1").loaded("old"), full("gpu-2").loaded("small").busy("small", at=NOW - 19)).knowing(
            "big", 10240
        ),
        LOWER,
        Queue(server="gpu-2", model="small", cost_s=11.0),
    ),
    (
        "Of copies to queue on that cost the same, the earlier candidate's",
        cluster(full("gpu-1").loaded("small").busy("small"), full("gpu-2").loaded("big").busy("big")),
        LOWER,
        Queue(server="gpu-2", model="big", cost_s=30.0),
    ),
    (
        "A model in use is never unloaded",
        cluster(full().loaded("old").busy("old")).knowing("big", 10240),
        ONE,
        Wait(model="big"),
    ),
    (
        "A model that a planned place holds is in use, the caller's own plan included",
        cluster(full().loaded("old").ticket("old", state="planned", agent="analyst")).knowing("big", 10240),
        ONE,
        Wait(model="big"),
    ),
    (
        "A model that agents wait for is not unloaded",
        cluster(full().loaded("old")).knowing("big", 10240).wanting("old", waiting=[NOW - 1]),
        ONE,
        Wait(model="big"),
    ),
    (
        "A model that selected agents are about to use is not unloaded",
        cluster(full().loaded("old")).knowing("big", 10240).wanting("old", intents=[NOW - 1]),
        ONE,
        Wait(model="big"),
    ),
    (
        "A model that another load unloads already is not unloaded twice",
        cluster(server().total(20480).loaded("old").loaded("kept").loading("new", 10240, evicts=("old",))).knowing(
            "big", 20480
        ),
        ONE,
        Wait(model="big"),
    ),
    (
        "Nothing is unloaded when the load would still not fit",
        cluster(server().total(20480).loaded("idle", 4096).loaded("used", 16384).busy("used")).knowing("big", 16384),
        ONE,
        Wait(model="big"),
    ),
    (
        "Nothing is unloaded for a model that fits without",
        cluster(server().loaded("idle", 10240)).knowing("big", 20480),
        ONE,
        "load",
    ),
    (
        "A free server is taken although unloading elsewhere would be quicker",
        cluster(full("gpu-1").loaded("old"), full("gpu-2").having(load_mib_per_s=128.0)).knowing("big", 10240),
        ONE,
        Load(server="gpu-2", model="big", footprint_mib=10240, cost_s=80.0),
    ),
    (
        "The fewest victims, the least needed of them, in that order",
        cluster(server().loaded("a", 8192).loaded("b", 8192).loaded("c", 8192).loaded("d", 8192))
        .knowing("big", 16384)
        .wanting("a", use=0.0, last_used=NOW - 1)
        .wanting("b", use=0.0, last_used=NOW - 9)
        .wanting("c", use=2.0)
        .wanting("d", use=0.0, last_used=NOW - 5),
        ONE,
        Evict(server="gpu-1", model="big", footprint_mib=16384, evicts=("b", "d"), cost_s=18.0),
    ),
    (
        "When it was last used comes from the demand before the engine",
        cluster(server().loaded("a", 16384, last_used=NOW - 9).loaded("b", 16384, last_used=NOW - 5))
        .knowing("big", 16384)
        .wanting("a", last_used=NOW - 1),
        ONE,
        Evict(server="gpu-1", model="big", footprint_mib=16384, evicts=("b",), cost_s=17.0),
    ),
    (
        "C47: a summary that accepts the chat model uses it, nothing moves",
        cluster(server("gpu-a").total(24564).loaded("mid", 14336, slots=2).busy("mid")).knowing("small", 12288),
        call().background().prefers("small", 70).then("mid", 60),
        "use",
    ),
    (
        "C47: a summary that does not accept the idle large model never runs on it; it is unloaded",
        cluster(server("gpu-a").total(24564).loaded("big", 20480, slots=2)).knowing("small", 12288),
        call().background().prefers("small", 70).then("big", 30),
        Evict(server="gpu-a", model="small", footprint_mib=12288, evicts=("big",), cost_s=13.0),
    ),
    (
        "C46: while anybody waits for A, B does not throw it out",
        cluster(server("gpu-a").total(24564).loaded("A", 20480)).knowing("B", 20480).wanting("A", waiting=[NOW]),
        call().prefers("B"),
        Wait(model="B", reason=Reason.GPU_BUSY),
    ),
]


@pytest.mark.parametrize(("built", "asked", "expected"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_making_room_or_waiting(built, asked, expected):
    assert taken(decide(request=asked.value, snapshot=built.at()), like=expected) == expected


def test_the_trace_says_what_was_weighed_and_how_it_ended():
    snapshot = (
        cluster(full("gpu-1").loaded("old"), full("gpu-2").loaded("older"), full("gpu-3").loaded("small").busy("small"))
        .knowing("big", 10240)
        .at()
    )

    decision = decide(request=LOWER.value, snapshot=snapshot)

    assert decision.options == (
        Option(action="evict", server="gpu-1", model="big", cost_s=11.0, evicts=("old",), verdict=Verdict.CHOSEN),
        Option(action="evict", server="gpu-2", model="big", cost_s=11.0, evicts=("older",), verdict=Verdict.TIED),
        Option(action="queue", server="gpu-3", model="small", cost_s=30.0, verdict=Verdict.COSTS_MORE),
    )
