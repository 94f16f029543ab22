"""A process's own copy of the ledger, and the snapshots it gives. Fed by deltas, it never asks anybody anything.

House rules: a delta replaces or removes one document; deltas are applied in the order of their versions; what is
derived (servers, groups) is remembered until a document it rests on changes.
"""

from collections import ChainMap
from collections.abc import Iterable, Mapping
from typing import Any

from scheduler.core import ledger_docs as docs
from scheduler.core.config import SchedulerConfig
from scheduler.core.ledger import Intent, Plan, ServerRecord, Use
from scheduler.core.line import turn_of
from scheduler.core.snapshot import ClusterSnapshot, Resident, Server
from scheduler.core.types import Demand, Drain, LoadUnderWay, Ticket, Turn, Waiter, intent_key

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


def decayed(*, use: Use, now: float, half_life_s: float) -> float:
    """Work out what is left of a count that halves every half-life."""
    return use.count * float(0.5 ** (max(now - use.at, 0.0) / half_life_s))


class Replica:
    """The ledger's documents as core values, with the indexes that decisions need."""

    def __init__(self, *, config: SchedulerConfig) -> None:
        self.config = config
        self.version = 0
        self.servers: dict[str, ServerRecord] = {}
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
        self._built: dict[str, Server] = {}
        self._tickets_on: dict[str, dict[str, Ticket]] = {}

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
        self._built.clear()
        self._tickets_on.clear()
        self.version = 0
        for table_name, key, doc in deltas:
            self._apply_one(table=table_name, key=key, doc=doc)
        self.version = version

    def waiting(self) -> list[Waiter]:
        """List the waiters that still want a place."""
        return [waiter for waiter in self.waiters.values() if waiter.is_waiting]

    def tickets_on(self, server: str) -> tuple[Ticket, ...]:
        """List a server's tickets, oldest first."""
        return tuple(sorted(self._tickets_on.get(server, {}).values(), key=lambda t: (t.started_at, t.id)))

    def snapshot(self, *, now: float) -> ClusterSnapshot:
        """Make the picture that decisions are made on."""
        queues = self._queues(now=now)
        queued = {place: len(turns) for place, turns in queues.items()}
        servers = {name: self._server(name=name, queued=queued, now=now) for name in sorted(self.servers)}
        return ClusterSnapshot(
            now=now,
            servers=servers,
            footprints=self.footprints,
            demand=self._demand(now=now),
            version=self.version,
            queues=queues,
        )

    def _apply_one(self, *, table: str, key: str, doc: Any) -> None:
        rows = self._tables[table]
        before = rows.pop(key, None)
        after = None if doc is None else READERS[table](doc) if table in READERS else doc
        if after is not None:
            rows[key] = after
        if table in ("server", "drain"):
            self._built.pop(key, None)
        if table == "server":
            self._learn_sizes(self.servers.get(key))
        elif table in ("ticket", "load"):
            self._touch_holder(table=table, key=key, before=before, after=after)

    def _learn_sizes(self, record: ServerRecord | None) -> None:
        """Take in what a server taught about sizes; a size once observed stays known when the server is gone."""
        if record is not None:
            self.observed.update(record.seen.observed)
            self.estimated.update(record.seen.estimated)

    def _touch_holder(self, *, table: str, key: str, before: Any, after: Any) -> None:
        for value in (before, after):
            if value is not None:
                self._built.pop(value.server, None)
        if table != "ticket":
            return
        if before is not None:
            self._tickets_on[before.server].pop(key, None)
        if after is not None:
            self._tickets_on.setdefault(after.server, {})[key] = after

    def _queues(self, *, now: float) -> dict[tuple[str, str], list[Turn]]:
        turns: dict[tuple[str, str], list[Turn]] = {}
        for waiter in self.waiters.values():
            if waiter.is_waiting and waiter.action == "queue" and waiter.server is not None:
                turn = turn_of(waiter=waiter, now=now, config=self.config, is_weighted=bool(self.weights))
                turns.setdefault((waiter.server, waiter.model), []).append(turn)
        return {place: sorted(orders) for place, orders in turns.items()}

    def _server(self, *, name: str, queued: Mapping[tuple[str, str], int], now: float) -> Server:
        built = self._built.get(name)
        record = self.servers[name]
        rests = any(until > now for until in record.learned.blocked_until.values())
        if built is not None and not rests and not any((name, model) in queued for model in built.known):
            return built
        built = self._build(name=name, record=record, queued=queued, now=now)
        if not rests and not any(resident.queued for resident in built.residents):
            self._built[name] = built
        return built

    def _build(self, *, name: str, record: ServerRecord, queued: Mapping[tuple[str, str], int], now: float) -> Server:
        config, seen, learned = record.config, record.seen, record.learned
        return Server(
            name=name,
            ready=seen.ready,
            weight=config.weight,
            total_mib=config.total_mib,
            reserve_mib=config.reserve_mib,
            slots=config.slots,
            max_concurrent=config.max_concurrent,
            interactive_reserve=config.interactive_reserve,
            context_length=config.context_length,
            load_mib_per_s=learned.load_mib_per_s,
            call_s=learned.call_s,
            success_rate=learned.success_rate,
            can_load=config.can_load,
            models=None if seen.models is None else frozenset(seen.models),
            drain=self.drains.get(name),
            residents=tuple(self._resident(server=name, resident=r, queued=queued) for r in seen.residents),
            tickets=self.tickets_on(name),
            loads=tuple(load for load in self.loads.values() if load.server == name),
            tickets_load=False,
            blocked=frozenset(model for model, until in learned.blocked_until.items() if until > now),
        )

    def _resident(self, *, server: str, resident: Resident, queued: Mapping[tuple[str, str], int]) -> Resident:
        return Resident(
            model=resident.model,
            footprint_mib=resident.footprint_mib,
            context_length=resident.context_length,
            last_used=resident.last_used,
            spilling=resident.spilling,
            queued=queued.get((server, resident.model), 0),
            aliases=resident.aliases,
        )

    def _demand(self, *, now: float) -> dict[str, Demand]:
        """Gather who needs which model; `predicted` counts how often agents that name it are selected."""
        waiting: dict[str, dict[str, float]] = {}
        for waiter in self.waiters.values():
            if waiter.is_waiting:
                waiting.setdefault(waiter.model, {})[waiter.id] = waiter.arrived_at
        intents: dict[str, dict[str, float]] = {}
        for intent in self.intents.values():
            if now - intent.at < self.config.intent_limit_s:
                for model in intent.models:
                    intents.setdefault(model, {})[intent_key(agent=intent.agent, thread=intent.thread)] = intent.at
        return {
            model: Demand(
                waiting=waiting.get(model, {}),
                intents=intents.get(model, {}),
                use=self._count(self.uses.get(model), now=now),
                predicted=self._count(self.selected.get(model), now=now),
                last_used=self.uses[model].at if model in self.uses else None,
            )
            for model in dict.fromkeys((*waiting, *intents, *self.uses, *self.selected))
        }

    def _count(self, use: Use | None, *, now: float) -> float:
        return 0.0 if use is None else decayed(use=use, now=now, half_life_s=self.config.demand_half_life_s)
