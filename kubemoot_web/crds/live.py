"""The status of servers and models as the ledger knows it now. Pure."""

from collections.abc import Iterable, Mapping
from typing import Any

from kubemoot_web.board import rfc3339
from providers.core.model_names import normalise
from providers.core.naming import bound_server, server_name
from providers.core.types import EngineKind
from scheduler.core.duplicates import duplicates_with
from scheduler.core.ledger import ServerRecord
from scheduler.core.messages.duplicates import possible_duplicate
from scheduler.core.resources import Stored

PHASES = {"pending": "Pending", "ready": "Ready", "degraded": "Ready"}
LIVE_KINDS = frozenset({"ModelServer", "Model"})


def live_status(*, stored: Stored, records: Mapping[str, ServerRecord]) -> dict[str, Any]:
    """Write the status of a server or a model; other kinds keep the one that is stored."""
    namespace, name = stored.key.namespace, stored.key.name
    if stored.key.kind == "ModelServer":
        return server_status(records=records, server=server_name(namespace=namespace, name=name))
    if stored.key.kind == "Model":
        bound = bound_server(namespace=namespace, reference=stored.spec.get("serverRef"))
        places = records.values() if bound is None else [records[bound]] if bound in records else []
        return model_status(model=stored.spec["model"], places=places)
    return dict(stored.status)


def server_status(*, records: Mapping[str, ServerRecord], server: str) -> dict[str, Any]:
    """Write a server's status; it is pending until the ledger has taken it in."""
    record = records.get(server)
    if record is None:
        return {"phase": "Pending"}
    seen, config = record.seen, record.config
    sizes = [resident.footprint_mib for resident in seen.residents]
    capacity = {
        "vramTotalMiB": config.total_mib,
        "vramUsedMiB": sum(size or 0 for size in sizes) if seen.ready and None not in sizes else None,
        "gpus": [],
        "maxParallel": config.slots,
        "contextLength": config.context_length,
        "loadedModels": [resident.model for resident in seen.residents],
        "availableModels": None if seen.models is None else list(seen.models),
        "lastProbed": rfc3339(seen.probed_at),
    }
    condition = {
        "type": "Ready",
        "status": "True" if seen.ready else "False",
        "reason": seen.phase.capitalize(),
        "message": seen.detail,
        "lastTransitionTime": rfc3339(seen.since or None),
    }
    conditions = [condition, *_doubts(records=records, server=server)]
    return {"phase": PHASES.get(seen.phase, "Failed"), "capacity": capacity, "conditions": conditions}


def _doubts(*, records: Mapping[str, ServerRecord], server: str) -> list[dict[str, Any]]:
    """Write down that a server may be another one under a second name; conditions have one of each type."""
    pairs = duplicates_with(records=records, server=server)
    if not pairs:
        return []
    message = " ".join(possible_duplicate(pair=pair) for pair in pairs)
    return [{"type": "PossibleDuplicate", "status": "True", "reason": "SharedAddress", "message": message}]


def model_status(*, model: str, places: Iterable[ServerRecord]) -> dict[str, Any]:
    """Write a model's status from the servers where it may be placed."""
    state, footprint = "Pending", None
    for record in places:
        name = normalise(kind=EngineKind(record.config.kind), name=model)
        resident = next((one for one in record.seen.residents if one.model == name), None)
        if resident is not None:
            state = "Loaded"
            footprint = max((size for size in (footprint, resident.footprint_mib) if size is not None), default=None)
        elif state == "Pending" and name in (record.seen.models or ()):
            state = "Available"
    return {"state": state, "footprintMiB": footprint}
