"""Steps 1 to 3 of the decision: a warm copy with a free slot, else a load under way, before anything is moved."""

import pytest

from scheduler.core.decisions import Join, Queue, Use, Verdict
from scheduler.core.placement.decide import NoCandidates, decide
from tests.builders import NOW, call, cluster, server
from tests.core.placement.taken import taken

TWO = call().prefers("big", 70).then("small", 60)
ONE = call().prefers("big", 70)

CASES = [
    (
        "The preferred model is used where it is loaded and free",
        cluster(server("gpu-1").loaded("big").loaded("small")),
        TWO,
        Use(server="gpu-1", model="big"),
    ),
    (
        "A loaded candidate at the edge of tolerance is used instead of loading the preferred one",
        cluster(server("gpu-1").loaded("small"), server("gpu-2")).knowing("big", 4096),
        TWO,
        Use(server="gpu-1", model="small"),
    ),
    (
        "A candidate one point outside the tolerance is not used",
        cluster(server("gpu-1").loaded("small").total(10240)).knowing("big", 4096),
        call().prefers("big", 70).then("small", 59),
        "evict",
    ),
    (
        "A tolerance of zero admits an equal score",
        cluster(server("gpu-1").loaded("small")).knowing("big", 4096),
        call().prefers("big", 70).then("small", 70).having(tolerance=0),
        Use(server="gpu-1", model="small"),
    ),
    (
        "A tolerance of zero refuses any lower score",
        cluster(server("gpu-1").loaded("small")).knowing("big", 4096),
        call().prefers("big", 70).then("small", 69).having(tolerance=0),
        "load",
    ),
    (
        "The next acceptable candidates are asked in their order",
        cluster(server("gpu-1").loaded("third").loaded("second")).knowing("first", 4096),
        call().prefers("first", 70).then("second", 65).then("third", 64),
        Use(server="gpu-1", model="second"),
    ),
    (
        "A busy preferred model yields to a free acceptable one",
        cluster(server("gpu-1").loaded("big").loaded("small").busy("big")),
        TWO,
        Use(server="gpu-1", model="small"),
    ),
    (
        "Of several copies, one that does not spill goes before a less busy one that does",
        cluster(server("gpu-1").loaded("big", spilling=True), server("gpu-2").loaded("big", slots=2).busy("big")),
        ONE,
        Use(server="gpu-2", model="big"),
    ),
    (
        "A spilling copy is used when it is the only free one",
        cluster(server("gpu-1").loaded("big", spilling=True), server("gpu-2").loaded("big").busy("big")),
        ONE,
        Use(server="gpu-1", model="big"),
    ),
    (
        "Of several copies, the one with the fewest tickets per slot",
        cluster(
            server("gpu-1").loaded("big", slots=2).busy("big"),
            server("gpu-2").loaded("big", slots=4).busy("big"),
        ),
        ONE,
        Use(server="gpu-2", model="big"),
    ),
    (
        "Of equally busy copies, the one of higher weight",
        cluster(server("gpu-1").loaded("big"), server("gpu-2").loaded("big").having(weight=200)),
        ONE,
        Use(server="gpu-2", model="big"),
    ),
    (
        "Of copies that are alike, the one whose server's name is first, whatever the order of the snapshot",
        cluster(server("gpu-2").loaded("big"), server("gpu-1").loaded("big")),
        ONE,
        Use(server="gpu-1", model="big"),
    ),
    (
        "A copy on a server that is not ready is no place",
        cluster(server("gpu-1").loaded("big").having(ready=False), server("gpu-2").loaded("big").busy("big")),
        ONE,
        Queue(server="gpu-2", model="big", cost_s=30.0),
    ),
    (
        "A copy behind an open circuit is no place",
        cluster(server("gpu-1").loaded("big").having(circuit_open=True), server("gpu-2").loaded("big").busy("big")),
        ONE,
        Queue(server="gpu-2", model="big", cost_s=30.0),
    ),
    (
        "C53: a free server without the model is not chosen over the one that has it",
        cluster(
            server("a").having(models=frozenset({"qwen3:8b"})).loaded("qwen3:8b"),
            server("b").having(models=frozenset({"qwen3:8b", "qwen3:14b"})).loaded("qwen3:14b"),
        ),
        call().prefers("qwen3:14b"),
        Use(server="b", model="qwen3:14b"),
    ),
    (
        "A server that only serves is used for what it serves",
        cluster(server("gpu-1").loaded("big", None).total(None).having(can_load=False)),
        ONE,
        Use(server="gpu-1", model="big"),
    ),
    (
        "A resident larger than the server's budget is still used: it is there",
        cluster(server("gpu-1").total(8192).loaded("big", 20480, spilling=True)),
        ONE,
        Use(server="gpu-1", model="big"),
    ),
    (
        "A model that a load's ticket unloads is not warm any more",
        cluster(server("gpu-1").loaded("small").loading("other", 4096, evicts=("small",))).knowing("big", 4096),
        TWO,
        "load",
    ),
    (
        "A load under way is joined, at the rest of the load",
        cluster(server("gpu-1").having(slots=2).loading("big", at=NOW - 4), server("gpu-2")),
        ONE,
        Join(server="gpu-1", model="big", cost_s=6.0),
    ),
    (
        "A load that takes longer than expected is joined at no cost",
        cluster(server("gpu-1").having(slots=2).loading("big", at=NOW - 40)),
        ONE,
        Join(server="gpu-1", model="big", cost_s=0.0),
    ),
    (
        "A load is counted from its first ticket",
        cluster(server("gpu-1").having(slots=3).loading("big", at=NOW - 4).loading("big", at=NOW - 1)),
        ONE,
        Join(server="gpu-1", model="big", cost_s=6.0),
    ),
    (
        "A load without a free slot is queued on, although another server has room",
        cluster(server("gpu-1").loading("big", at=NOW - 4), server("gpu-2")),
        ONE,
        Queue(server="gpu-1", model="big", cost_s=36.0),
    ),
    (
        "A warm acceptable model goes before joining the preferred one",
        cluster(server("gpu-1").having(slots=2).loading("big").loaded("small")),
        TWO,
        Use(server="gpu-1", model="small"),
    ),
    (
        "An acceptable model that is loading is joined before the preferred one is loaded",
        cluster(server("gpu-1").having(slots=2).loading("small"), server("gpu-2")).knowing("big", 4096),
        TWO,
        Join(server="gpu-1", model="small", cost_s=10.0),
    ),
    (
        "Of two candidates that load, the one first in the list, even if only to queue on",
        cluster(server("gpu-1").loading("big"), server("gpu-2").having(slots=2).loading("small")),
        TWO,
        Queue(server="gpu-1", model="big", cost_s=40.0),
    ),
    (
        "Of several loads of the model, one with a free slot",
        cluster(server("gpu-1").loading("big"), server("gpu-2").having(slots=2).loading("big", at=NOW - 1)),
        ONE,
        Join(server="gpu-2", model="big", cost_s=9.0),
    ),
    (
        "Of several loads with a free slot, the one with the fewest tickets per slot",
        cluster(
            server("gpu-1").having(slots=2).loading("big", at=NOW - 5),
            server("gpu-2").having(slots=3).loading("big", at=NOW - 1),
        ),
        ONE,
        Join(server="gpu-2", model="big", cost_s=9.0),
    ),
    (
        "A load on a server that is not ready is not joined",
        cluster(server("gpu-1").having(slots=2, ready=False).loading("big"), server("gpu-2")).knowing("big", 10240),
        ONE,
        "load",
    ),
    (
        "A planned place whose model is not there yet is a load to join",
        cluster(server("gpu-1").having(slots=2).ticket("big", state="planned", at=NOW - 4, footprint_mib=10240)),
        ONE,
        Join(server="gpu-1", model="big", cost_s=6.0),
    ),
    (
        "A load whose callers are all gone is joined",
        cluster(server("gpu-1").load("big", 10240, at=NOW - 4)),
        ONE,
        Join(server="gpu-1", model="big", cost_s=6.0),
    ),
    (
        "A candidate bound to a server is not used elsewhere",
        cluster(server("gpu-1").loaded("big"), server("gpu-2").loaded("big").busy("big")),
        call().prefers("big", 70, on=["gpu-2"]),
        Queue(server="gpu-2", model="big", cost_s=30.0),
    ),
]


@pytest.mark.parametrize(("built", "asked", "expected"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_warm_and_loading_copies(built, asked, expected):
    assert taken(decide(request=asked.value, snapshot=built.at()), like=expected) == expected


def test_a_request_without_candidates_is_an_error_of_the_request():
    with pytest.raises(NoCandidates):
        decide(request=call().value, snapshot=cluster(server()).at())


def test_the_trace_names_the_copies_that_were_not_taken():
    snapshot = cluster(server("gpu-1").loaded("big"), server("gpu-2").loaded("big").having(weight=50)).at()

    decision = decide(request=ONE.value, snapshot=snapshot)

    assert [(option.server, option.verdict) for option in decision.options] == [
        ("gpu-1", Verdict.CHOSEN),
        ("gpu-2", Verdict.OTHER_COPY_FIRST),
    ]
