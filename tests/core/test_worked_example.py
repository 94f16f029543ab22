"""The worked example of the scheduling rules, section 7, step by step: decided on its snapshots, and played in time."""

from copy import deepcopy
from typing import Any

import pytest

from scheduler.core.explain import decision_doc
from scheduler.core.placement.decide import decide
from scheduler.core.snapshot_json import read_request, read_snapshot
from tests.core.placement.oracle import answer
from tests.core.play import Play, Served, card, holds

BIG, MIDDLE, SMALL = "qwen3:32b", "qwen3:14b", "qwen3:8b"
ANALYST = [(BIG, 70), (MIDDLE, 60), (SMALL, 30)]
RULES_KEEPER = [(MIDDLE, 60)]
RESEARCHER = [(BIG, 90), (MIDDLE, 20)]
NOW = 1000.0


def gpu(name: str, *, total: int, model: str, mib: int) -> dict[str, Any]:
    """A server as people fill it in: what they do not say is null."""
    return {
        "name": name,
        "ready": True,
        "circuitOpen": False,
        "weight": 100,
        "totalMiB": total,
        "reserveMiB": None,
        "slots": 1,
        "maxConcurrent": None,
        "interactiveReserve": 0,
        "contextLength": None,
        "loadMiBPerSecond": None,
        "callSeconds": None,
        "successRate": None,
        "canLoad": True,
        "models": None,
        "drain": None,
        "residents": [
            {
                "model": model,
                "footprintMiB": mib,
                "contextLength": None,
                "lastUsed": 990.0,
                "spilling": False,
                "queued": 0,
            }
        ],
        "tickets": [],
    }


def running(agent: str, model: str, *, since: float = NOW) -> dict[str, Any]:
    """A call that runs."""
    return {
        "id": f"t-{agent}",
        "agent": agent,
        "model": model,
        "state": "active",
        "startedAt": since,
        "footprintMiB": None,
        "evicts": [],
        "priority": "interactive",
    }


@pytest.fixture
def example() -> dict[str, Any]:
    """gpu-1 with the middle model idle, gpu-2 with the small one busy."""
    gpu_1 = gpu("gpu-1", total=32 * 1024, model=MIDDLE, mib=10240)
    gpu_2 = gpu("gpu-2", total=24 * 1024, model=SMALL, mib=6144)
    gpu_2["tickets"].append(running("other", SMALL))
    return {
        "now": NOW,
        "servers": [gpu_1, gpu_2],
        "models": {BIG: {"footprintMiB": 20480}, MIDDLE: {"footprintMiB": 10240}, SMALL: {"footprintMiB": 6144}},
        "demand": {},
    }


def ask(example: dict[str, Any], agent: str, candidates: list[tuple[str, float]]) -> dict[str, Any]:
    """Decide for an agent, as the product and as the text has it: they must not differ."""
    doc = deepcopy(example)
    doc["request"] = {
        "agent": agent,
        "candidates": [{"model": model, "score": score} for model, score in candidates],
        "tolerance": 10,
        "promptTokens": None,
        "priority": "interactive",
        "arrivedAt": NOW,
    }
    found = decision_doc(decide(request=read_request(doc["request"], now=NOW), snapshot=read_snapshot(doc)))
    del found["options"]
    assert found == answer(doc)
    return found


def said(action: str, model: str, **more: Any) -> dict[str, Any]:
    """An answer."""
    return {
        "action": action,
        "server": None,
        "model": model,
        "evicts": [],
        "reason": None,
        "costSeconds": 0.0,
        **more,
    }


def test_1_the_analyst_uses_the_middle_model_and_nothing_loads(example):
    assert ask(example, "analyst", ANALYST) == said("use", MIDDLE, server="gpu-1")


def test_2_the_rules_keeper_queues_although_gpu_2_has_free_memory_for_a_second_copy(example):
    example["servers"][0]["tickets"].append(running("analyst", MIDDLE))

    assert ask(example, "rules-keeper", RULES_KEEPER) == said("queue", MIDDLE, server="gpu-1", costSeconds=30.0)


def test_3_the_researcher_waits_for_the_big_model(example):
    example["servers"][0]["tickets"].append(running("analyst", MIDDLE))
    example["servers"][0]["residents"][0]["queued"] = 1
    example["demand"][MIDDLE] = {"waiting": [NOW], "intents": [], "use": 1.0, "predicted": 0.0, "lastUsed": NOW}

    assert ask(example, "researcher", RESEARCHER) == said("wait", BIG, reason="gpu-busy")


