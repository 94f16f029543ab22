"""Builders of snapshots, calls and waiters with sane defaults: a test says only what it is about.

`cluster(server("gpu-1").loaded("qwen3:14b", 10240)).at(1000.0)` and `call("analyst").prefers("qwen3:32b", 70)`.
A server has 32 GiB, none in reserve, one slot, loads 1024 MiB a second, and its calls take 30 s.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from scheduler.core.snapshot import ClusterSnapshot, Resident, Server
from scheduler.core.types import (
    CallRequest,
    Candidate,
    Demand,
    Drain,
    LoadUnderWay,
    Priority,
    Ticket,
    TicketState,
    Waiter,
)

NOW = 1000.0


@dataclass(frozen=True, kw_only=True)
class ServerBuilder:
    """A server in the making."""

    value: Server

    def having(self, **changes: Any) -> "ServerBuilder":
        """Set fields of the server."""
        return replace(self, value=replace(self.value, **changes))

    def total(self, mib: int | None, *, reserve: int | None = 0) -> "ServerBuilder":
        """Set its memory."""
        return self.having(total_mib=mib, reserve_mib=reserve)

    def loaded(self, model: str, mib: int | None = 10240, *, slots: int | None = None, **more: Any) -> "ServerBuilder":
        """Put a model in its memory; `slots` are those of every copy here."""
        residents = (*self.value.residents, Resident(model=model, footprint_mib=mib, **more))
        return self.having(residents=residents, slots=self.value.slots if slots is None else slots)

    def ticket(self, model: str, *, state: str = "active", at: float = NOW, agent: str = "other", **more: Any) -> Any:
        """Give a ticket here."""
        number = len(self.value.tickets) + 1
        more["priority"] = Priority(more.get("priority", Priority.INTERACTIVE))
        ticket = Ticket(
            id=more.pop("id", f"{self.value.name}-{number}"),
            server=self.value.name,
            agent=agent,
            model=model,
            state=TicketState(state),
            started_at=at,
            **more,
        )
        return self.having(tickets=(*self.value.tickets, ticket))

    def busy(self, model: str, *, times: int = 1, at: float = NOW, **more: Any) -> "ServerBuilder":
        """Have calls run on a model here."""
        built = self
        for _ in range(times):
            built = built.ticket(model, at=at, **more)
        return built

    def loading(self, model: str, mib: int = 10240, *, at: float = NOW, **more: Any) -> "ServerBuilder":
        """Have a model come in for a ticket."""
        built: ServerBuilder = self.ticket(model, state="loading", at=at, footprint_mib=mib, **more)
        return built

    def load(self, model: str, mib: int = 10240, *, at: float = NOW, evicts: Sequence[str] = ()) -> "ServerBuilder":
        """Have a load under way, as the ledger records it."""
        load = LoadUnderWay(server=self.value.name, model=model, footprint_mib=mib, started_at=at, evicts=tuple(evicts))
        return self.having(loads=(*self.value.loads, load))

    def drained(
        self, model: str, *, victims: Sequence[str], agent: str = "drainer", since: float = NOW, **more: Any
    ) -> "ServerBuilder":
        """Have it emptied for a waiter of `model`."""
        return self.having(drain=Drain(model=model, agent=agent, victims=tuple(victims), since=since, **more))


@dataclass(frozen=True, kw_only=True)
class ClusterBuilder:
    """A snapshot in the making."""

    servers: tuple[ServerBuilder, ...]
    footprints: dict[str, int | None] = field(default_factory=dict)
    demand: dict[str, Demand] = field(default_factory=dict)

    def knowing(self, model: str, mib: int | None) -> "ClusterBuilder":
        """Set what is known of a model's footprint."""
        return replace(self, footprints={**self.footprints, model: mib})

    def wanting(
        self, model: str, *, waiting: Sequence[float] = (), intents: Sequence[float] = (), **more: Any
    ) -> "ClusterBuilder":
        """Set who needs a model."""
        demand = Demand(
            waiting={f"w{index}": at for index, at in enumerate(waiting)},
            intents={f"i{index}": at for index, at in enumerate(intents)},
            **more,
        )
        return replace(self, demand={**self.demand, model: demand})

    def at(self, now: float = NOW) -> ClusterSnapshot:
        """Take the picture."""
        servers = {built.value.name: built.value for built in self.servers}
        return ClusterSnapshot(now=now, servers=servers, footprints=self.footprints, demand=self.demand)


@dataclass(frozen=True, kw_only=True)
class CallBuilder:
    """A call in the making."""

    value: CallRequest

    def having(self, **changes: Any) -> "CallBuilder":
        """Set fields of the request."""
        return replace(self, value=replace(self.value, **changes))

    def prefers(self, model: str, score: float = 60, *, on: Sequence[str] | None = None) -> "CallBuilder":
        """Add the next candidate; the first is the preferred one."""
        candidate = Candidate(model=model, score=score, servers=None if on is None else frozenset(on))
        return self.having(candidates=(*self.value.candidates, candidate))

    then = prefers

    def background(self) -> "CallBuilder":
        """Make it a background call."""
        return self.having(priority=Priority.BACKGROUND)

    def waits(self, *, since: float = NOW, limit: float = 90.0, key: str = "", **more: Any) -> Waiter:
        """Make the waiter that this call becomes."""
        asked = self.value
        return Waiter(
            id=key or asked.agent,
            agent=asked.agent,
            candidates=asked.candidates,
            arrived_at=since,
            limit_at=since + limit,
            tolerance=asked.tolerance,
            prompt_tokens=asked.prompt_tokens,
            priority=asked.priority,
            **more,
        )


def server(name: str = "gpu-1") -> ServerBuilder:
    """Begin a server."""
    return ServerBuilder(value=Server(name=name, total_mib=32768, reserve_mib=0))


def cluster(*servers: ServerBuilder) -> ClusterBuilder:
    """Begin a snapshot."""
    return ClusterBuilder(servers=servers)


def call(agent: str = "analyst") -> CallBuilder:
    """Begin a call."""
    return CallBuilder(value=CallRequest(agent=agent, candidates=(), arrived_at=NOW))
