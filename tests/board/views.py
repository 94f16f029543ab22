"""A board from documents put in by hand."""

from collections.abc import Sequence
from typing import Any

from kubemoot_web.board.cards import Card
from kubemoot_web.board.picture import Picture, picture_of
from scheduler.core import ledger_docs as docs
from scheduler.core.call_history import CallRecord
from scheduler.core.config import SchedulerConfig
from scheduler.core.ledger import ServerConfig, ServerRecord, ServerSeen
from scheduler.core.replica import Replica
from scheduler.core.snapshot import Resident
from scheduler.core.types import Candidate, Ticket, TicketState, Waiter

NOW = 1_795_980_800.0  # 2026-11-29 19:33:20 UTC
NOON = 1_795_953_780.0  # 12:03:00 UTC that day


def record(name: str = "gpu-1", *, residents: Sequence[Resident] = (), seen: Any = None, **config: Any) -> ServerRecord:
    """Make a ready server of 32 GiB."""
    given = {"kind": "ollama", "endpoint": f"http://{name}", "total_mib": 32768} | config
    told = {"phase": "ready", "ready": True, "since": NOON} | (seen or {})
    return ServerRecord(config=ServerConfig(name=name, **given), seen=ServerSeen(residents=tuple(residents), **told))


def copy(model: str = "qwen3:14b", mib: int | None = 10240, **more: Any) -> Resident:
    """Make a model in memory."""
    return Resident(model=model, footprint_mib=mib, **more)


def ticket(id: str = "t1", *, server: str = "gpu-1", model: str = "qwen3:14b", **more: Any) -> Ticket:
    """Make a running call."""
    given = {"agent": "default/analyst", "state": TicketState.ACTIVE, "started_at": NOON} | more
    return Ticket(id=id, server=server, model=model, **given)


def waiter(id: str = "w1", *, model: str = "qwen3:32b", **more: Any) -> Waiter:
    """Make a waiter."""
    given = {"agent": "default/researcher", "crew": "default/lab", "arrived_at": NOON, "limit_at": NOON + 90} | more
    return Waiter(id=id, candidates=(Candidate(model="qwen3:32b", score=70),), model=model, **given)


def picture(*rows: tuple[str, str, Any], calls: Sequence[CallRecord] = (), now: float = NOW) -> Picture:
    """Make the board of some documents: (table, key, value)."""
    replica = Replica(config=SchedulerConfig())
    replica.reset(version=1, deltas=[(table, key, docs.to_doc(value)) for table, key, value in rows])
    return picture_of(replica=replica, config=SchedulerConfig(), calls=calls, now=now)


def card(*rows: tuple[str, str, Any], server: ServerRecord | None = None, now: float = NOW) -> Card:
    """Make the card of one server."""
    one = server or record()
    (only,) = picture(("server", one.config.name, one), *rows, now=now).cards
    return only