def test_4_once_both_calls_ended_and_nobody_needs_it_the_middle_model_makes_room(example):
    assert ask(example, "researcher", RESEARCHER) == said(
        "evict", BIG, server="gpu-1", evicts=[MIDDLE], costSeconds=21.0
    )


@pytest.mark.parametrize("needed", ["waiting", "intents"])
def test_4_with_an_agent_waiting_for_it_or_just_selected_to_use_it_the_middle_model_stays(example, needed):
    demand = {"waiting": [], "intents": [], "use": 0.0, "predicted": 0.0, "lastUsed": None}
    example["demand"][MIDDLE] = demand | {needed: [NOW - 1]}

    assert ask(example, "researcher", RESEARCHER) == said("wait", BIG, reason="gpu-busy")


def test_5_what_no_gpu_could_ever_hold_stands_aside_without_waiting(example):
    example["models"][BIG]["footprintMiB"] = 32 * 1024

    assert ask(example, "researcher", RESEARCHER) == said("stand_aside", BIG, reason="model-too-large")


def test_6_reversed_waiting_five_seconds_beats_unloading_what_will_be_used_again(example):
    gpu_1 = gpu("gpu-1", total=32 * 1024, model=BIG, mib=20480)
    gpu_2 = gpu("gpu-2", total=24 * 1024, model=MIDDLE, mib=10240)
    gpu_2["tickets"].append(running("other", MIDDLE, since=NOW - 25))
    demand = {"waiting": [], "intents": [], "use": 1.0, "predicted": 0.0, "lastUsed": NOW - 60}
    example |= {"servers": [gpu_1, gpu_2], "demand": {BIG: demand}}

    assert ask(example, "rules-keeper", RULES_KEEPER) == said("queue", MIDDLE, server="gpu-2", costSeconds=5.0)


def stage(*, big_mib: int = 20480, small_runs_s: float = 100) -> Play:
    """The example's two servers, and the call that keeps the small model busy."""
    play = Play().build(
        card("gpu-1", total=32 * 1024, reserve=None),
        card("gpu-2", total=24 * 1024, reserve=None),
        holding={"gpu-1": [holds(MIDDLE, 10240)], "gpu-2": [holds(SMALL, 6144)]},
        footprints={BIG: big_mib, MIDDLE: 10240, SMALL: 6144},
    )
    return play.call("other", (SMALL, 60), runs_s=small_runs_s)


def test_played_in_time_the_researcher_gets_its_model_once_nobody_needs_the_middle_one():
    play = stage()

    play.call("analyst", *ANALYST, at=1.0, runs_s=10)
    play.call("rules-keeper", *RULES_KEEPER, at=2.0, runs_s=10)
    play.call("researcher", *RESEARCHER, at=3.0, limit_s=90)
    play.until(60)

    assert play.served == {
        "other": Served(at=0.0, server="gpu-2", model=SMALL),
        "analyst": Served(at=1.0, server="gpu-1", model=MIDDLE),
        "rules-keeper": Served(at=11.0, server="gpu-1", model=MIDDLE),
        "researcher": Served(at=41.0, server="gpu-1", model=BIG),
    }
    assert play.loads == [(21.0, "gpu-1", BIG, (MIDDLE,))]


def test_played_in_time_while_others_keep_coming_for_the_middle_model_the_other_gpu_is_emptied():
    """Nobody waits for the small model, so its GPU is the cheaper one to drain; the middle one is never unloaded."""
    play = stage(small_runs_s=70)
    play.call("analyst", *ANALYST, at=1.0, runs_s=10)
    for number in range(20):
        play.call(f"keeper-{number}", *RULES_KEEPER, at=2.0 + 8 * number, runs_s=10, limit_s=300)

    play.call("researcher", *RESEARCHER, at=3.0, limit_s=120)
    play.until(120)

    assert play.drains == [(63.0, "gpu-2", BIG)]
    assert play.loads[0] == (70.0, "gpu-2", BIG, (SMALL,))
    assert play.served["researcher"] == Served(at=90.0, server="gpu-2", model=BIG)


def test_played_in_time_a_model_too_large_for_every_gpu_keeps_nobody_waiting():
    play = stage(big_mib=32 * 1024)

    play.call("researcher", *RESEARCHER, at=3.0).until(5)

    assert play.stood_aside == {"researcher": (3.0, "model-too-large")}
    assert play.loads == []
