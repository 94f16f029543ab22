"""An immutable picture of the cluster, and what-if copies of it. Field meanings are those of scheduling.md 2."""

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from scheduler.core.types import CallRequest, Demand, Drain, LoadUnderWay, Priority, Ticket, TicketState, Turn

DEFAULT_LOAD_MIB_PER_S = 1024.0
DEFAULT_CALL_S = 30.0
MIN_RESERVE_MIB = 2048
RESERVE_PERCENT = 12
NO_DEMAND = Demand()


@dataclass(frozen=True, slots=True, kw_only=True)
class Resident:
    """A model in a server's memory. `aliases` are other names of the same weights there: one copy, one set of slots."""

    model: str
    footprint_mib: int | None
    context_length: int | None = None
    last_used: float | None = None
    spilling: bool = False
    queued: int = 0
    aliases: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """List every name of the copy."""
        return (self.model, *self.aliases)


@dataclass(frozen=True, kw_only=True)
class Server:
    """One server: its configuration, what it holds, who holds tickets there. None means unknown.

    `loads` are the loads under way as the ledger records them; a snapshot given from outside has none, and its loads
    are the tickets whose model is not resident. `blocked` are models whose last load here failed and must rest.
    """

    name: str
    ready: bool = True
    circuit_open: bool = False
    weight: float = 100
    total_mib: int | None = None
    reserve_mib: int | None = None
    slots: int = 1
    max_concurrent: int | None = None
    interactive_reserve: int = 0
    context_length: int | None = None
    load_mib_per_s: float | None = None
    call_s: float | None = None
    success_rate: float | None = None
    can_load: bool = True
    models: frozenset[str] | None = None
    drain: Drain | None = None
    residents: tuple[Resident, ...] = ()
    tickets: tuple[Ticket, ...] = ()
    loads: tuple[LoadUnderWay, ...] = ()
    blocked: frozenset[str] = frozenset()

    @property
    def is_open(self) -> bool:
        """Say whether calls may be placed here at all."""
        return self.ready and not self.circuit_open

    @cached_property
    def usable_mib(self) -> int | None:
        """Work out the memory that models may take; None without a known budget."""
        if self.total_mib is None:
            return None
        reserve = self.reserve_mib
        if reserve is None:
            reserve = max(MIN_RESERVE_MIB, -(-self.total_mib * RESERVE_PERCENT // 100))
        return self.total_mib - reserve

    @cached_property
    def spent(self) -> frozenset[str]:
        """Name the models that tickets and loads here evict: they count as already gone."""
        by_tickets = (victim for ticket in self.tickets for victim in ticket.evicts)
        return frozenset((*by_tickets, *(victim for load in self.loads for victim in load.evicts)))

    @cached_property
    def leaving(self) -> frozenset[str]:
        """Name the residents that loads under way still have to unload: none may come back before it is gone."""
        return frozenset(victim for load in self.loads for victim in load.evicts)

    @cached_property
    def known(self) -> Mapping[str, Resident]:
        """Map every resident by each of its names, those already spent included."""
        return {name: resident for resident in self.residents for name in resident.names}

    @cached_property
    def warm(self) -> Mapping[str, Resident]:
        """Map the residents that are not already spent by each of their names."""
        return {name: r for r in self.residents if r.model not in self.spent for name in r.names}

    @property
    def warm_copies(self) -> tuple[Resident, ...]:
        """List the residents that are not already spent, once each."""
        return tuple(resident for resident in self.residents if resident.model not in self.spent)

    @cached_property
    def tickets_of(self) -> Mapping[str, tuple[Ticket, ...]]:
        """Map each copy's tickets here by each of its names."""
        found: dict[str, tuple[Ticket, ...]] = {}
        for ticket in self.tickets:
            copy = self.copy_name(ticket.model)
            found[copy] = (*found.get(copy, ()), ticket)
        return found | {name: found[r.model] for r in self.residents if r.model in found for name in r.aliases}

    @cached_property
    def loading(self) -> Mapping[str, tuple[Ticket, ...]]:
        """Map the models that are loading (a load or tickets, but not resident) to their tickets."""
        copies = (*(self.copy_name(ticket.model) for ticket in self.tickets), *(load.model for load in self.loads))
        return {copy: self.tickets_of.get(copy, ()) for copy in dict.fromkeys(copies) if copy not in self.warm}

    def copy_name(self, model: str) -> str:
        """Give the name a copy is held under here: its own, unless it is resident under another one."""
        resident = self.known.get(model)
        return model if resident is None else resident.model

    @property
    def call_seconds(self) -> float:
        """Give the usual length of a call here."""
        return DEFAULT_CALL_S if self.call_s is None else self.call_s

    @property
    def failure_rate(self) -> float:
        """Give the share of recent attempts that failed here."""
        return 0.0 if self.success_rate is None else 1 - self.success_rate

    def load_seconds(self, footprint_mib: float) -> float:
        """Work out how long a model of this footprint takes to load here."""
        return footprint_mib / (self.load_mib_per_s or DEFAULT_LOAD_MIB_PER_S)

    def local_footprint(self, model: str) -> int | None:
        """Look up a model's footprint by what lies on this server alone: resident, else in a ticket or load."""
        resident = self.known.get(model)
        if resident is not None and resident.footprint_mib is not None:
            return resident.footprint_mib
        for ticket in self.tickets_of.get(model, ()):
            if ticket.footprint_mib is not None:
                return ticket.footprint_mib
        return next((load.footprint_mib for load in self.loads if load.model == model), None)

    def allows(self, model: str) -> bool:
        """Say whether the engine can load this model: it loads at all, and has it on disk."""
        return self.can_load and (self.models is None or model in self.models)

    def counted(self, request: CallRequest, tickets: Iterable[Ticket]) -> tuple[Ticket, ...]:
        """Leave out the places held for the request's own agent: they are lent to its earlier calls."""
        return tuple(t for t in tickets if t.state != TicketState.PLANNED or t.agent != request.agent)

    def caps(self, request: CallRequest) -> tuple[tuple[int, tuple[Ticket, ...]], ...]:
        """List each limit on calls here that binds the request, with the tickets that count against it."""
        if self.max_concurrent is None:
            return ()
        counted = self.counted(request, self.tickets)
        total = (self.max_concurrent, counted)
        if request.priority != Priority.BACKGROUND:
            return (total,)
        background = tuple(t for t in counted if t.priority == Priority.BACKGROUND)
        return (total, (self.max_concurrent - self.interactive_reserve, background))

    def is_below_cap(self, request: CallRequest) -> bool:
        """Say whether the server's own limit on calls leaves this request a place."""
        return all(len(tickets) < cap for cap, tickets in self.caps(request))

    def context_of(self, model: str) -> int | None:
        """Give the context length that a call of this model would have here, if known."""
        resident = self.warm.get(model)
        if resident is not None and resident.context_length is not None:
            return resident.context_length
        return self.context_length

    def fits_prompt(self, *, model: str, prompt_tokens: int | None) -> bool:
        """Say whether the prompt fits; an unknown context never refuses."""
        context = self.context_of(model)
        return prompt_tokens is None or context is None or context >= prompt_tokens


@dataclass(frozen=True, kw_only=True)
class ClusterSnapshot:
    """Every server, footprints known by model, and the demand, at one moment.

    `version` is the ledger's counter at that moment; a snapshot given from outside has 0. `queues` lists, per
    server and model, the turns of those who queue on that copy, first turn first; a snapshot given from outside has
    their number in `Resident.queued` alone.
    """

    now: float
    servers: Mapping[str, Server]
    footprints: Mapping[str, int | None]
    demand: Mapping[str, Demand]
    version: int = 0
    queues: Mapping[tuple[str, str], Sequence[Turn]] = field(default_factory=dict)

    @cached_property
    def holders(self) -> Mapping[str, tuple[str, ...]]:
        """Map each model to the servers that hold it or have tickets for it, in the snapshot's order."""
        found: dict[str, list[str]] = {}
        for server in self.servers.values():
            for model in dict.fromkeys((*server.known, *server.tickets_of, *server.loading)):
                found.setdefault(model, []).append(server.name)
        return {model: tuple(names) for model, names in found.items()}

    @cached_property
    def drained_for(self) -> frozenset[str]:
        """Name the waiters that servers are being emptied for."""
        drains = (server.drain for server in self.servers.values())
        return frozenset(drain.waiter for drain in drains if drain is not None and drain.waiter is not None)

    def holding(self, model: str) -> tuple[Server, ...]:
        """List the servers where the model is resident or has tickets."""
        return tuple(self.servers[name] for name in self.holders.get(model, ()))

    def demand_of(self, model: str) -> Demand:
        """Look up who needs a model."""
        return self.demand.get(model, NO_DEMAND)

    def queued_ahead(self, *, server: Server, model: str, request: CallRequest) -> int:
        """Count the calls that queue on a copy before the request's turn."""
        turns = self.queues.get((server.name, model))
        if turns is not None and request.turn is not None:
            return bisect_left(turns, request.turn)
        resident = server.warm.get(model)
        return resident.queued if resident is not None else len(turns or ())

    def footprint(self, *, server: Server, model: str) -> int | None:
        """Look up a model's footprint: here, else where it is resident, else by what is known of the model."""
        local = server.local_footprint(model)
        if local is not None:
            return local
        for holder in self.holding(model):
            resident = holder.known.get(model)
            if resident is not None and resident.footprint_mib is not None:
                return resident.footprint_mib
        return self.footprints.get(model)

    def free_mib(self, server: Server) -> int | None:
        """Work out the memory nothing holds or has reserved; None without a budget or when a size is unknown."""
        if server.usable_mib is None:
            return None
        free = server.usable_mib
        for model in (*(resident.model for resident in server.warm_copies), *server.loading):
            footprint = self.footprint(server=server, model=model)
            if footprint is None:
                return None
            free -= footprint
        return free

    def with_ticket(self, ticket: Ticket, *, load: LoadUnderWay | None = None) -> "ClusterSnapshot":
        """Copy the snapshot with one more ticket, and the load that begins with it."""
        server = self.servers[ticket.server]
        loads = server.loads if load is None else (*server.loads, load)
        return self.with_server(replace(server, tickets=(*server.tickets, ticket), loads=loads))

    def without_ticket(self, *, server: str, ticket: str) -> "ClusterSnapshot":
        """Copy the snapshot without one ticket; unchanged when it is not there."""
        known = self.servers[server]
        return self.with_server(replace(known, tickets=tuple(t for t in known.tickets if t.id != ticket)))

    def with_server(self, server: Server) -> "ClusterSnapshot":
        """Copy the snapshot with one server replaced."""
        return replace(self, servers={**self.servers, server.name: server})

    def without_waiter(self, waiter: str) -> "ClusterSnapshot":
        """Copy the snapshot without a waiter's demand and turns; the snapshot itself when it has none."""
        demand = {
            model: replace(demand, waiting={key: at for key, at in demand.waiting.items() if key != waiter})
            for model, demand in self.demand.items()
            if waiter in demand.waiting
        }
        queues = {
            place: tuple(turn for turn in turns if turn[-1] != waiter)
            for place, turns in self.queues.items()
            if any(turn[-1] == waiter for turn in turns)
        }
        if not demand and not queues:
            return self
        return replace(self, demand={**self.demand, **demand}, queues={**self.queues, **queues})

    def with_waiting(self, *, model: str, waiting: Mapping[str, float]) -> "ClusterSnapshot":
        """Copy the snapshot with more waiters for a model."""
        demand = self.demand_of(model)
        changed = replace(demand, waiting={**demand.waiting, **waiting})
        return replace(self, demand={**self.demand, model: changed})

    def with_queues(self, turns: Mapping[tuple[str, str], Iterable[Turn]]) -> "ClusterSnapshot":
        """Copy the snapshot with more turns queueing on copies; turns that queue there already stay one."""
        longer = {place: sorted({*self.queues.get(place, ()), *more}) for place, more in turns.items()}
        return replace(self, queues={**self.queues, **longer}) if longer else self
