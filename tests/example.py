"""The example of the scheduling rules, section 2, as the JSON that programs send."""

from typing import Any

SERVER: dict[str, Any] = {
    "name": "gpu-1",
    "ready": True,
    "circuitOpen": False,
    "weight": 100,
    "totalMiB": 32768,
    "reserveMiB": 3933,
    "slots": 1,
    "maxConcurrent": None,
    "interactiveReserve": 0,
    "resourceGroup": None,
    "contextLength": None,
    "loadMiBPerSecond": 1024.0,
    "callSeconds": None,
    "successRate": 1.0,
    "canLoad": True,
    "models": None,
    "drain": None,
    "residents": [
        {
            "model": "qwen3:14b",
            "footprintMiB": 10240,
            "contextLength": None,
            "lastUsed": 990.0,
            "spilling": False,
            "queued": 0,
        }
    ],
    "tickets": [
        {
            "id": "t1",
            "agent": "b",
            "model": "qwen3:14b",
            "state": "active",
            "startedAt": 995.0,
            "footprintMiB": 10240,
            "evicts": [],
            "priority": "interactive",
        }
    ],
}

SNAPSHOT: dict[str, Any] = {
    "now": 1000.0,
    "servers": [SERVER],
    "models": {"qwen3:32b": {"footprintMiB": 20480}},
    "demand": {"qwen3:14b": {"waiting": [991.0], "intents": [998.0], "use": 1.0, "predicted": 0.0, "lastUsed": 990.0}},
    "request": {
        "agent": "a",
        "candidates": [{"model": "qwen3:32b", "score": 70}, {"model": "qwen3:14b", "score": 60}],
        "tolerance": 10,
        "promptTokens": 1200,
        "priority": "interactive",
        "arrivedAt": 1000.0,
    },
}
