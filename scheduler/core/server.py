"""One server in a snapshot: what it holds, who holds tickets there, what that leaves (scheduling rules, section 2)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields

from providers.core.specs import ResourceGroup
from scheduler.core.once import lasting, once
from scheduler.core.resident import Resident
from scheduler.core.types import CallRequest, Drain, LoadUnderWay, Ticket, TicketState

__all__ = ["DEFAULT_CALL_S", "DEFAULT_LOAD_MIB_PER_S", "Resident", "Server"]

DEFAULT_LOAD_MIB_PER_S = 1024.0
DEFAULT_CALL_S = 30.0
MIN_RESERVE_MIB = 2048
RESERVE_PERCENT = 12


@dataclass(frozen=True, kw_only=True)
class Server:
    """One server: its configuration, what it holds, who holds tickets there. None means unknown.

    `loads` are the loads under way as the ledger records them. A snapshot given from outside has no records: there
    `tickets_load`, every ticket whose model is not resident is a load. `blocked` are models whose last load failed and
    must rest. `half_open`: a single call may come and try. `paused`: somebody keeps calls away.
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
    resource_group: ResourceGroup | None = None
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
    tickets_load: bool = True
    blocked: frozenset[str] = frozenset()
    half_open: bool = False
    paused: bool = False

    @lasting
    def is_open(self) -> bool:
        """Say whether calls may be placed here at all."""
        return self.ready and not self.circuit_open and not self.paused

    @lasting
    def usable_mib(self) -> int | None:
        """Work out the memory that models may take; None without a known budget."""
        if self.total_mib is None:
            return None
        reserve = self.reserve_mib
        if reserve is None:
            reserve = max(MIN_RESERVE_MIB, -(-self.total_mib * RESERVE_PERCENT // 100))
        return self.total_mib - reserve

    @once
    def spent(self) -> frozenset[str]:
        """Name the models that tickets and loads here evict: they count as already gone."""
        evicting: tuple[Ticket | LoadUnderWay, ...] = (*self.tickets, *self.loads)
        return frozenset(victim for work in evicting for victim in work.evicts)

    @once
    def leaving(self) -> frozenset[str]:
        """Name the residents that loads under way still have to unload: none may come back before it is gone."""
        return frozenset(victim for load in self.loads for victim in load.evicts)

    @lasting
    def known(self) -> Mapping[str, Resident]:
        """Map every resident by each of its names, those already spent included."""
        return {name: resident for resident in self.residents for name in resident.names}

    @once
    def warm(self) -> Mapping[str, Resident]:
        """Map the residents that are not already spent by each of their names."""
        if not self.spent:
            return self.known
        return {name: r for r in self.residents if r.model not in self.spent for name in r.names}

    @once
    def warm_copies(self) -> tuple[Resident, ...]:
        """List the residents that are not already spent, once each."""
        if not self.spent:
            return self.residents
        return tuple(resident for resident in self.residents if resident.model not in self.spent)

    @once
    def tickets_of(self) -> Mapping[str, tuple[Ticket, ...]]:
        """Map each copy's tickets here by each of its names."""
        lists: dict[str, list[Ticket]] = {}
        for ticket in self.tickets:
            lists.setdefault(self.copy_name(ticket.model), []).append(ticket)
        found = {copy: tuple(tickets) for copy, tickets in lists.items()}
        return found | {name: found[r.model] for r in self.residents if r.model in found for name in r.aliases}

    @once
    def loading(self) -> Mapping[str, tuple[Ticket, ...]]:
        """Map the models that are loading (a load or tickets, but not resident) to their tickets."""
        if not self.loads and not self.tickets_load:
            return {}
        held = (self.copy_name(ticket.model) for ticket in self.tickets if self.tickets_load)
        copies = dict.fromkeys((*held, *(load.model for load in self.loads)))
        return {copy: self.tickets_of.get(copy, ()) for copy in copies if copy not in self.warm}

    @once
    def lost(self) -> frozenset[str]:
        """Name the models in use that the engine has let go of by itself: nothing brings them back but their callers.

        Their memory stays reserved, because a caller's next request may make the engine load them again.
        """
        copies = frozenset(self.copy_name(ticket.model) for ticket in self.tickets)
        return copies - self.warm.keys() - self.loading.keys()

    def with_work(self, *, tickets: tuple[Ticket, ...], loads: tuple[LoadUnderWay, ...]) -> "Server":
        """Copy the server with other tickets and loads; what does not rest on these is not worked out again."""
        copy = object.__new__(Server)
        kept = {name: value for name, value in self.__dict__.items() if name in KEPT}
        copy.__dict__.update(kept, tickets=tickets, loads=loads)
        return copy

    def copy_name(self, model: str) -> str:
        """Give the name a copy is held under here: its own, unless it is resident under another one."""
        resident = self.known.get(model)
        return model if resident is None else resident.model

    @once
    def occupied(self) -> frozenset[str]:
        """Name the models that may not be loaded here now, memory aside: here, coming, going, lost, or resting."""
        return frozenset((*self.warm, *self.loading, *self.blocked, *self.leaving, *self.lost))

    @once
    def held_mib(self) -> int | None:
        """Sum up what models hold here or have reserved; None when the size of one is not known on this server."""
        held = 0
        for resident in self.warm_copies:
            footprint = resident.footprint_mib
            if footprint is None:
                footprint = self.local_footprint(resident.model)
            if footprint is None:
                return None
            held += footprint
        for model in (*self.loading, *self.lost):
            footprint = self.local_footprint(model)
            if footprint is None:
                return None
            held += footprint
        return held

    @once
    def free_mib(self) -> int | None:
        """Work out the memory that nothing holds; None without a budget, or where this server alone cannot say."""
        return None if self.usable_mib is None or self.held_mib is None else self.usable_mib - self.held_mib

    @once
    def room_mib(self) -> int | None:
        """Work out the free memory once all idle residents are gone; None where the free memory is not known."""
        if self.free_mib is None:
            return None
        return self.free_mib + sum(self.idle_sizes)

    @once
    def largest_idle_mib(self) -> int:
        """Give the most that unloading a single idle resident frees."""
        return max(self.idle_sizes, default=0)

    @once
    def idle_sizes(self) -> tuple[int, ...]:
        """List how much each idle resident holds, as far as this server knows."""
        return tuple(
            (r.footprint_mib if r.footprint_mib is not None else self.local_footprint(r.model)) or 0
            for r in self.idle_copies
        )

    @lasting
    def price_facts(self) -> tuple[float | None, ...]:
        """List what the price of a load here rests on."""
        return (self.usable_mib, self.can_load, self.load_rate, self.failure_rate, self.call_seconds, self.weight)

    @once
    def idle_copies(self) -> tuple[Resident, ...]:
        """List the residents that are not already spent and that no ticket uses."""
        return tuple(resident for resident in self.warm_copies if resident.model not in self.tickets_of)

    @once
    def busy_since(self) -> Mapping[str, tuple[float | None, int | None]]:
        """Map the copies that a request waits for in the plainest way to the start of their oldest call and context.

        There every slot runs a call, nobody queues, and of the server's own nothing but the slots counts. Where a
        resource group may keep a request from a free slot, copies with one are among them, since None.
        """
        is_plain = self.is_open and self.max_concurrent is None and self.drain is None and not self.planned_for
        if not is_plain:
            return {}
        free: dict[str, tuple[float | None, int | None]] = {}
        if self.resource_group is not None:
            free = {
                model: (None, self.context_of(model))
                for model, resident in self.warm.items()
                if len(self.tickets_of.get(model, ())) < self.slots and not resident.queued
            }
        return free | {
            model: (min(ticket.started_at for ticket in tickets), self.context_of(model))
            for model, tickets in self.tickets_of.items()
            if len(tickets) == self.slots
            and model in self.warm
            and not self.warm[model].queued
            and all(ticket.state is TicketState.ACTIVE for ticket in tickets)
        }

    @once
    def idle_keys(self) -> tuple[tuple[tuple[str, ...], float | None], ...]:
        """List, in the order of the idle copies, what tells how much each is needed: its names and its last use."""
        return tuple((resident.names, resident.last_used) for resident in self.idle_copies)

    @once
    def planned_for(self) -> frozenset[str]:
        """Name the agents that places are held for here."""
        return frozenset(ticket.agent for ticket in self.tickets if ticket.state is TicketState.PLANNED)

    @lasting
    def contexts(self) -> tuple[int, ...]:
        """List the context lengths known here: the residents' and its own."""
        lengths = {resident.context_length for resident in self.residents} | {self.context_length}
        return tuple(sorted(length for length in lengths if length is not None))

    @lasting
    def call_seconds(self) -> float:
        """Give the usual length of a call here."""
        return DEFAULT_CALL_S if self.call_s is None else self.call_s

    @lasting
    def failure_rate(self) -> float:
        """Give the share of recent attempts that failed here."""
        return 0.0 if self.success_rate is None else 1 - self.success_rate

    @lasting
    def load_rate(self) -> float:
        """Give how many MiB a second are loaded here."""
        return self.load_mib_per_s or DEFAULT_LOAD_MIB_PER_S

    def load_seconds(self, footprint_mib: float) -> float:
        """Work out how long a model of this footprint takes to load here."""
        return footprint_mib / self.load_rate

    def local_footprint(self, model: str) -> int | None:
        """Look up a model's footprint by what lies on this server alone: resident, else in a ticket or load."""
        resident = self.known.get(model)
        if resident is not None and resident.footprint_mib is not None:
            return resident.footprint_mib
        for ticket in self.tickets_of.get(model, ()):
            if ticket.footprint_mib is not None:
                return ticket.footprint_mib
        for load in self.loads:
            if load.model == model:
                return load.footprint_mib
        return None

    def allows(self, model: str) -> bool:
        """Say whether the engine can load this model: it loads at all, and has it on disk."""
        return self.can_load and (self.models is None or model in self.models)

    def counted(self, request: CallRequest, tickets: Iterable[Ticket]) -> tuple[Ticket, ...]:
        """Leave out the places held for the request's own agent: they are lent to its earlier calls."""
        if request.agent not in self.planned_for:
            return tuple(tickets)
        return tuple(t for t in tickets if t.state != TicketState.PLANNED or t.agent != request.agent)

    def context_of(self, model: str) -> int | None:
        """Give the context length that a call of this model would have here, if known."""
        resident = self.warm.get(model)
        length = None if resident is None else resident.context_length
        return self.context_length if length is None else length

    def fits_prompt(self, *, model: str, prompt_tokens: int | None) -> bool:
        """Say whether the prompt fits; an unknown context never refuses."""
        if prompt_tokens is None:
            return True
        context = self.context_of(model)
        return context is None or context >= prompt_tokens


LASTING = (name for name, value in vars(Server).items() if isinstance(value, lasting))
KEPT = frozenset((*(field.name for field in fields(Server)), *LASTING))
"""What of a server stays when only its tickets and loads change."""
