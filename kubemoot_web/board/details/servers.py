"""The list of servers: how each is, its memory, what it holds, and what it did in the last day."""

from collections.abc import Mapping
from dataclasses import dataclass

from kubemoot_web.board.condition import condition_of
from kubemoot_web.board.ids import dom_id, natural
from kubemoot_web.board.marks import Mark, Palette, palette_of
from kubemoot_web.board.memory import Memory, memory_of
from kubemoot_web.board.times import Moment
from scheduler.core.ledger import ServerRecord
from scheduler.core.replica import Replica
from scheduler.core.server_history import ServerEventKind
from scheduler.core.snapshot import ClusterSnapshot, Server
from scheduler.core.types import TicketState

NOTHING: Mapping[str, int] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerRow:
    """One server of the list. `day` counts what happened there in the last day."""

    id: str
    name: str
    phase: str
    tone: str
    since: Moment | None
    closed: str
    is_ready: bool
    is_open: bool
    memory: Memory | None
    models: tuple[Mark, ...]
    loading: tuple[Mark, ...]
    running: int
    slots: int
    waiting: int
    calls: int
    loads: int
    unloads: int
    failures: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Servers:
    """All servers, and how many of them are ready to take calls."""

    rows: tuple[ServerRow, ...]
    ready: int


def servers_of(
    *, replica: Replica, calls: Mapping[str, int], tallies: Mapping[str, Mapping[str, int]], now: float
) -> Servers:
    """List the servers by name; `calls` and `tallies` count by server what happened in the last day."""
    snapshot = replica.snapshot(now=now)
    palette = palette_of(replica)
    rows = tuple(
        _row(
            snapshot=snapshot,
            server=server,
            record=replica.servers[name],
            palette=palette,
            calls=calls.get(name, 0),
            tally=tallies.get(name, NOTHING),
        )
        for name, server in sorted(snapshot.servers.items(), key=lambda entry: natural(entry[0]))
    )
    return Servers(rows=rows, ready=sum(row.is_open for row in rows))


def _row(
    *,
    snapshot: ClusterSnapshot,
    server: Server,
    record: ServerRecord,
    palette: Palette,
    calls: int,
    tally: Mapping[str, int],
) -> ServerRow:
    seen = record.seen
    condition = condition_of(record=record, server=server, now=snapshot.now)
    return ServerRow(
        id=dom_id("row", server.name),
        name=server.name,
        phase=condition.word,
        tone=condition.tone,
        since=condition.since,
        closed=condition.closed,
        is_ready=server.ready,
        is_open=server.is_open,
        memory=memory_of(snapshot=snapshot, server=server, palette=palette) if seen.phase != "pending" else None,
        models=tuple(palette.mark(copy.model) for copy in server.warm_copies),
        loading=tuple(palette.mark(model) for model in server.loading),
        running=sum(ticket.state == TicketState.ACTIVE for ticket in server.tickets),
        slots=server.slots * len(server.warm_copies),
        waiting=sum(len(turns) for (name, _), turns in snapshot.queues.items() if name == server.name),
        calls=calls,
        loads=tally.get(ServerEventKind.LOAD_DONE, 0),
        unloads=tally.get(ServerEventKind.VICTIM_GONE, 0),
        failures=tally.get(ServerEventKind.LOAD_FAILED, 0),
    )
