"""Standing aside at once: a model no server could ever hold, a prompt no context could ever take."""

import pytest

from scheduler.core.decisions import Load, Queue, Reason, StandAside, Use, Wait
from scheduler.core.placement.decide import decide
from tests.builders import call, cluster, server
from tests.core.placement.taken import taken

ONE = call().prefers("big", 70)
TWO = call().prefers("big", 70).then("small", 60)
LONG = ONE.having(prompt_tokens=6000)
TOO_LARGE = StandAside(model="big", reason=Reason.MODEL_TOO_LARGE)
TOO_LONG = StandAside(model="big", reason=Reason.PROMPT_TOO_LARGE)

CASES = [
    (
        "C44: a model larger than every server stands aside at once, and nothing is unloaded for it",
        cluster(server("gpu-a").total(24564).loaded("A", 8192).loaded("B", 6144), server("gpu-b").total(16384)).knowing(
            "qwen3:72b", 47104
        ),
        call().prefers("qwen3:72b", 70),
        StandAside(model="qwen3:72b", reason=Reason.MODEL_TOO_LARGE),
    ),
    (
        "C44: the call behind it is served at once",
        cluster(server("gpu-a").total(24564).loaded("A", 8192).loaded("B", 6144)).knowing("qwen3:72b", 47104),
        call().prefers("A"),
        Use(server="gpu-a", model="A"),
    ),
    (
        "A model that fits to the last MiB is not too large",
        cluster(server().total(8192)).knowing("big", 8192),
        ONE,
        Load(server="gpu-1", model="big", footprint_mib=8192, cost_s=8.0),
    ),
    (
        "A busy server that could hold it is waited for",
        cluster(server().total(8192).loaded("old", 8192).busy("old")).knowing("big", 8192),
        ONE,
        Wait(model="big"),
    ),
    (
        "A server that is not ready could still hold it one day",
        cluster(server("gpu-1").total(4096), server("gpu-2").having(ready=False)).knowing("big", 8192),
        ONE,
        Wait(model="big"),
    ),
    (
        "A server behind an open circuit could still hold it one day",
        cluster(server("gpu-1").total(4096), server("gpu-2").having(circuit_open=True)).knowing("big", 8192),
        ONE,
        Wait(model="big"),
    ),
    (
        "A server without a budget never proves a model too large",
        cluster(server("gpu-1").total(4096), server("gpu-2").total(None)).knowing("big", 8192),
        ONE,
        Wait(model="big"),
    ),
    (
        "A server without a budget that may not hold the model proves nothing either way",
        cluster(server("gpu-1").total(4096), server("gpu-2").total(None).having(models=frozenset())).knowing(
            "big", 8192
        ),
        ONE,
        TOO_LARGE,
    ),
    (
        "A large enough server that does not have the model on disk could not hold it",
        cluster(server("gpu-1").total(4096), server("gpu-2").having(models=frozenset({"other"}))).knowing("big", 8192),
        ONE,
        TOO_LARGE,
    ),
    (
        "A large enough server that loads nothing could not hold it",
        cluster(server("gpu-1").total(4096), server("gpu-2").having(can_load=False)).knowing("big", 8192),
        ONE,
        TOO_LARGE,
    ),
    (
        "C53: a model that no server has is named at once",
        cluster(server("a").having(models=frozenset({"qwen3:8b"})).loaded("qwen3:8b")).knowing("qwen3:14b", 8192),
        call().prefers("qwen3:14b"),
        StandAside(model="qwen3:14b", reason=Reason.MODEL_TOO_LARGE),
    ),
    (
        "A model of unknown size is never called too large",
        cluster(server().total(4096)),
        ONE,
        Wait(model="big"),
    ),
    (
        "A model resident anywhere is not too large, whatever it measures",
        cluster(server("gpu-1").total(8192).loaded("big", 20480).having(ready=False), server("gpu-2").total(8192)),
        ONE,
        Wait(model="big"),
    ),
    (
        "A resident that is being unloaded is not resident any more",
        cluster(server().total(8192).loaded("big", 20480).loading("other", 4096, evicts=("big",))),
        ONE,
        TOO_LARGE,
    ),
    (
        "With the preferred one too large, the best acceptable one takes its place",
        cluster(server().total(8192)).knowing("big", 20480).knowing("small", 8192),
        TWO,
        Load(server="gpu-1", model="small", footprint_mib=8192, cost_s=8.0),
    ),
    (
        "Tolerance is counted from the preferred one even when that is too large",
        cluster(server().total(8192)).knowing("big", 20480).knowing("small", 4096),
        call().prefers("big", 70).then("small", 59),
        TOO_LARGE,
    ),
    (
        "Several too large: the preferred one is named",
        cluster(server().total(8192)).knowing("big", 20480).knowing("small", 9000),
        TWO,
        TOO_LARGE,
    ),
    (
        "A model bound to a server too small for it is too large",
        cluster(server("gpu-1"), server("gpu-2").total(4096)).knowing("big", 8192),
        call().prefers("big", 70, on=["gpu-2"]),
        TOO_LARGE,
    ),
    (
        "A copy on a server that the model is not bound to does not make it placeable",
        cluster(server("gpu-1").loaded("big", 8192), server("gpu-2").total(4096)),
        call().prefers("big", 70, on=["gpu-2"]),
        TOO_LARGE,
    ),
    (
        "No server at all: the model can be placed nowhere",
        cluster().knowing("big", 1024),
        ONE,
        TOO_LARGE,
    ),
    (
        "A prompt longer than the only context stands aside at once",
        cluster(server().loaded("big", context_length=4096).having(context_length=8192)),
        LONG,
        TOO_LONG,
    ),
    (
        "A prompt that fills the context exactly fits",
        cluster(server().loaded("big", context_length=6000)),
        LONG,
        Use(server="gpu-1", model="big"),
    ),
    (
        "Where the resident says nothing, the server's context counts",
        cluster(server().loaded("big").having(context_length=4096)),
        LONG,
        TOO_LONG,
    ),
    (
        "An unknown context never refuses",
        cluster(server().loaded("big")),
        LONG,
        Use(server="gpu-1", model="big"),
    ),
    (
        "An unknown prompt length is never refused",
        cluster(server().loaded("big", context_length=1)),
        ONE,
        Use(server="gpu-1", model="big"),
    ),
    (
        "A copy whose context is too short is passed over for one that fits",
        cluster(server("gpu-1").loaded("big", context_length=4096), server("gpu-2").loaded("big").busy("big")),
        LONG,
        Queue(server="gpu-2", model="big", cost_s=30.0),
    ),
    (
        "A server whose context is too short takes no load for the prompt",
        cluster(server("gpu-1").having(context_length=4096), server("gpu-2").total(16384)).knowing("big", 16384),
        LONG,
        Load(server="gpu-2", model="big", footprint_mib=16384, cost_s=16.0),
    ),
    (
        "A server that is not ready but has the context is waited for",
        cluster(
            server("gpu-1").having(context_length=4096), server("gpu-2").having(ready=False, context_length=8192)
        ).knowing("big", 16384),
        LONG,
        Wait(model="big"),
    ),
    (
        "A server too small for the model does not count for the context",
        cluster(server("gpu-1").having(context_length=4096), server("gpu-2").total(8192)).knowing("big", 16384),
        LONG,
        TOO_LONG,
    ),
    (
        "A load under way is a place for the context",
        cluster(server("gpu-1").having(context_length=8192, slots=2).loading("big", 16384)),
        LONG,
        "join",
    ),
    (
        "With the preferred one's context too short, the best acceptable one takes its place",
        cluster(server().loaded("big", 16384, context_length=4096)).knowing("small", 16384),
        TWO.having(prompt_tokens=6000),
        Load(server="gpu-1", model="small", footprint_mib=16384, cost_s=17.0),
    ),
    (
        "One too large, the other's context too short: the prompt is the reason, the preferred one is named",
        cluster(server().total(8192).having(context_length=4096)).knowing("big", 16384).knowing("small", 4096),
        TWO.having(prompt_tokens=6000),
        TOO_LONG,
    ),
    (
        "A resident that is being unloaded no longer says what context a new load would have",
        cluster(server().loaded("big", 8192, context_length=4096).loading("new", 4096, evicts=("big",))),
        LONG,
        "load",
    ),
]


@pytest.mark.parametrize(("built", "asked", "expected"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_what_could_never_be_placed(built, asked, expected):
    assert taken(decide(request=asked.value, snapshot=built.at()), like=expected) == expected
