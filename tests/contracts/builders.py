"""Values with sane defaults, and a ledger in the words of the tests. A test varies one thing."""

from typing import Any

from scheduler.core.ledger import (
    Change,
    DrainChange,
    GrantChange,
    Intent,
    Outcome,
    Plan,
    Refusal,
    ServerConfig,
    ServerRecord,
    ServerSeen,
    Settled,
    StandAsideChange,
    WaitChange,
)
from scheduler.core.server import Resident
from scheduler.core.types import Candidate, Drain, LoadUnderWay, Ticket, TicketState, Waiter
from scheduler.ports import Ledger
from tests.fakes.manual_clock import ManualClock

SIZES = {"8b": 6144, "14b": 10240, "32b": 20480}
OK = Outcome(ok=True)
CHOSEN = '{"action":"use","options":[]}'
"""The decision that chose a held place, as JSON."""


def server(name: str = "gpu-1", **more: Any) -> ServerConfig:
    """Describe a server of 32 GiB with one slot, whose usable memory is 28835 MiB."""
    return ServerConfig(**{"name": name, "kind": "ollama", "endpoint": f"http://{name}", "total_mib": 32768} | more)


def seen(*models: str, **more: Any) -> ServerSeen:
    """Describe what a probe of a ready server saw."""
    residents = tuple(Resident(model=model, footprint_mib=SIZES.get(model)) for model in models)
    return ServerSeen(**{"phase": "Ready", "ready": True, "residents": residents} | more)


def ticket(id: str = "t1", model: str = "14b", **more: Any) -> Ticket:
    """Make a ticket as a planner proposes it."""
    given = {"server": "gpu-1", "agent": "a", "state": TicketState.ACTIVE, "started_at": 1000.0, "call": id}
    return Ticket(id=id, model=model, **given | more)


def load(model: str = "32b", *, evicts: tuple[str, ...] = (), **more: Any) -> LoadUnderWay:
    """Make a load as a planner proposes it."""
    given = {"server": "gpu-1", "footprint_mib": SIZES.get(model), "started_at": 1000.0}
    return LoadUnderWay(model=model, evicts=evicts, **given | more)


def waiter(id: str = "w1", *models: str, **more: Any) -> Waiter:
    """Make a waiter."""
    candidates = tuple(Candidate(model=model, score=60) for model in models or ("14b",))
    given = {"agent": "a", "arrived_at": 1000.0, "limit_at": 1090.0}
    return Waiter(id=id, candidates=candidates, **given | more)


