"""Step 4 of the decision: some server has free memory, so loading is weighed against the targets' own queues."""

import pytest

from scheduler.core.decisions import Load, Queue, Wait
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
        "An idle cluster loads the preferred model: its time, and two seconds for room left unused",
        cluster(server()).knowing("big", 16384),
        ONE,
        Load(server="gpu-1", model="big", footprint_mib=16384, cost_s=16.0 + 1.0),
    ),
    (
        "The load goes where it leaves the least room unused",
        cluster(server("gpu-1").total(32768), server("gpu-2").total(20480)).knowing("big", 20480),
        ONE,
        Load(server="gpu-2", model="big", footprint_mib=20480, cost_s=20.0),
    ),
    (
        "The load goes to the faster disk",
        cluster(server("gpu-1").having(load_mib_per_s=512.0), server("gpu-2")).knowing("big", 32768),
        ONE,
        Load(server="gpu-2", model="big", footprint_mib=32768, cost_s=32.0),
    ),
    (
        "A server whose attempts fail costs sixty seconds times its failures",
        cluster(server("gpu-1").having(success_rate=0.9), server("gpu-2").having(success_rate=0.95)).knowing(
            "big", 32768
        ),
        ONE,
        Load(server="gpu-2", model="big", footprint_mib=32768, cost_s=32.0 + 60 * (1 - 0.95)),
    ),
    (
        "Of loads that cost the same, the one on the heavier server",
        cluster(server("gpu-1"), server("gpu-2").having(weight=200)).knowing("big", 32768),
        ONE,
        Load(server="gpu-2", model="big", footprint_mib=32768, cost_s=32.0),
    ),
    (
        "Of loads that are alike, the server whose name is first",
        cluster(server("gpu-2"), server("gpu-1")).knowing("big", 32768),
        ONE,
        Load(server="gpu-1", model="big", footprint_mib=32768, cost_s=32.0),
    ),
    (
        "A second copy is not loaded while the wait is shorter than two calls and the load",
        cluster(server("gpu-1").loaded("big", 10240).busy("big"), full("gpu-2")),
        ONE,
        Queue(server="gpu-1", model="big", cost_s=30.0),
    ),
    (
        "A second copy is loaded once the queue is longer than two calls and the load",
        cluster(server("gpu-1").loaded("big", 10240, queued=2).busy("big"), full("gpu-2")),
        ONE,
        Load(server="gpu-2", model="big", footprint_mib=10240, cost_s=10.0 + 2 * 30.0),
    ),
    (
        "A second copy costs two of the loading server's own calls",
        cluster(
            server("gpu-1").loaded("big", 10240, queued=1).busy("big"),
            full("gpu-2").having(call_s=20.0),
        ),
        ONE,
        Load(server="gpu-2", model="big", footprint_mib=10240, cost_s=10.0 + 2 * 20.0),
    ),
    (
        "Queueing wins a tie with loading a second copy",
        cluster(
            server("gpu-1").loaded("big", 10240, queued=1).busy("big", at=NOW).having(call_s=35.0),
            full("gpu-2").having(call_s=30.0),
        ),
        ONE,
        Queue(server="gpu-1", model="big", cost_s=70.0),
    ),
    (
        "A copy on a server that is not ready does not make the next one a second copy",
        cluster(server("gpu-1").loaded("big", 10240).having(ready=False), full("gpu-2")),
        ONE,
        Load(server="gpu-2", model="big", footprint_mib=10240, cost_s=10.0),
    ),
    (
        "C54: the last reading of a dead server keeps nothing there; the call goes where there is room",
        cluster(server("a").loaded("qwen3:14b").having(ready=False), full("b")),
        call().prefers("qwen3:14b"),
        Load(server="b", model="qwen3:14b", footprint_mib=10240, cost_s=10.0),
    ),
    (
        "A candidate of the same score is loaded where that is cheaper: equals are interchangeable",
        cluster(server()).knowing("big", 32768).knowing("twin", 16384),
        EQUALS,
        Load(server="gpu-1", model="twin", footprint_mib=16384, cost_s=16.0 + 1.0),
    ),
    (
        "A candidate of a lower score is never loaded",
        cluster(server()).knowing("big", 32768).knowing("small", 1024),
        LOWER,
        Load(server="gpu-1", model="big", footprint_mib=32768, cost_s=32.0),
    ),
    (
        "Half a point lower is a lower score",
        cluster(server()).knowing("big", 32768).knowing("small", 1024),
        call().prefers("big", 70).then("small", 69.5),
        Load(server="gpu-1", model="big", footprint_mib=32768, cost_s=32.0),
    ),
    (
        "Of equals that cost the same, the one first in the list",
        cluster(server()).knowing("big", 32768).knowing("twin", 32768),
        call().prefers("twin", 70).then("big", 70),
        Load(server="gpu-1", model="twin", footprint_mib=32768, cost_s=32.0),
    ),
    (
        "With memory free for the target, a busy copy of a lower score is not worth queueing on",
        cluster(server("gpu-1").loaded("small", 4096).busy("small", at=NOW - 29)).knowing("big", 28672),
        LOWER,
        Load(server="gpu-1", model="big", footprint_mib=28672, cost_s=28.0 + 2 * (32768 - 28672) / 32768),
    ),
    (
        "A busy copy of an equal is worth queueing on",
        cluster(server("gpu-1").loaded("twin", 4096).busy("twin", at=NOW - 27)).knowing("big", 28672),
        EQUALS,
        Queue(server="gpu-1", model="twin", cost_s=3.0),
    ),
    (
        "Memory reserved for a load under way is not free",
        cluster(server().loading("other", 20480)).knowing("big", 16384),
        ONE,
        Wait(model="big"),
    ),
    (
        "A load's memory is reserved once, however many tickets share it",
        cluster(server().having(slots=2).loading("other", 12288).loading("other", 12288)).knowing("big", 20480),
        ONE,
        "load",
    ),
    (
        "What a load unloads counts as gone, once, however many tickets name it",
        cluster(
            server()
            .loaded("old", 16384)
            .having(slots=2)
            .loading("other", 16384, evicts=("old",))
            .loading("other", 16384, evicts=("old",))
        ).knowing("big", 16384),
        ONE,
        "load",
    ),
    (
        "C26: memory is what the engine measured, not what was declared",
        cluster(
            server("gpu-a").total(24564, reserve=0).loaded("llama3.2:3b", 12398, slots=2).busy("llama3.2:3b")
        ).knowing("mistral-nemo:12b", 12288),
        call().prefers("mistral-nemo:12b"),
        Wait(model="mistral-nemo:12b"),
    ),
    (
        "C27: an engine that reports more than the card has leaves nothing free",
        cluster(
            server("gpu-a")
            .total(24564, reserve=0)
            .loaded("qwen3:32b", 20981)
            .loaded("bge-m3", 4769)
            .busy("qwen3:32b")
            .busy("bge-m3")
        ).knowing("tiny", 1),
        call().prefers("tiny"),
        Wait(model="tiny"),
    ),
    (
        "C28: a declared budget holds the large model alone",
        cluster(server("box-a").total(92160).loaded("big-122b", 81920).busy("big-122b")).knowing("mid-35b", 28672),
        call().prefers("mid-35b"),
        Wait(model="mid-35b"),
    ),
    (
        "C28: a larger box holds both",
        cluster(server("box-b").total(122880).loaded("big-122b", 81920).busy("big-122b")).knowing("mid-35b", 28672),
        call().prefers("mid-35b"),
        "load",
    ),
    (
        "C29: without a budget nothing is loaded, and the model is not called too large",
        cluster(server("unknown-box").total(None).loaded("qwen3:8b", 5722)).knowing("qwen3:14b", 10240),
        call().prefers("qwen3:14b"),
        Wait(model="qwen3:14b"),
    ),
    (
        "Without a stated reserve 12 % stay free, rounded up",
        cluster(server().total(32768, reserve=None)).knowing("big", 32768 - 3933),
        ONE,
        "load",
    ),
    (
        "One MiB into the reserve is too much",
        cluster(server().total(32768, reserve=None)).knowing("big", 32768 - 3932),
        ONE,
        "stand_aside",
    ),
    (
        "Of a small card at least 2 GiB stay free",
        cluster(server().total(8192, reserve=None)).knowing("big", 8192 - 2047),
        ONE,
        "stand_aside",
    ),
    (
        "A model of unknown size is not loaded",
        cluster(server()),
        ONE,
        Wait(model="big"),
    ),
    (
        "A resident of unknown size makes what is free unknown: nothing is loaded beside it",
        cluster(server().loaded("odd", None)).knowing("big", 1024),
        ONE,
        Wait(model="big"),
    ),
    (
        "A resident's unknown size is looked up like any other",
        cluster(server().loaded("odd", None)).knowing("odd", 4096).knowing("big", 28672),
        ONE,
        Load(server="gpu-1", model="big", footprint_mib=28672, cost_s=28.0 + 2 * (32768 - 28672) / 32768),
    ),
    (
        "A footprint seen on another server is worth more than the declared one",
        cluster(server("gpu-1").loaded("big", 30720).having(ready=False), server("gpu-2")).knowing("big", 1024),
        ONE,
        Load(server="gpu-2", model="big", footprint_mib=30720, cost_s=30.0 + 2 * 2048 / 32768),
    ),
    (
        "A model is loaded only where the engine has it on disk",
        cluster(
            server("gpu-1").having(models=frozenset({"other"})), server("gpu-2").having(models=frozenset({"big"}))
        ).knowing("big", 16384),
        ONE,
        Load(server="gpu-2", model="big", footprint_mib=16384, cost_s=17.0),
    ),
    (
        "A model bound to a server is loaded there only",
        cluster(server("gpu-1"), server("gpu-2")).knowing("big", 32768),
        call().prefers("big", 70, on=["gpu-2"]),
        Load(server="gpu-2", model="big", footprint_mib=32768, cost_s=32.0),
    ),
    (
        "A server that only serves takes no load",
        cluster(server().having(can_load=False, ready=True), server("gpu-2").having(ready=False)).knowing("big", 1024),
        ONE,
        Wait(model="big"),
    ),
    (
        "A model that is still being unloaded here comes back only once it is gone",
        cluster(server().loaded("big", 8192).load("other", 4096, evicts=("big",))),
        ONE,
        Wait(model="big"),
    ),
    (
        "A model whose load just failed here rests here",
        cluster(server().having(blocked=frozenset({"big"}))).knowing("big", 1024),
        ONE,
        Wait(model="big"),
    ),
]


@pytest.mark.parametrize(("built", "asked", "expected"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_loading_into_free_memory(built, asked, expected):
    assert taken(decide(request=asked.value, snapshot=built.at()), like=expected) == expected
