"""The cluster as programs look at it: pure presenters from the replica to the documents of the REST API."""

from typing import Any

from kubemoot_web.board.times import rfc3339
from scheduler.core.config import SchedulerConfig
from scheduler.core.decisions import code_of
from scheduler.core.explain import decision_doc
from scheduler.core.helping import ways_for
from scheduler.core.ledger import ServerRecord, Settled
from scheduler.core.messages import (
    asking,
    loading_on,
    queued_in_group,
    queued_on,
    stood_aside,
    waiting_for,
    waiting_for_key,
)
from scheduler.core.messages.admission import waiting_for_servers
from scheduler.core.messages.helping import helps
from scheduler.core.replica import Replica
from scheduler.core.selection import Planned
from scheduler.core.snapshot import ClusterSnapshot, Server
from scheduler.core.snapshot_json import write_demand, write_server
from scheduler.core.standing import Standing, standing_of, standings
from scheduler.core.types import Ticket, Waiter

PHASES = {"pending": "Pending", "ready": "Ready", "degraded": "Ready"}
"""A server's health in the words of its resource's status; every other health is Failed."""


def cluster_doc(*, replica: Replica, config: SchedulerConfig, now: float) -> dict[str, Any]:
    """Write the live picture, `GET /api/v1/cluster`."""
    snapshot = replica.snapshot(now=now)
    line = standings(
        snapshot=snapshot, waiters=replica.waiters.values(), config=config, is_weighted=bool(replica.weights)
    )
    return {
        "version": replica.version,
        "servers": [
            server_doc(snapshot=snapshot, server=server, record=replica.servers[name])
            for name, server in snapshot.servers.items()
        ],
        "waiters": [waiter_doc(standing) for standing in line],
        "demand": {model: write_demand(demand) for model, demand in sorted(snapshot.demand.items())},
    }


def server_doc(*, snapshot: ClusterSnapshot, server: Server, record: ServerRecord) -> dict[str, Any]:
    """Write one server: how it is, its memory, what it holds, who holds tickets there."""
    written = write_server(server)
    return {
        "name": server.name,
        "phase": PHASES.get(record.seen.phase, "Failed"),
        "health": record.seen.phase,
        "ready": server.ready,
        "since": rfc3339(record.seen.since or None),
        "detail": record.seen.detail,
        "memory": memory_doc(snapshot=snapshot, server=server),
        "gpus": [],
        "slots": server.slots,
        "maxConcurrent": server.max_concurrent,
        "interactiveReserve": server.interactive_reserve,
        "resourceGroup": written["resourceGroup"],
        "residents": written["residents"],
        "tickets": written["tickets"],
        "drain": written["drain"],
    }


def memory_doc(*, snapshot: ClusterSnapshot, server: Server) -> dict[str, int | None]:
    """Write a server's memory in MiB; null where nothing is known, free never below zero."""
    free = snapshot.free_mib(server)
    resident = _sum_mib(snapshot, server, [resident.model for resident in server.residents])
    reserved = _sum_mib(snapshot, server, [*server.loading, *server.lost])
    return {
        "totalMiB": server.total_mib,
        "usableMiB": server.usable_mib,
        "residentMiB": resident,
        "reservedMiB": reserved,
        "freeMiB": None if free is None else max(free, 0),
    }


def waiter_doc(standing: Standing) -> dict[str, Any]:
    """Write one waiter with its place in line."""
    waiter = standing.waiter
    return {
        "id": waiter.id,
        "agent": waiter.agent,
        "crew": waiter.crew or None,
        "model": waiter.model,
        "server": waiter.server,
        "reason": waiter.reason,
        "message": waiter_sentence(standing),
        "priority": waiter.priority.value,
        "position": standing.position,
        "etaSeconds": None if standing.eta_s is None else round(standing.eta_s, 1),
        "since": rfc3339(waiter.arrived_at),
        "until": rfc3339(waiter.limit_at),
    }


def waiter_sentence(standing: Standing) -> str:
    """Say what a waiter waits for."""
    waiter = standing.waiter
    if not waiter.model:
        return asking()
    if not waiter.needs_model:
        return waiting_for_key(limit=waiter.key_limit or 0)
    if waiter.server is not None and standing.group:
        return queued_in_group(model=waiter.model, server=waiter.server, group=standing.group)
    if waiter.server is not None:
        return queued_on(model=waiter.model, server=waiter.server)
    if standing.closed:
        return waiting_for_servers(model=waiter.model, servers=standing.closed)
    return waiting_for(model=waiter.model)


def settled_doc(*, replica: Replica, config: SchedulerConfig, ticket: Ticket) -> dict[str, Any]:
    """Write a granted ticket: where to send the call, and the options that keep the engine from reloading the model."""
    record = replica.servers[ticket.server]
    resident = next((r for r in record.seen.residents if r.model == ticket.model), None)
    context = None if resident is None else resident.context_length
    return {
        "id": ticket.id,
        "call": ticket.call,
        "agent": ticket.agent,
        "server": ticket.server,
        "endpoint": record.config.endpoint,
        "model": ticket.asked or ticket.model,
        "action": ticket.action,
        "waitedMs": round(max(ticket.started_at - ticket.arrived_at, 0.0) * 1000),
        "evicted": list(ticket.evicted),
        "leaseSeconds": config.ticket_lease_s,
        "options": {} if context is None else {"num_ctx": context},
    }


def still_waiting_doc(*, replica: Replica, config: SchedulerConfig, waiter: Waiter, now: float) -> dict[str, Any]:
    """Write where a waiter stands whose caller's patience ended first, and what would help it."""
    snapshot = replica.snapshot(now=now)
    standing = standing_of(
        snapshot=snapshot,
        waiters=replica.waiters.values(),
        waiter=waiter,
        config=config,
        is_weighted=bool(replica.weights),
    )
    ticket = replica.tickets.get(waiter.ticket or "")
    written = waiter_doc(standing)
    if ticket is not None:
        written |= {
            "model": ticket.asked or ticket.model,
            "server": ticket.server,
            "message": loading_on(model=ticket.model, server=ticket.server),
        }
    return {
        "waiter": written.pop("id"),
        **written,
        "state": "waiting" if ticket is None else "loading",
        "help": [helps(way=way) for way in ways_for(snapshot=snapshot, waiter=waiter)],
    }


def standing_aside_doc(*, settled: Settled) -> dict[str, Any]:
    """Write why a call got no place."""
    reason = settled.reason or ""
    return {
        "standAside": code_of(reason=reason),
        "model": settled.model,
        "message": stood_aside(reason=reason, model=settled.model),
    }


def planned_doc(*, planned: Planned) -> dict[str, Any]:
    """Write what came of planning for one selected agent."""
    decision = decision_doc(planned.decision)
    ticket = planned.ticket
    return {
        "id": planned.plan.id,
        "agent": planned.plan.agent,
        "thread": planned.plan.thread,
        "held": ticket is not None,
        "ticket": None if ticket is None else ticket.id,
        "server": None if ticket is None else ticket.server,
        "model": decision["model"],
        "action": decision["action"],
        "evicted": [] if ticket is None else list(ticket.evicted),
        "reason": decision["reason"],
        "costSeconds": decision["costSeconds"],
        "options": decision["options"],
    }


def _sum_mib(snapshot: ClusterSnapshot, server: Server, models: list[str]) -> int | None:
    footprints = [snapshot.footprint(server=server, model=model) for model in models]
    return None if None in footprints else sum(footprint for footprint in footprints if footprint is not None)
