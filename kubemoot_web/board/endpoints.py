"""Endpoints as programs look at them: pure presenters from the replica to the documents of the REST API."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kubemoot_web.board.documents import waiter_doc
from kubemoot_web.board.duplicates import duplicate_docs
from kubemoot_web.board.times import rfc3339
from scheduler.core.admission.closed import closed_by
from scheduler.core.admission.in_flight import InFlight, in_flight_of
from scheduler.core.admission.local import LocalState
from scheduler.core.admission.queue import InQueue, queue_of, queues_of
from scheduler.core.config import SchedulerConfig
from scheduler.core.duplicates import Duplicate, duplicates_of, duplicates_with
from scheduler.core.gate import Circuit
from scheduler.core.group_flight import GroupFlight, group_flights
from scheduler.core.messages.admission import reason_of
from scheduler.core.replica import Replica
from scheduler.core.snapshot import ClusterSnapshot
from scheduler.core.standing import Standing, standings


def endpoints_doc(*, replica: Replica, local: LocalState, now: float) -> dict[str, Any]:
    """Write all endpoints, `GET /api/v1/endpoints`."""
    snapshot = replica.snapshot(now=now)
    queues = queues_of(snapshot=snapshot, waiters=replica.waiting())
    pairs, groups = duplicates_of(records=replica.servers), group_flights(snapshot)
    return {
        "endpoints": [
            _doc(replica, snapshot, name, local, len(queues[name]), pairs, groups.get(name))
            for name in sorted(snapshot.servers)
        ]
    }


def admission_doc(*, replica: Replica, local: LocalState, server: str, now: float) -> dict[str, Any] | None:
    """Write one endpoint; None where there is no such server."""
    snapshot = replica.snapshot(now=now)
    if server not in snapshot.servers:
        return None
    waiting = sum(1 for _ in queue_of(snapshot=snapshot, waiters=replica.waiting(), server=server))
    pairs = duplicates_with(records=replica.servers, server=server)
    return _doc(replica, snapshot, server, local, waiting, pairs, group_flights(snapshot).get(server))


def queue_doc(
    *, replica: Replica, server: str, config: SchedulerConfig, limit: int, now: float
) -> dict[str, Any] | None:
    """Write who waits for an endpoint, at most so many of them in their order; None where there is no such server."""
    snapshot = replica.snapshot(now=now)
    if server not in snapshot.servers:
        return None
    line = queue_in_order(replica=replica, snapshot=snapshot, server=server, config=config, limit=limit)
    return {"endpoint": server, "count": len(line.found), "queue": [_waiting_doc(*each) for each in line.shown]}


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueInOrder:
    """Who waits for an endpoint: all as they come, and the first of them in their order."""

    found: tuple[InQueue, ...]
    shown: tuple[tuple[Standing, InQueue], ...]


def queue_in_order(
    *, replica: Replica, snapshot: ClusterSnapshot, server: str, config: SchedulerConfig, limit: int
) -> QueueInOrder:
    """List who waits for an endpoint; their places are those in this queue, not in the whole line."""
    found = tuple(queue_of(snapshot=snapshot, waiters=replica.waiting(), server=server))
    by_id = {each.waiter.id: each for each in found}
    stood = standings(
        snapshot=snapshot,
        waiters=[each.waiter for each in found],
        config=config,
        is_weighted=bool(replica.weights),
        limit=limit,
    )
    return QueueInOrder(found=found, shown=tuple((standing, by_id[standing.waiter.id]) for standing in stood))


def _doc(
    replica: Replica,
    snapshot: ClusterSnapshot,
    name: str,
    local: LocalState,
    waiting: int,
    pairs: Sequence[Duplicate],
    group: GroupFlight | None,
) -> dict[str, Any]:
    server, record = snapshot.servers[name], replica.servers[name]
    said = record.admission
    closed = closed_by(record=record, server=server, now=snapshot.now)
    beside = local.running.get(name, 0)
    return {
        "name": name,
        "endpoint": record.config.endpoint,
        "health": record.seen.phase,
        "takesCalls": server.is_open,
        "state": said.state.value,
        "isDrained": closed is not None and closed.kind == "drained",
        "reason": reason_of(said=said) or None,
        "since": None if said.is_open else rfc3339(said.since),
        "by": None if said.is_open else said.by.value,
        "cause": None if said.cause is None else said.cause.value,
        "message": "" if closed is None else closed.sentence,
        "circuit": _circuit_doc(record.learned.circuit, now=snapshot.now),
        "maxConcurrent": server.max_concurrent,
        "interactiveReserve": server.interactive_reserve,
        "abortsOnDisconnect": record.config.aborts_on_disconnect,
        "quarantineOnAmbiguous": record.config.quarantine_on_ambiguous,
        "failMode": record.config.fail_mode.value,
        "capShared": name not in local.servers and not beside,
        "localCalls": beside,
        "resourceGroup": None if group is None else _group_doc(group),
        "inFlight": _flight_doc(in_flight_of(server)),
        "waiting": waiting,
        "possibleDuplicates": duplicate_docs(pairs=pairs, server=name),
    }


def _group_doc(group: GroupFlight) -> dict[str, Any]:
    return {
        "name": group.name,
        "maxConcurrent": group.cap,
        "inFlight": group.total,
        "endpoints": list(group.servers),
    }


def _flight_doc(flight: InFlight) -> dict[str, int]:
    return {
        "total": flight.total,
        "interactive": flight.interactive,
        "background": flight.background,
        "loading": flight.loading,
        "held": flight.held,
        "left": flight.left,
    }


def _circuit_doc(circuit: Circuit, *, now: float) -> dict[str, Any]:
    return {
        "state": _circuit_state(circuit, now=now),
        "failures": circuit.failures,
        "since": rfc3339(circuit.opened_at),
        "until": rfc3339(circuit.rests_until),
        "status": circuit.status,
    }


def _circuit_state(circuit: Circuit, *, now: float) -> str:
    if circuit.rests_until is None:
        return "closed"
    return "open" if now < circuit.rests_until else "half-open"


def _waiting_doc(standing: Standing, found: InQueue) -> dict[str, Any]:
    waiter = standing.waiter
    return {
        **waiter_doc(standing),
        "key": waiter.key or None,
        "purpose": waiter.purpose or None,
        "elsewhere": list(found.elsewhere),
        "isCleared": found.is_cleared,
    }
