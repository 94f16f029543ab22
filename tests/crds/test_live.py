"""The status of servers and models, as the ledger knows it."""

from dataclasses import replace

from kubemoot_web.crds.live import live_status
from scheduler.core.ledger import ServerConfig, ServerRecord, ServerSeen
from scheduler.core.resources import ResourceKey, Stored
from scheduler.core.snapshot import Resident


def record(*, kind="ollama", total=32768, **seen):
    return ServerRecord(
        config=ServerConfig(name="gpu-1", kind=kind, endpoint="http://gpu-1:11434", total_mib=total),
        seen=ServerSeen(**seen),
    )


def stored(kind, name, **spec):
    return Stored(
        key=ResourceKey(kind=kind, namespace="default", name=name),
        spec=spec,
        labels={},
        annotations={},
        status={"phase": "Running"},
        uid="u",
        resource_version=1,
        generation=1,
        created_at=0.0,
    )


GPU = stored("ModelServer", "gpu-1")
READY = record(
    phase="ready",
    ready=True,
    since=1000.0,
    probed_at=1010.0,
    residents=(Resident(model="qwen3:14b", footprint_mib=10240),),
    models=("qwen3:14b", "qwen3:8b"),
)


def test_a_ready_server_shows_what_it_holds():
    assert live_status(stored=GPU, records={"gpu-1": READY}) == {
        "phase": "Ready",
        "capacity": {
            "vramTotalMiB": 32768,
            "vramUsedMiB": 10240,
            "gpus": [],
            "maxParallel": 1,
            "contextLength": None,
            "loadedModels": ["qwen3:14b"],
            "availableModels": ["qwen3:14b", "qwen3:8b"],
            "lastProbed": "1970-01-01T00:16:50.000Z",
        },
        "conditions": [
            {
                "type": "Ready",
                "status": "True",
                "reason": "Ready",
                "message": "",
                "lastTransitionTime": "1970-01-01T00:16:40.000Z",
            }
        ],
    }


def test_a_server_that_fails_says_why_and_since_when_and_its_memory_in_use_is_unknown():
    status = live_status(
        stored=GPU,
        records={"gpu-1": record(phase="unreachable", since=1000.0, probed_at=1010.0, detail="Connection refused.")},
    )

    assert status["phase"] == "Failed"
    assert status["conditions"][0]["message"] == "Connection refused."
    assert status["capacity"]["vramUsedMiB"] is None


def test_a_server_without_a_budget_has_an_unknown_gauge_and_not_zero():
    """C29: a server that reports no memory was shown, and used, as one with none."""
    status = live_status(stored=GPU, records={"gpu-1": record(total=None, probed_at=1.0)})

    assert status["capacity"]["vramTotalMiB"] is None


def test_a_server_that_the_ledger_does_not_know_yet_is_pending():
    assert live_status(stored=GPU, records={}) == {"phase": "Pending"}


def test_a_model_is_loaded_available_or_pending_where_it_may_be_placed():
    """C53: a model was said to be there because some other server had it."""
    records = {"gpu-1": READY, "gpu-2": record()}

    def state(model, **spec):
        return live_status(stored=stored("Model", "m", model=model, **spec), records=records)

    assert state("library/qwen3:14b") == {"state": "Loaded", "footprintMiB": 10240}
    assert state("qwen3:8b") == {"state": "Available", "footprintMiB": None}
    assert state("qwen3:32b") == {"state": "Pending", "footprintMiB": None}
    assert state("qwen3:14b", serverRef="gpu-2") == {"state": "Pending", "footprintMiB": None}
    assert state("qwen3:14b", serverRef="gone") == {"state": "Pending", "footprintMiB": None}
    assert state("qwen3:14b", serverRef="default/gpu-1")["state"] == "Loaded"


def test_other_kinds_keep_their_stored_status():
    assert live_status(stored=stored("Agent", "a"), records={}) == {"phase": "Running"}


def test_a_server_that_may_be_another_one_under_a_second_name_says_so_in_one_condition():
    """A-06. Conditions have one of each type, however many the others are."""
    same = {name: replace(READY, seen=replace(READY.seen, addresses=("10.0.0.5",))) for name in ("gpu-1", "a", "b")}

    ready, doubt = live_status(stored=GPU, records=same)["conditions"]

    assert (ready["type"], doubt["type"], doubt["status"], doubt["reason"]) == (
        "Ready",
        "PossibleDuplicate",
        "True",
        "SharedAddress",
    )
    assert "a and gpu-1 both lead to 10.0.0.5:11434" in doubt["message"]
    assert "b and gpu-1 both lead to 10.0.0.5:11434" in doubt["message"]