class World:
    """A ledger and its clock. Grants are made one at a time, and give their refusal or None."""

    def __init__(self, *, ledger: Ledger, clock: ManualClock) -> None:
        self.ledger = ledger
        self.clock = clock

    async def servers(self, *configs: ServerConfig, weights: dict[str, float] | None = None, **footprints: int) -> bool:
        """Register servers."""
        return await self.ledger.configure(servers=configs, footprints=footprints, weights=weights or {})

    async def sees(self, name: str, *models: str, **more: Any) -> bool:
        """Probe a server."""
        probe = await self.ledger.probe_begin(server=name, lease_s=20.0)
        assert probe is not None
        return await self.ledger.probe_end(server=name, probe=probe, seen=seen(*models, **more))

    async def gpu(self, *models: str, name: str = "gpu-1", **config: Any) -> None:
        """Register one server that holds these models."""
        await self.servers(server(name, **config))
        await self.sees(name, *models)

    async def commit(self, change: Change) -> Refusal | None:
        """Commit one change."""
        committed = await self.ledger.commit(changes=[change], now=self.clock())
        return committed.results[0]

    async def grant(
        self,
        id: str = "t1",
        model: str = "14b",
        *,
        loads: LoadUnderWay | None = None,
        replaces: str | None = None,
        holds: Plan | None = None,
        **more: Any,
    ) -> Refusal | None:
        """Grant a ticket."""
        given = ticket(id, model, **({"plan": holds.id} if holds else {}) | more)
        return await self.commit(GrantChange(ticket=given, load=loads, replaces=replaces, plan=holds))

    async def grant_load(self, id: str, model: str, *, evicts: tuple[str, ...] = (), **more: Any) -> Refusal | None:
        """Grant a ticket that starts a load."""
        size = more.get("footprint_mib") or SIZES[model]
        wanted = load(model, evicts=evicts, server=more.get("server", "gpu-1"), footprint_mib=size)
        given = {"footprint_mib": size, "evicted": evicts, "action": "evict" if evicts else "load"}
        return await self.grant(id, model, loads=wanted, **given | more)

    async def loaded(self, model: str, *, server: str = "gpu-1", took_s: float = 10.0) -> None:
        """Let a load end well."""
        copy = Resident(model=model, footprint_mib=SIZES[model])
        await self.ledger.load_done(server=server, model=model, resident=copy, took_s=took_s, now=self.clock())

    async def load_fails(self, model: str, *, problem: str = "out of memory") -> None:
        """Let a load fail."""
        await self.ledger.load_failed(server="gpu-1", model=model, problem=problem, now=self.clock())

    async def waits(self, id: str = "w1", *models: str, **more: Any) -> Waiter:
        """Enqueue a waiter."""
        stored, _ = await self.ledger.enqueue(waiter=waiter(id, *models, **{"arrived_at": self.clock()} | more))
        return stored

    async def told(self, id: str, model: str, **more: Any) -> Refusal | None:
        """Tell a waiter what it waits for."""
        given = {"model": model, "action": "wait"} | more
        return await self.commit(WaitChange(waiter=waiter(id, **given)))

    async def stand_aside(self, id: str, *, reason: str = "gpu-busy", model: str = "14b") -> Refusal | None:
        """Let a waiter stand aside."""
        return await self.commit(StandAsideChange(waiter=id, reason=reason, model=model))

    async def drain(self, id: str | None, *, model: str = "32b", name: str = "gpu-1") -> Refusal | None:
        """Begin a drain for a waiter."""
        wanted = Drain(model=model, agent="a", victims=("14b",), since=self.clock(), waiter=id)
        return await self.commit(DrainChange(server=name, drain=wanted))

    async def selected(self, id: str = "p1", *, agent: str = "a", thread: str = "th") -> Plan:
        """Publish an agent's intent and empty plan."""
        plan = Plan(id=id, agent=agent, thread=thread, created_at=self.clock())
        intent = Intent(agent=agent, thread=thread, models=("14b", "32b"), at=self.clock())
        await self.ledger.publish_intents(intents=[intent], plans=[plan])
        return plan

    async def plans(self, id: str = "p1", model: str = "14b", *, load: bool = False, **more: Any) -> Refusal | None:
        """Hold a place for a selected agent."""
        agent, thread = more.pop("agent", "a"), more.pop("thread", "th")
        plan = await self.selected(id, agent=agent, thread=thread)
        grant = self.grant_load if load else self.grant
        held = {"state": TicketState.PLANNED, "agent": agent, "call": "", "thread": thread}
        return await grant(f"p-{id}", model, holds=plan.with_ticket(f"p-{id}", trace=CHOSEN), **held | more)

    async def picks_up(self, id: str = "w1") -> Settled | None:
        """Ask for the end of a wait."""
        return await self.ledger.pick_up(waiter=id, now=self.clock())

    async def releases(self, id: str = "t1", outcome: Outcome = OK) -> bool:
        """Give a ticket back."""
        return await self.ledger.release(ticket=id, outcome=outcome, now=self.clock())

    async def events(self, *kinds: str) -> list[dict[str, Any]]:
        """Read the journal's events of some kinds."""
        entries = await self.ledger.journal(after="", count=1000)
        return [event for entry in entries for event in entry.events if event["type"] in kinds]

    @property
    def tickets(self) -> dict[str, Ticket]:
        """Give the tickets held."""
        return self.ledger.replica.tickets

    @property
    def loads(self) -> list[LoadUnderWay]:
        """Give the loads under way."""
        return list(self.ledger.replica.loads.values())

    def record(self, name: str = "gpu-1") -> ServerRecord:
        """Give a server's record."""
        return self.ledger.replica.servers[name]

    def residents(self, name: str = "gpu-1") -> set[str]:
        """Name the models resident on a server."""
        return {resident.model for resident in self.record(name).seen.residents}
