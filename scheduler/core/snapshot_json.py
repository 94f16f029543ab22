"""Snapshots and requests as the JSON of the scheduling rules, section 2, and back.

House rules: only documents that a schema has accepted come in here; null and absent mean unknown, and only the defaults
the rules name stand in for it; what goes out can be sent back in.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from providers.core.specs import ResourceGroup
from scheduler.core.snapshot import ClusterSnapshot, Resident, Server
from scheduler.core.types import CallRequest, Candidate, Demand, Drain, LoadUnderWay, Priority, Ticket, TicketState

Doc = Mapping[str, Any]
DEFAULT_WEIGHT = 100
DEFAULT_TOLERANCE = 10


def read_snapshot(doc: Doc) -> ClusterSnapshot:
    """Read a snapshot; its request is read by `read_request`."""
    now = doc["now"]
    servers = [_server(each, now=now) for each in doc["servers"]]
    return ClusterSnapshot(
        now=now,
        servers={server.name: server for server in servers},
        footprints={model: known.get("footprintMiB") for model, known in (doc.get("models") or {}).items()},
        demand={model: _demand(each) for model, each in (doc.get("demand") or {}).items()},
    )


def read_request(doc: Doc, *, now: float) -> CallRequest:
    """Read a request. One that does not say when it arrived arrives now."""
    return CallRequest(
        agent=doc.get("agent") or "",
        candidates=tuple(_candidate(each) for each in doc["candidates"]),
        tolerance=_or(doc.get("tolerance"), DEFAULT_TOLERANCE),
        prompt_tokens=doc.get("promptTokens"),
        priority=Priority(doc.get("priority") or Priority.INTERACTIVE),
        arrived_at=_or(doc.get("arrivedAt"), now),
    )


def write_server(server: Server) -> dict[str, Any]:
    """Write a server.

    A load's victims stand on the first ticket of its copy, its footprint on all of them. A load whose callers are all
    gone stands as a ticket of nobody, because the JSON knows loads by their tickets only.
    """
    drain = server.drain
    return {
        "name": server.name,
        "ready": server.ready,
        "circuitOpen": server.circuit_open,
        "weight": server.weight,
        "totalMiB": server.total_mib,
        "reserveMiB": server.reserve_mib,
        "slots": server.slots,
        "maxConcurrent": server.max_concurrent,
        "interactiveReserve": server.interactive_reserve,
        "resourceGroup": write_group(server.resource_group),
        "contextLength": server.context_length,
        "loadMiBPerSecond": server.load_mib_per_s,
        "callSeconds": server.call_s,
        "successRate": server.success_rate,
        "canLoad": server.can_load,
        "models": None if server.models is None else sorted(server.models),
        "drain": None if drain is None else _write_drain(drain),
        "residents": [_write_resident(resident) for resident in server.residents],
        "tickets": _write_tickets(server),
    }


def write_group(group: ResourceGroup | None) -> dict[str, Any] | None:
    """Write the resource group that a server is in; None where it is in none."""
    return None if group is None else {"name": group.name, "maxConcurrent": group.max_concurrent}


def write_demand(demand: Demand) -> dict[str, Any]:
    """Write who needs a model: since when agents wait or were selected, oldest first, without their names."""
    return {
        "waiting": sorted(demand.waiting.values()),
        "intents": sorted(demand.intents.values()),
        "use": demand.use,
        "predicted": demand.predicted,
        "lastUsed": demand.last_used,
    }


def _or(value: Any, default: Any) -> Any:
    return default if value is None else value


def _server(doc: Doc, *, now: float) -> Server:
    models, drain, group = doc.get("models"), doc.get("drain"), doc.get("resourceGroup")
    return Server(
        name=doc["name"],
        ready=_or(doc.get("ready"), True),
        circuit_open=_or(doc.get("circuitOpen"), False),
        weight=_or(doc.get("weight"), DEFAULT_WEIGHT),
        total_mib=doc.get("totalMiB"),
        reserve_mib=doc.get("reserveMiB"),
        slots=_or(doc.get("slots"), 1),
        max_concurrent=doc.get("maxConcurrent"),
        interactive_reserve=_or(doc.get("interactiveReserve"), 0),
        resource_group=None if group is None else _group(group),
        context_length=doc.get("contextLength"),
        load_mib_per_s=doc.get("loadMiBPerSecond"),
        call_s=doc.get("callSeconds"),
        success_rate=doc.get("successRate"),
        can_load=_or(doc.get("canLoad"), True),
        models=None if models is None else frozenset(models),
        drain=None if drain is None else _drain(drain),
        residents=tuple(_resident(each) for each in doc.get("residents") or ()),
        tickets=tuple(_ticket(each, server=doc["name"], now=now) for each in doc.get("tickets") or ()),
    )


def _group(doc: Doc) -> ResourceGroup:
    return ResourceGroup(name=doc["name"], max_concurrent=doc["maxConcurrent"])


def _resident(doc: Doc) -> Resident:
    return Resident(
        model=doc["model"],
        footprint_mib=doc.get("footprintMiB"),
        context_length=doc.get("contextLength"),
        last_used=doc.get("lastUsed"),
        spilling=_or(doc.get("spilling"), False),
        queued=_or(doc.get("queued"), 0),
    )


def _ticket(doc: Doc, *, server: str, now: float) -> Ticket:
    return Ticket(
        id=doc["id"],
        server=server,
        agent=doc.get("agent") or "",
        model=doc["model"],
        state=TicketState(doc["state"]),
        started_at=_or(doc.get("startedAt"), now),
        footprint_mib=doc.get("footprintMiB"),
        evicts=tuple(doc.get("evicts") or ()),
        priority=Priority(doc.get("priority") or Priority.INTERACTIVE),
    )


def _drain(doc: Doc) -> Drain:
    return Drain(model=doc["model"], agent=doc["agent"], victims=tuple(doc["victims"]), since=doc["since"])


def _demand(doc: Doc) -> Demand:
    return Demand(
        waiting=_owners(doc.get("waiting")),
        intents=_owners(doc.get("intents")),
        use=_or(doc.get("use"), 0.0),
        predicted=_or(doc.get("predicted"), 0.0),
        last_used=doc.get("lastUsed"),
    )


def _owners(times: Sequence[float] | None) -> dict[str, float]:
    """Give each time an owner of its own: the JSON does not name them."""
    return {str(index): at for index, at in enumerate(times or ())}


def _candidate(doc: Doc) -> Candidate:
    servers = doc.get("servers")
    return Candidate(model=doc["model"], score=doc["score"], servers=None if servers is None else frozenset(servers))


def _write_resident(resident: Resident) -> dict[str, Any]:
    return {
        "model": resident.model,
        "footprintMiB": resident.footprint_mib,
        "contextLength": resident.context_length,
        "lastUsed": resident.last_used,
        "spilling": resident.spilling,
        "queued": resident.queued,
    }


def _write_drain(drain: Drain) -> dict[str, Any]:
    return {"model": drain.model, "agent": drain.agent, "victims": list(drain.victims), "since": drain.since}


def _write_tickets(server: Server) -> list[dict[str, Any]]:
    victims = {load.model: load.evicts for load in server.loads}
    written = []
    for ticket in server.tickets:
        evicts = (*ticket.evicts, *victims.pop(ticket.model, ()))
        written.append(_write_ticket(ticket, server=server, evicts=evicts))
    return [*written, *(_write_load(load) for load in server.loads if load.model in victims)]


def _write_ticket(ticket: Ticket, *, server: Server, evicts: Sequence[str]) -> dict[str, Any]:
    footprint = ticket.footprint_mib
    return {
        "id": ticket.id,
        "agent": ticket.agent,
        "model": ticket.model,
        "state": ticket.state.value,
        "startedAt": ticket.started_at,
        "footprintMiB": server.local_footprint(ticket.model) if footprint is None else footprint,
        "evicts": list(evicts),
        "priority": ticket.priority.value,
    }


def _write_load(load: LoadUnderWay) -> dict[str, Any]:
    return {
        "id": f"load:{load.model}",
        "agent": "",
        "model": load.model,
        "state": TicketState.LOADING.value,
        "startedAt": load.started_at,
        "footprintMiB": load.footprint_mib,
        "evicts": list(load.evicts),
        "priority": Priority.INTERACTIVE.value,
    }
