"""What random operations are made of: grants that are likely to hold, ids that exist, probes that see what is there."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from scheduler.core.ledger import Change, GrantChange, Plan, ServerSeen
from scheduler.core.server import Resident
from scheduler.core.types import LoadUnderWay, Priority, Ticket, TicketState
from scheduler.ports import Ledger

SERVERS = ("gpu-1", "gpu-2")
NAMES = ("a", "b", "c", "d")
MODELS = {"a": 10, "b": 20, "c": 30, "d": 50, "a2": 10}
ALIASES = {"a": ("a2",)}
PRIORITIES = (Priority.INTERACTIVE, Priority.BACKGROUND)
CREWS = ("x", "y")
KEYS = ("", "", "k")


@dataclass(kw_only=True)
class Hand:
    """Knows one ledger, and what was tried on it. Ids follow from the operations alone, so that two hands agree."""

    ledger: Ledger
    now: Callable[[], float]
    move: Callable[[float], None]
    tickets: list[str] = field(default_factory=lambda: ["t-none"])
    waiters: list[str] = field(default_factory=lambda: ["w-none"])
    plans: list[Plan] = field(default_factory=list)
    probes: list[tuple[str, int, ServerSeen]] = field(default_factory=list)

    def _grant(self, a: int, b: int, c: int, d: int, e: int) -> GrantChange:
        id = f"t{len(self.tickets)}"
        self.tickets.append(id)
        server, model = SERVERS[a % 2], NAMES[b % 4]
        copies = self._copies(server)
        if copies and e > 0:
            model = copies[b % len(copies)]
            if model == "a" and d % 2:
                model = "a2"
        waiting = self._waiting()
        ticket = Ticket(
            id=id,
            server=server,
            agent=f"agent{c % 3}",
            model=model,
            state=TicketState.ACTIVE,
            started_at=self.now(),
            footprint_mib=MODELS[model],
            priority=PRIORITIES[c // 3],
            crew=CREWS[c % 2],
            call=id,
            key=KEYS[(b + d) % 3],
            key_limit=None if e == 2 else 1 + d % 2,
            waiter=(waiting[d % len(waiting)] if waiting else None) if d > 1 else self.waiters[-1] if d == 1 else None,
        )
        planned = sorted(t.id for t in self.ledger.replica.tickets.values() if t.plan is not None)
        return GrantChange(ticket=ticket, replaces=planned[0] if planned and e > 3 else None, trace="{}")

    def _with_load(self, change: GrantChange, victims: tuple[str, ...]) -> GrantChange:
        ticket = self._of(change.ticket, evicts=victims, evicted=victims)
        load = LoadUnderWay(
            server=ticket.server,
            model=ticket.model,
            footprint_mib=MODELS[ticket.model],
            started_at=self.now(),
            evicts=victims,
        )
        return GrantChange(ticket=ticket, load=load, plan=change.plan)

    def _of(self, ticket: Ticket, **changed: Any) -> Ticket:
        names = Ticket.__dataclass_fields__
        return Ticket(**{name: getattr(ticket, name) for name in names} | changed)

    async def _commit(self, change: Change) -> Any:
        return await self.ledger.commit(changes=[change], now=self.now())

    async def _probe(self, server: str, *, kept: tuple[str, ...], ready: bool = True) -> Any:
        number = await self.ledger.probe_begin(server=server, lease_s=10)
        if number is None:
            return None
        residents = tuple(r for r in self._residents(server) if r.model in kept)
        seen = ServerSeen(phase="Ready", ready=ready, residents=residents, probed_at=self.now())
        return await self.ledger.probe_end(server=server, probe=number, seen=seen)

    def _residents(self, server: str) -> tuple[Resident, ...]:
        record = self.ledger.replica.servers.get(server)
        return record.seen.residents if record else ()

    def _loading(self, a: int, b: int) -> str:
        loads = sorted(x.model for x in self.ledger.replica.loads.values() if x.server == SERVERS[a % 2])
        return loads[b % len(loads)] if loads else "a"

    def _copies(self, server: str) -> list[str]:
        loads = sorted(x.model for x in self.ledger.replica.loads.values() if x.server == server)
        return [*(r.model for r in self._residents(server)), *loads]

    def _waiting(self) -> list[str]:
        return sorted(waiter.id for waiter in self.ledger.replica.waiting())

    def _waiter(self, a: int) -> str:
        known = sorted(self.ledger.replica.waiters)
        return known[a % len(known)] if known and a < 5 else self.waiters[-1]

    def _ticket(self, a: int) -> str:
        held = sorted(self.ledger.replica.tickets)
        return held[a % len(held)] if held and a < 5 else self.tickets[-1]
