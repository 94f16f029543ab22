"""A replica's servers as the values decisions are made on, each made again only when something it rests on changed."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from operator import attrgetter

from scheduler.core.index import ClusterIndex, index_of
from scheduler.core.ledger import ServerLearned, ServerRecord
from scheduler.core.line import Copy, copy_of
from scheduler.core.resident import Resident
from scheduler.core.server import Server
from scheduler.core.types import Drain, LoadUnderWay, Ticket, Waiter

QueuedOn = Callable[[Copy], int]
OLDEST_FIRST = attrgetter("started_at", "id")
MANY = 4
"""Where more than one server in so many changed, the index is made afresh."""


class Fleet:
    """The servers of a replica, their tickets and loads, and the index of them all."""

    def __init__(self, *, records: Mapping[str, ServerRecord], drains: Mapping[str, Drain]) -> None:
        self._records, self._drains = records, drains
        self._tickets: dict[str, dict[str, Ticket]] = {}
        self._loads: dict[str, dict[tuple[str, str], LoadUnderWay]] = {}
        self._servers: Mapping[str, Server] = {}
        self._index = index_of({})
        self._touched: set[str] = set()
        """Whose documents changed."""
        self._worked: set[str] = set()
        """Whose tickets or loads changed."""
        self._resting: set[str] = set()
        self._is_other_list = False
        self._key_tickets: dict[str, int] = {}
        self._are_keys_shown = False

    def clear(self) -> None:
        """Forget every server."""
        self._tickets.clear()
        self._loads.clear()
        self._servers, self._index = {}, index_of({})
        self._touched.clear()
        self._worked.clear()
        self._resting.clear()
        self._key_tickets, self._are_keys_shown = {}, False
        self._is_other_list = True

    def touch(self, server: str) -> None:
        """Take in that something about a server changed."""
        self._touched.add(server)

    def server_moved(self, server: str, *, is_new_or_gone: bool) -> None:
        """Take in that a server's record changed, or came or went."""
        self._touched.add(server)
        self._is_other_list = self._is_other_list or is_new_or_gone

    def ticket_moved(self, *, before: Ticket | None, after: Ticket | None) -> None:
        """Take in what became of a ticket."""
        if before is not None:
            self._worked.add(before.server)
            del self._tickets[before.server][before.id]
            if before.key:
                self._count_key(before.key, -1)
        if after is not None:
            self._worked.add(after.server)
            self._tickets.setdefault(after.server, {})[after.id] = after
            if after.key:
                self._count_key(after.key, 1)

    def load_moved(self, *, before: LoadUnderWay | None, after: LoadUnderWay | None) -> None:
        """Take in what became of a load."""
        if before is not None:
            self._worked.add(before.server)
            del self._loads[before.server][before.server, before.model]
        if after is not None:
            self._worked.add(after.server)
            self._loads.setdefault(after.server, {})[after.server, after.model] = after

    def queue_moved(self, *, before: Waiter | None, after: Waiter | None) -> None:
        """Take in where a waiter queues now."""
        old, new = (None if waiter is None else copy_of(waiter) for waiter in (before, after))
        if old != new:
            self._touched.update(copy[0] for copy in (old, new) if copy is not None)

    def tickets_on(self, server: str) -> tuple[Ticket, ...]:
        """List a server's tickets, oldest first."""
        tickets = self._tickets.get(server)
        return tuple(sorted(tickets.values(), key=OLDEST_FIRST)) if tickets else ()

    def key_tickets(self) -> Mapping[str, int]:
        """Show how many tickets each client key holds; never changed afterwards."""
        self._are_keys_shown = True
        return self._key_tickets

    def at(self, *, now: float, queued_on: QueuedOn) -> tuple[Mapping[str, Server], ClusterIndex]:
        """Give the servers of a moment by name, and their index. Neither is ever changed afterwards."""
        for name in self._resting - self._touched:
            server, learned = self._servers[name], self._records[name].learned
            if (server.blocked, server.circuit_open, server.half_open) != _rest(learned, now=now):
                self._touched.add(name)
        if self._touched or self._worked:
            self._make_again(now=now, queued_on=queued_on)
        return self._servers, self._index

    def _make_again(self, *, now: float, queued_on: QueuedOn) -> None:
        """Make the servers again that changed, and the index with them."""
        made = {name: self._make(name, now=now, queued_on=queued_on) for name in self._touched if name in self._records}
        self._resting -= self._touched
        self._resting.update(name for name in made if _rests(self._records[name].learned))
        for name in self._worked - self._touched:
            if name in self._servers:
                made[name] = self._servers[name].with_work(tickets=self.tickets_on(name), loads=self._loads_on(name))
        self._touched, self._worked = set(), set()
        before, is_other_list, self._is_other_list = self._servers, self._is_other_list, False
        if is_other_list:
            self._servers = {name: made.get(name) or before[name] for name in sorted(self._records)}
        else:
            self._servers = {**before, **made}
        if is_other_list or len(made) * MANY > len(before):
            self._index = index_of(self._servers)
            return
        for name, server in made.items():
            self._index = self._index.replaced(before=before[name], after=server)

    def _count_key(self, key: str, more: int) -> None:
        if self._are_keys_shown:
            self._key_tickets, self._are_keys_shown = self._key_tickets.copy(), False
        count = self._key_tickets.get(key, 0) + more
        if count:
            self._key_tickets[key] = count
        else:
            del self._key_tickets[key]

    def _loads_on(self, server: str) -> tuple[LoadUnderWay, ...]:
        return tuple(self._loads.get(server, {}).values())

    def _make(self, name: str, *, now: float, queued_on: QueuedOn) -> Server:
        record = self._records[name]
        config, seen, learned = record.config, record.seen, record.learned
        blocked, is_circuit_open, is_half_open = _rest(learned, now=now)
        return Server(
            name=name,
            ready=seen.ready,
            circuit_open=is_circuit_open,
            weight=config.weight,
            total_mib=config.total_mib,
            reserve_mib=config.reserve_mib,
            slots=config.slots,
            max_concurrent=config.max_concurrent,
            interactive_reserve=config.interactive_reserve,
            resource_group=config.resource_group,
            context_length=config.context_length,
            load_mib_per_s=learned.load_mib_per_s,
            call_s=learned.call_s,
            success_rate=learned.success_rate,
            can_load=config.can_load,
            models=None if seen.models is None else frozenset(seen.models),
            drain=self._drains.get(name),
            residents=tuple(
                _resident(resident, queued=queued_on((name, resident.model))) for resident in seen.residents
            ),
            tickets=self.tickets_on(name),
            loads=self._loads_on(name),
            tickets_load=False,
            blocked=blocked,
            half_open=is_half_open,
            paused=not record.admission.is_open,
        )


def _rests(learned: ServerLearned) -> bool:
    """Say whether time alone may change what a server takes."""
    return bool(learned.blocked_until) or learned.circuit.rests_until is not None


def _rest(learned: ServerLearned, *, now: float) -> tuple[frozenset[str], bool, bool]:
    """Name the models that still have to rest, and say whether the circuit is open, or half open."""
    blocked = frozenset(model for model, until in learned.blocked_until.items() if until > now)
    return blocked, learned.circuit.is_open(now=now), learned.circuit.wants_trial(now=now)


def _resident(resident: Resident, *, queued: int) -> Resident:
    """Say of a resident how many queue on it."""
    return resident if resident.queued == queued else replace(resident, queued=queued)
