"""What must hold of a cluster at every moment, whatever happened before. Tests, debug runs and pages ask it.

An operator may break a rule by lowering a limit below what runs, an engine by taking more memory than was known:
nothing is revoked then, the rule holds again once enough has ended. The scheduler itself must never break one.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from scheduler.core.snapshot import ClusterSnapshot, Server
from scheduler.core.types import Priority, Ticket, TicketState


class Rule(StrEnum):
    """What is broken."""

    SLOTS = "more calls on a copy than it has slots"
    CAP = "more calls on a server than its cap"
    BACKGROUND_CAP = "more background calls on a server than its cap leaves them"
    GROUP_CAP = "more calls on the servers of a resource group than its cap"
    MEMORY = "more memory promised than the server has"
    NO_BUDGET = "a load on a server that takes none"
    TWO_COPIES = "a load of a model that is resident"
    VICTIM_IN_USE = "a model in use is to be unloaded"


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """A broken rule on a server: how much is held against how much there may be, or the model it is about.

    Of a resource group's cap, `server` is the first in the snapshot that names it.
    """

    server: str
    rule: Rule
    model: str | None = None
    held: float = 0
    limit: float = 0


def check(snapshot: ClusterSnapshot) -> tuple[Violation, ...]:
    """Find every broken rule."""
    of_servers = (
        violation
        for server in snapshot.servers.values()
        for violation in (*_calls(server), *_memory(snapshot, server), *_copies(server))
    )
    return (*of_servers, *_groups(snapshot))


def places_taken(tickets: Iterable[Ticket]) -> int:
    """Count the places that tickets take: a place held for an agent is lent to that agent's own calls."""
    held = tuple(tickets)
    running = [ticket for ticket in held if ticket.state is not TicketState.PLANNED]
    callers = {ticket.agent for ticket in running}
    return len(running) + len({ticket.agent for ticket in held} - callers)


def _calls(server: Server) -> Iterator[Violation]:
    for model, tickets in server.tickets_of.items():
        taken = places_taken(tickets)
        if taken > server.slots:
            yield Violation(server=server.name, rule=Rule.SLOTS, model=model, held=taken, limit=server.slots)
    if server.max_concurrent is None:
        return
    background = tuple(ticket for ticket in server.tickets if ticket.priority is Priority.BACKGROUND)
    left = max(server.max_concurrent - server.interactive_reserve, 0)
    for rule, counted, limit in (
        (Rule.CAP, server.tickets, server.max_concurrent),
        (Rule.BACKGROUND_CAP, background, left),
    ):
        taken = places_taken(counted)
        if taken > limit:
            yield Violation(server=server.name, rule=rule, held=taken, limit=limit)


def _groups(snapshot: ClusterSnapshot) -> Iterator[Violation]:
    groups: dict[str, list[Server]] = {}
    for server in snapshot.servers.values():
        if server.resource_group is not None:
            groups.setdefault(server.resource_group.name, []).append(server)
    for servers in groups.values():
        taken = places_taken(ticket for server in servers for ticket in server.tickets)
        limit = min(server.resource_group.max_concurrent for server in servers if server.resource_group)
        if taken > limit:
            yield Violation(server=servers[0].name, rule=Rule.GROUP_CAP, held=taken, limit=limit)


def _memory(snapshot: ClusterSnapshot, server: Server) -> Iterator[Violation]:
    usable, free = server.usable_mib, snapshot.free_mib(server)
    if usable is not None and free is not None and free < 0:
        yield Violation(server=server.name, rule=Rule.MEMORY, held=usable - free, limit=usable)
    if usable is None or not server.can_load:
        for load in server.loads:
            yield Violation(server=server.name, rule=Rule.NO_BUDGET, model=load.model, held=load.footprint_mib)


def _copies(server: Server) -> Iterator[Violation]:
    loading = {load.model for load in server.loads}
    for model in sorted(loading & set(server.known)):
        yield Violation(server=server.name, rule=Rule.TWO_COPIES, model=model)
    for model in sorted(server.spent & (loading | set(server.tickets_of))):
        yield Violation(server=server.name, rule=Rule.VICTIM_IN_USE, model=model)
