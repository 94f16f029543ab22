"""An immutable picture of the cluster, and what-if copies of it. Field meanings are those of scheduling.md 2."""

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from scheduler.core.demand_book import ChangedDemand
from scheduler.core.index import ClusterIndex, index_of
from scheduler.core.line import Copy, Queued
from scheduler.core.once import once
from scheduler.core.server import DEFAULT_CALL_S, DEFAULT_LOAD_MIB_PER_S, Resident, Server
from scheduler.core.types import CallRequest, Demand, LoadUnderWay, Ticket, Turn, Waiter

__all__ = ["DEFAULT_CALL_S", "DEFAULT_LOAD_MIB_PER_S", "ClusterSnapshot", "Resident", "Server"]


Needs = dict[tuple[tuple[str, ...], float | None], Any]

NO_DEMAND = Demand()


@dataclass(frozen=True, kw_only=True)
class ClusterSnapshot:
    """Every server, footprints known by model, and the demand, at one moment.

    `version` is the ledger's counter at that moment; a snapshot given from outside has 0. `queues` lists, per
    server and model, the turns of those who queue on that copy, first turn first; a snapshot given from outside has
    their number in `Resident.queued` alone. `key_tickets` counts the tickets of each client key.
    """

    now: float
    servers: Mapping[str, Server]
    footprints: Mapping[str, int | None]
    demand: Mapping[str, Demand]
    version: int = 0
    queues: Mapping[Copy, Sequence[Turn] | Queued] = field(default_factory=dict)
    key_tickets: Mapping[str, int] = field(default_factory=dict)
    _index: ClusterIndex | None = field(init=False, default=None, compare=False, repr=False)
    needs: Needs = field(init=False, default_factory=dict, compare=False, repr=False)
    """What was worked out of this demand, by the names of a copy (placement/demand.py)."""
    sizes: dict[str, int | None] = field(init=False, default_factory=dict, compare=False, repr=False)
    """The footprints that were asked for."""

    @property
    def index(self) -> ClusterIndex:
        """Give the look-ups, made when first asked for."""
        if self._index is None:
            self._remember(index=index_of(self.servers))
        assert self._index is not None
        return self._index

    @once
    def group_ends(self) -> dict[tuple[str, str | None], tuple[float, ...]]:
        """Keep how long the places of resource groups are still held (placement/estimates.py)."""
        return {}

    @property
    def drained_for(self) -> frozenset[str]:
        """Name the waiters that servers are being emptied for."""
        return self.index.drained_for

    def holding(self, model: str) -> Iterator[Server]:
        """Go through the servers where the model is resident or has tickets."""
        return map(self.servers.__getitem__, self.index.holders.get(model, ()))

    def demand_of(self, model: str) -> Demand:
        """Look up who needs a model."""
        return self.demand.get(model, NO_DEMAND)

    def queued_ahead(self, *, server: Server, model: str, request: CallRequest) -> int:
        """Count the calls that queue on a copy before the request's turn; all of them where it has none."""
        turns = self.queues.get((server.name, model), ())
        if request.turn is not None:
            return turns.before(request.turn) if isinstance(turns, Queued) else bisect_left(turns, request.turn)
        resident = server.warm.get(model)
        return len(turns) if resident is None else resident.queued

    def footprint(self, *, server: Server, model: str) -> int | None:
        """Look up a model's footprint: here, else where it is resident, else by what is known of the model."""
        local = server.local_footprint(model)
        return self.shared_footprint(model) if local is None else local

    def shared_footprint(self, model: str) -> int | None:
        """Look up a model's footprint for a server that knows none itself."""
        if model not in self.sizes:
            self.sizes[model] = self._shared_footprint(model)
        return self.sizes[model]

    def _shared_footprint(self, model: str) -> int | None:
        for holder in self.holding(model):
            resident = holder.known.get(model)
            if resident is not None and resident.footprint_mib is not None:
                return resident.footprint_mib
        return self.footprints.get(model)

    def free_mib(self, server: Server) -> int | None:
        """Work out the memory nothing holds or has reserved; None without a budget or when a size is unknown."""
        if server.usable_mib is None:
            return None
        if server.held_mib is not None:
            return server.usable_mib - server.held_mib
        free = server.usable_mib
        for model in (*(resident.model for resident in server.warm_copies), *server.loading, *server.lost):
            footprint = self.footprint(server=server, model=model)
            if footprint is None:
                return None
            free -= footprint
        return free

    def with_ticket(self, ticket: Ticket, *, load: LoadUnderWay | None = None) -> "ClusterSnapshot":
        """Copy the snapshot with one more ticket, and the load that begins with it.

        The first call on a server that is half open closes it to others.
        """
        server = self.servers[ticket.server]
        if server.half_open:
            server = replace(server, half_open=False, circuit_open=True)
        loads = server.loads if load is None else (*server.loads, load)
        changed = self.with_server(server.with_work(tickets=(*server.tickets, ticket), loads=loads))
        return changed._with_key(ticket.key, 1) if ticket.key else changed

    def without_ticket(self, *, server: str, ticket: str) -> "ClusterSnapshot":
        """Copy the snapshot without one ticket; unchanged when it is not there."""
        known = self.servers[server]
        left = tuple(t for t in known.tickets if t.id != ticket)
        changed = self.with_server(known.with_work(tickets=left, loads=known.loads))
        for gone in known.tickets:
            if gone.id == ticket and gone.key:
                changed = changed._with_key(gone.key, -1)
        return changed

    def room_of_key(self, waiter: Waiter) -> int | None:
        """Say how many more tickets a waiter's key may hold; None where that has no limit."""
        if waiter.key_limit is None or not waiter.key:
            return None
        return max(waiter.key_limit - self.key_tickets.get(waiter.key, 0), 0)

    def with_server(self, server: Server) -> "ClusterSnapshot":
        """Copy the snapshot with one server replaced."""
        before = self.servers.get(server.name)
        changed = replace(self, servers={**self.servers, server.name: server})
        changed._remember(needs=self.needs)
        if before is not None and self._index is not None:
            changed._remember(index=self._index.replaced(before=before, after=server))
        return changed

    def without_trials(self) -> "ClusterSnapshot":
        """Copy the snapshot with the servers closed that a single call may try: not for places held ahead of a call."""
        changed = self
        for server in self.servers.values():
            if server.half_open:
                changed = changed.with_server(replace(server, half_open=False, circuit_open=True))
        return changed

    def with_waiting(self, *, model: str, waiting: Mapping[str, float]) -> "ClusterSnapshot":
        """Copy the snapshot with more waiters for a model."""
        return self._with_waiting(model=model, waiting={**self.demand_of(model).waiting, **waiting})

    def without_waiting(self, *, model: str, waiter: str) -> "ClusterSnapshot":
        """Copy the snapshot with a waiter less for a model; the snapshot itself where it is not among them."""
        waiting = self.demand_of(model).waiting
        if waiter not in waiting:
            return self
        left = dict(waiting)
        del left[waiter]
        return self._with_waiting(model=model, waiting=left)

    def with_queues(self, queues: Mapping[Copy, Queued]) -> "ClusterSnapshot":
        """Copy the snapshot with other calls queueing on the copies."""
        copy = replace(self, queues=queues)
        copy._remember(index=self._index, needs=self.needs)
        return copy

    def with_index(self, index: ClusterIndex) -> "ClusterSnapshot":
        """Let the snapshot know the index of its servers, where somebody made it already. Gives the snapshot."""
        self._remember(index=index)
        return self

    def _with_key(self, key: str, more: int) -> "ClusterSnapshot":
        copy = replace(self, key_tickets={**self.key_tickets, key: self.key_tickets.get(key, 0) + more})
        copy._remember(index=self._index, needs=self.needs)
        return copy

    def _with_waiting(self, *, model: str, waiting: dict[str, float]) -> "ClusterSnapshot":
        changed = self.demand_of(model)._replace(waiting=waiting)
        copy = replace(self, demand=ChangedDemand(base=self.demand, changed={model: changed}))
        needs = {key: need for key, need in self.needs.items() if model not in key[0]}
        copy._remember(index=self._index, needs=needs)
        return copy

    def _remember(self, *, index: ClusterIndex | None = None, needs: Needs | None = None) -> None:
        """Keep what was worked out: frozen is the picture, not what follows from it."""
        if index is not None:
            object.__setattr__(self, "_index", index)
        if needs is not None:
            object.__setattr__(self, "needs", needs)
