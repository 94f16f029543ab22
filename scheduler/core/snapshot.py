"""An immutable picture of the cluster, and what-if copies of it. Field meanings are those of scheduling.md 2."""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from scheduler.core.server import DEFAULT_CALL_S, DEFAULT_LOAD_MIB_PER_S, Resident, Server
from scheduler.core.types import CallRequest, Demand, LoadUnderWay, Ticket, Turn

__all__ = ["DEFAULT_CALL_S", "DEFAULT_LOAD_MIB_PER_S", "ClusterSnapshot", "Resident", "Server"]


NO_DEMAND = Demand()


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
        """Count the calls that queue on a copy before the request's turn; all of them where it has none."""
        turns = self.queues.get((server.name, model), ())
        if request.turn is not None:
            return bisect_left(turns, request.turn)
        resident = server.warm.get(model)
        return len(turns) if resident is None else resident.queued

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
        for model in (*(resident.model for resident in server.warm_copies), *server.loading, *server.lost):
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
        """Copy the snapshot without a waiter's demand; the snapshot itself when it has none."""
        wanted = {model: d for model, d in self.demand.items() if waiter in d.waiting}
        if not wanted:
            return self
        changed = {
            model: replace(demand, waiting={key: at for key, at in demand.waiting.items() if key != waiter})
            for model, demand in wanted.items()
        }
        return replace(self, demand={**self.demand, **changed})

    def with_waiting(self, *, model: str, waiting: Mapping[str, float]) -> "ClusterSnapshot":
        """Copy the snapshot with more waiters for a model."""
        demand = self.demand_of(model)
        changed = replace(demand, waiting={**demand.waiting, **waiting})
        return replace(self, demand={**self.demand, model: changed})
