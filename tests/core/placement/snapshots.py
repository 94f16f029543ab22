"""Random snapshots of the scheduling rules, section 2, as JSON: likely and unlikely ones, numbers known and unknown.

Few values, so that ties are common. One seed is one snapshot, so that a difference can be named and found again.
"""

from collections.abc import Sequence
from random import Random
from typing import Any

Doc = dict[str, Any]
MODELS = ("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta")
SERVERS = ("gpu-1", "gpu-2", "gpu-3", "gpu-4", "gpu-5")
AGENTS = ("a", "b", "c")
NOW = 1000.0
SIZES = (1024, 2048, 2048, 4096, 5120, 8192, 10240, 20480)
TOTALS = (8192, 16384, 24576, 32768, 49152)
TIMES = (900.0, 940.0, 970.0, 975.0, 985.0, 990.0, 995.0, 999.0, 1000.0)
CONTEXTS = (None, None, None, 2048, 4096, 8192)
GROUPS = tuple({"name": f"bus-{most}", "maxConcurrent": most} for most in (1, 2, 4))
SCORES = (100, 92, 90, 70, 70, 65.5, 60, 60, 30)


def snapshot(seed: int) -> Doc:
    """Make the snapshot of a seed, its request included."""
    rng = Random(seed)
    models = MODELS[: rng.randint(1, len(MODELS))]
    names = rng.sample(SERVERS, rng.randint(1, len(SERVERS)))
    calm = rng.random() < 0.5
    groups = rng.choice(((), GROUPS[:1], GROUPS[1:2], GROUPS))
    asked = request(rng, models=models, names=names)
    # Half of the clusters seldom hold what is asked for: there the choice is between loading, unloading and waiting.
    named = [candidate["model"] for candidate in asked["candidates"]]
    likely = [model for model in models if model not in named] if rng.random() < 0.5 else list(models)
    return {
        "now": NOW,
        "servers": [server(rng, name=name, models=models, likely=likely, calm=calm, groups=groups) for name in names],
        "models": {m: {"footprintMiB": rng.choice((*SIZES, None))} for m in models if rng.random() < 0.8},
        "demand": {m: demand(rng) for m in models if rng.random() < 0.5},
        "request": asked,
    }


def server(
    rng: Random, *, name: str, models: tuple[str, ...], likely: list[str], calm: bool, groups: Sequence[Doc] = GROUPS
) -> Doc:
    """Make a server. A calm one is open, has no limits of its own and knows its memory."""
    held = rng.sample(likely, min(len(likely), rng.randint(0, 5)))
    if rng.random() < 0.1:
        held = rng.sample(models, min(len(models), rng.randint(0, 5)))
    running = held if held and rng.random() < 0.5 else models
    residents = [resident(rng, model=model, calm=calm) for model in held]
    total = rng.choice(TOTALS) if calm else rng.choice((*TOTALS, None))
    if residents and rng.random() < 0.5:
        # Full to the brim: whatever comes, something has to go.
        total = 2048 + sum(each["footprintMiB"] or 0 for each in residents) + rng.choice((0, 0, 512, 1024))
    return {
        "name": name,
        "ready": calm or rng.random() < 0.85,
        "circuitOpen": not calm and rng.random() < 0.15,
        "weight": rng.choice((100, 100, 100, 50, 200, None)),
        "totalMiB": total,
        "reserveMiB": rng.choice((None, 0, 0, 2048, 2048, 4096)),
        "slots": rng.choice((1, 1, 1, 2, 2, 3, None)),
        "maxConcurrent": None if calm else rng.choice((None, None, None, 0, 1, 2, 3, 4)),
        "interactiveReserve": rng.choice((0, 0, 1, 2, None)),
        "resourceGroup": rng.choice((None, *groups)),
        "contextLength": None if calm else rng.choice(CONTEXTS),
        "loadMiBPerSecond": rng.choice((1024.0, 1024.0, 512.0, 333.3, None)),
        "callSeconds": rng.choice((None, None, 30.0, 2.0, 10.0, 7.7)),
        "successRate": rng.choice((1.0, 1.0, None, 0.5, 0.9)),
        "canLoad": calm or rng.random() < 0.85,
        "models": None if calm or rng.random() < 0.6 else rng.sample(models, rng.randint(0, len(models))),
        "drain": drain(rng, models=models) if rng.random() < 0.25 else None,
        "residents": residents,
        "tickets": [
            ticket(rng, key=f"{name}-{index}", running=running, models=models)
            for index in range(rng.choice((0, 0, 0, 0, 1, 1, 2, 3, 4)))
        ],
    }


def resident(rng: Random, *, model: str, calm: bool) -> Doc:
    """Make a resident."""
    return {
        "model": model,
        "footprintMiB": rng.choice(SIZES) if calm or rng.random() < 0.85 else None,
        "contextLength": rng.choice(CONTEXTS),
        "lastUsed": rng.choice((None, *TIMES)),
        "spilling": rng.random() < 0.2,
        "queued": rng.choice((0, 0, 0, 1, 2, None)),
    }


def ticket(rng: Random, *, key: str, running: Sequence[str], models: tuple[str, ...]) -> Doc:
    """Make a ticket."""
    return {
        "id": key,
        "agent": rng.choice(AGENTS),
        "model": rng.choice(running),
        "state": rng.choice(("active", "active", "loading", "planned")),
        "startedAt": rng.choice((960.0, 970.0, 975.0, 990.0, 995.0, 999.5, 1000.0, None)),
        "footprintMiB": rng.choice((*SIZES, None, None)),
        "evicts": rng.sample(models, 1) if rng.random() < 0.2 else [],
        "priority": rng.choice(("interactive", "background")),
    }


def drain(rng: Random, *, models: tuple[str, ...]) -> Doc:
    """Make a drain."""
    return {
        "model": rng.choice(models),
        "agent": rng.choice(AGENTS),
        "victims": rng.sample(models, min(len(models), rng.randint(0, 3))),
        "since": rng.choice((980.0, 990.0, 995.0, 1000.0)),
    }


def demand(rng: Random) -> Doc:
    """Make who needs a model."""
    return {
        "waiting": rng.choices(TIMES, k=rng.choice((0, 0, 0, 0, 0, 1, 2))),
        "intents": rng.choices(TIMES, k=rng.choice((0, 0, 0, 0, 0, 1, 2))),
        "use": rng.choice((0.0, 0.0, 1.0, 2.5, None)),
        "predicted": rng.choice((0.0, 0.0, 0.5, None)),
        "lastUsed": rng.choice((None, *TIMES)),
    }


def request(rng: Random, *, models: tuple[str, ...], names: list[str]) -> Doc:
    """Make a request: mostly in the order of its scores, now and then bound to servers."""
    named = rng.sample(models, rng.randint(1, len(models)))
    scores = rng.choices(SCORES, k=len(named))
    if rng.random() < 0.9:
        scores.sort(reverse=True)
    candidates: list[Doc] = [{"model": m, "score": s} for m, s in zip(named, scores, strict=True)]
    if rng.random() < 0.15:
        for candidate in candidates:
            candidate["servers"] = rng.choice((None, rng.sample(names, rng.randint(0, len(names)))))
    return {
        "agent": rng.choice(AGENTS),
        "candidates": candidates,
        "tolerance": rng.choice((10, 10, 0, 40, 100, None)),
        "promptTokens": rng.choice((None, None, 100, 3000, 6000, 9000)),
        "priority": rng.choice(("interactive", "interactive", "background")),
        "arrivedAt": rng.choice((930.0, 985.0, 995.0, 1000.0)),
    }
