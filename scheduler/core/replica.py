"""A process's own copy of the ledger, and the snapshots it gives. Fed by deltas, it never asks anybody anything.

House rules: a delta replaces or removes one document; deltas are applied in the order of their versions; what is
derived (servers, groups) is remembered until a document it rests on changes.
"""

from collections import ChainMap
from collections.abc import Iterable, Mapping
from typing import Any

from scheduler.core import ledger_docs as docs
from scheduler.core.config import SchedulerConfig
from scheduler.core.demand_book import DemandBook
from scheduler.core.fleet import Fleet
from scheduler.core.gate import FailMode
from scheduler.core.ledger import Intent, Plan, ServerRecord, Use
from scheduler.core.snapshot import ClusterSnapshot
from scheduler.core.types import Drain, LoadUnderWay, Ticket, Waiter
from scheduler.core.waiting_line import WaitingLine

Delta = tuple[str, str, Mapping[str, Any] | None]

READERS = {
    "server": docs.server_record,
    "ticket": docs.ticket,
    "load": docs.load,
    "waiter": docs.waiter,
    "drain": docs.drain,
    "plan": docs.plan,
    "intent": docs.intent,
    "use": docs.use,
    "selected": docs.use,
}


class Replica:
    """The ledger's documents as core values, with the indexes that decisions need."""

    def __init__(self, *, config: SchedulerConfig) -> None:
        self.config = config
        self.version = 0
        self.servers: dict[str, ServerRecord] = {}
        self.local_servers: set[str] = set()
        """Those where calls go on without the ledger."""
        self.tickets: dict[str, Ticket] = {}
        self.loads: dict[str, LoadUnderWay] = {}
        self.waiters: dict[str, Waiter] = {}
        self.drains: dict[str, Drain] = {}
        self.plans: dict[str, Plan] = {}
        self.intents: dict[str, Intent] = {}
        self.uses: dict[str, Use] = {}
        self.selected: dict[str, Use] = {}
        self.declared: dict[str, int | None] = {}
        self.observed: dict[str, int | None] = {}
        self.estimated: dict[str, int | None] = {}
        # Observed once, else declared, else by the size on disk (scheduling rules, section 2).
        self.footprints = ChainMap(self.observed, self.declared, self.estimated)
        self.weights: dict[str, float] = {}
        self._tables: dict[str, dict[str, Any]] = {
            "server": self.servers,
            "ticket": self.tickets,
            "load": self.loads,
            "waiter": self.waiters,
            "drain": self.drains,
            "plan": self.plans,
            "intent": self.intents,
            "use": self.uses,
            "selected": self.selected,
            "footprint": self.declared,
            "weight": self.weights,
        }
        self.line = WaitingLine(config=config)
        self._fleet = Fleet(records=self.servers, drains=self.drains)
        self._demand = DemandBook(uses=self.uses, selected=self.selected)

    def apply(self, *, version: int, deltas: Iterable[Delta]) -> None:
        """Take in the deltas of one version. An older or equal version is a repeat and changes nothing."""
        if version <= self.version:
            return
        for table, key, doc in deltas:
            self._apply_one(table=table, key=key, doc=doc)
        self.version = version

    def reset(self, *, version: int, deltas: Iterable[Delta]) -> None:
        """Start again from a full copy."""
        for table in (*self._tables.values(), self.observed, self.estimated):
            table.clear()
        self.local_servers.clear()
        self.line.clear()
        self._fleet.clear()
        self._demand.clear()
        self.version = 0
        for table_name, key, doc in deltas:
            self._apply_one(table=table_name, key=key, doc=doc)
        self.version = version

    def waiting(self) -> list[Waiter]:
        """List the waiters that still want a place."""
        return [waiter for waiter in self.waiters.values() if waiter.is_waiting]

    def tickets_on(self, server: str) -> tuple[Ticket, ...]:
        """List a server's tickets, oldest first."""
        return self._fleet.tickets_on(server)

    def snapshot(self, *, now: float) -> ClusterSnapshot:
        """Make the picture that decisions are made on. What has not changed since the one before is not made again."""
        servers, index = self._fleet.at(now=now, queued_on=self.line.queued_on)
        self.line.settle(now=now, contexts=index.known_contexts, is_weighted=bool(self.weights))
        config = self.config
        return ClusterSnapshot(
            now=now,
            servers=servers,
            footprints=self.footprints,
            demand=self._demand.at(
                now=now, intent_limit_s=config.intent_limit_s, half_life_s=config.demand_half_life_s
            ),
            version=self.version,
            queues=self.line.queues(),
            key_tickets=self._fleet.key_tickets(),
        ).with_index(index)

    def _apply_one(self, *, table: str, key: str, doc: Any) -> None:
        rows = self._tables[table]
        before = rows.pop(key, None)
        after: Any = None if doc is None else READERS[table](doc) if table in READERS else doc
        if after is not None:
            rows[key] = after
        match table:
            case "server":
                self._fleet.server_moved(key, is_new_or_gone=(before is None) != (after is None))
                self._learn_sizes(after)
                if after is not None and after.config.fail_mode is FailMode.LOCAL:
                    self.local_servers.add(key)
                else:
                    self.local_servers.discard(key)
            case "drain":
                self._fleet.touch(key)
            case "ticket":
                self._fleet.ticket_moved(before=before, after=after)
            case "load":
                self._fleet.load_moved(before=before, after=after)
            case "waiter":
                self._waiter_moved(before=before, after=after)
            case "intent":
                self._demand.intent_moved(before=before, after=after)
            case "use" | "selected":
                self._demand.counts_moved()

    def _waiter_moved(self, *, before: Waiter | None, after: Waiter | None) -> None:
        self._demand.waiter_moved(before=before, after=after)
        self._fleet.queue_moved(before=before, after=after)
        if after is not None:
            self.line.put(after)
        elif before is not None:
            self.line.remove(before.id)

    def _learn_sizes(self, record: ServerRecord | None) -> None:
        """Take in what a server taught about sizes; a size once observed stays known when the server is gone."""
        if record is not None:
            self.observed.update(record.seen.observed)
            self.estimated.update(record.seen.estimated)
