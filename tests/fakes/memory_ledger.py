"""The ledger in memory, for tests: the same port, one process, a clock that tests move."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from scheduler.core import ledger_docs as docs
from scheduler.core.config import SchedulerConfig
from scheduler.core.gate import Admission, States
from scheduler.core.ledger import (
    Change,
    Committed,
    Intent,
    JournalEntry,
    Outcome,
    Plan,
    Reaped,
    ServerConfig,
    ServerSeen,
    Settled,
)
from scheduler.core.replica import Replica
from scheduler.core.server import Resident
from scheduler.core.types import LoadUnderWay, TicketState, Waiter, intent_key
from scheduler.ports import LineFull, TicketGone
from tests.fakes.manual_clock import ManualClock
from tests.fakes.memory_books import Books, call_of_ticket, call_of_waiter, is_delivered, load_key, owner_of
from tests.fakes.memory_commit import apply_change
from tests.fakes.memory_gate import admission_set, doubt
from tests.fakes.memory_learning import learn
from tests.fakes.memory_loads import load_done, load_failed
from tests.fakes.memory_upkeep import configure, reap


class MemoryLedger:
    """One ledger in memory. Its own clock is manual unless one is handed in."""

    def __init__(self, *, config: SchedulerConfig | None = None, clock: Callable[[], float] | None = None) -> None:
        self._config = config or SchedulerConfig()
        self.losses = 0
        self._books = Books(config=self._config, clock=clock or ManualClock())

    @property
    def replica(self) -> Replica:
        """Give the copy."""
        return self._books.replica

    async def start(self) -> None:
        """Do nothing: the replica is always there."""

    async def close(self) -> None:
        """Do nothing: there is nothing to let go of."""

    async def catch_up(self) -> None:
        """Do nothing: the replica is always at the present."""

    async def wait_for_change(self, *, after: int, timeout_s: float) -> None:
        """Let others run, and return: whatever could change does so meanwhile."""
        await asyncio.sleep(0)

    async def wait_until_settled(self, *, waiter: str, timeout_s: float) -> bool:
        """Sleep until this wait is over, and say so; False when the time is over first."""
        return await self._books.bells.sleep(waiter=waiter, timeout_s=timeout_s)

    def wake(self, *, waiter: str) -> None:
        """Have whoever sleeps until this wait is over look again now."""
        self._books.bells.wake(waiter=waiter)

    @property
    def wake_ups(self) -> int:
        """Count the sleeping callers that were woken because their wait was over."""
        return self._books.bells.rung

    async def configure(
        self, *, servers: Sequence[ServerConfig], footprints: Mapping[str, int], weights: Mapping[str, float]
    ) -> bool:
        """Make these the registered servers, known footprints and crews' weights; say whether anything changed."""
        return configure(self._begin(), servers=servers, footprints=footprints, weights=weights)

    async def probe_begin(self, *, server: str, lease_s: float, every_s: float = 0.0) -> int | None:
        """Begin a probe and give its number, or None while one is under way or began less than `every_s` ago."""
        books = self._begin()
        running = books.probing.get(server)
        if server not in books.rows.servers or (running is not None and running[1] > books.clock()):
            return None
        if books.clock() - books.probed.get(server, 0.0) < every_s:
            return None
        books.probed[server] = books.clock()
        books.probes += 1
        books.probing[server] = (books.probes, books.clock() + lease_s)
        return books.probes

    async def probe_end(self, *, server: str, probe: int, seen: ServerSeen) -> bool:
        """Store what a probe saw; say whether anything but `probed_at` changed."""
        books = self._begin(seen.probed_at)
        running = books.probing.get(server)
        if running is not None and running[0] == probe:
            del books.probing[server]
        record = books.rows.servers.get(server)
        if record is None or probe <= books.barriers.get(server, 0):
            return False
        books.barriers[server] = probe
        loading = {load.model for load in books.rows.loads.values() if load.server == server}
        seen = replace(seen, residents=tuple(r for r in seen.residents if not loading & set(r.names)))
        if replace(seen, probed_at=record.seen.probed_at) == record.seen:
            books.put_quietly(server, replace(record, seen=seen))
            return False
        books.put("server", server, replace(record, seen=seen))
        models = [resident.model for resident in seen.residents]
        sizes = [resident.footprint_mib for resident in seen.residents]
        event = {"server": server, "phase": seen.phase, "ready": seen.ready, "detail": seen.detail}
        books.emit("server_changed", event, reason="probed", residents=models, sizes_mib=sizes)
        books.finish()
        return True

    async def admission_set(
        self, *, server: str, admission: Admission, when: States = (), since: float | None = None, trial: bool = False
    ) -> bool:
        """Let calls be placed on a server, or keep them away; say whether that changed anything."""
        return admission_set(self._begin(admission.since), server, admission, when=when, since=since, trial=trial)

    async def enqueue(self, *, waiter: Waiter) -> tuple[Waiter, int]:
        """Add a waiter; give it back with its fair-queueing tag, and the version before it was added."""
        books = self._begin(waiter.arrived_at)
        before = books.replica.version
        if waiter.id in books.rows.waiters:
            return books.rows.waiters[waiter.id], before
        if len(books.rows.waiters) >= self._config.max_waiters:
            raise LineFull(limit=self._config.max_waiters)
        own = sum(1 for other in books.rows.waiters.values() if owner_of(other) == owner_of(waiter))
        if own >= self._config.max_waiters_per_agent:
            raise LineFull(limit=self._config.max_waiters_per_agent, agent=waiter.agent, key=waiter.key)
        waiter = replace(waiter, start_tag=books.take_tag(waiter))
        books.put("waiter", waiter.id, waiter)
        books.lease("waiter", waiter.id, self._config.waiter_lease_s)
        models = [candidate.model for candidate in waiter.candidates]
        books.emit("enqueued", call_of_waiter(waiter), candidates=models, limit_at=waiter.limit_at)
        books.finish()
        return waiter, before

    async def commit(self, *, changes: Sequence[Change], now: float) -> Committed:
        """Check each change against the stored documents and apply those that hold, in order, in one atomic step."""
        books = self._begin(now)
        results = tuple(apply_change(books, change) for change in changes)
        return Committed(version=books.finish(), results=results)

    async def pick_up(self, *, waiter: str, now: float) -> Settled | None:
        """Hand a settled wait to its caller and forget the waiter; None while it waits or its load runs."""
        books = self._begin(now)
        known = books.rows.waiters.get(waiter)
        if known is None:
            raise TicketGone(waiter)
        waited_s = max(now - known.arrived_at, 0.0)
        if known.stood_aside is not None:
            books.forget_waiter(known, "stood-aside")
            books.finish()
            return Settled(reason=known.stood_aside, model=known.model, waited_s=waited_s)
        ticket = books.rows.tickets.get(known.ticket or "")
        if ticket is None or ticket.state is TicketState.LOADING:
            books.lease("waiter", waiter, self._config.waiter_lease_s)
            return None
        books.forget_waiter(known, "delivered")
        ticket = replace(ticket, call=ticket.call or known.id, waiter=None, started_at=now)
        books.put("ticket", ticket.id, ticket)
        books.lease("ticket", ticket.id, self._config.ticket_lease_s)
        books.count_use("use", ticket.model, now, 1)
        books.emit("delivered", call_of_ticket(ticket))
        books.finish()
        return Settled(ticket=ticket, model=ticket.model, waited_s=waited_s, evicted=ticket.evicted)

    async def give_up(self, *, waiter: str, now: float, reason: str = "") -> bool:
        """End a wait; a ticket granted meanwhile is given back. False when it is gone already."""
        books = self._begin(now)
        known = books.rows.waiters.get(waiter)
        if known is None:
            return False
        books.abandon(known, "given_up", reason)
        books.finish()
        return True

    async def renew(self, *, ticket: str, progress_at: float | None = None) -> float:
        """Renew a ticket's lease and give its length in seconds."""
        known = self._books.rows.tickets.get(ticket)
        if known is None:
            raise TicketGone(ticket)
        if is_delivered(known):
            self._books.lease("ticket", ticket, self._config.ticket_lease_s)
            if progress_at is not None:
                self._books.progress[ticket] = max(progress_at, self._books.progress.get(ticket, 0.0))
        return self._config.ticket_lease_s

    async def progress(self) -> Mapping[str, float]:
        """Tell when the calls whose callers say so had a byte from their engines last, by ticket."""
        return dict(self._books.progress)

    async def release(self, *, ticket: str, outcome: Outcome, now: float) -> bool:
        """Give a ticket back. False, and nothing changed, when it is gone already."""
        books = self._begin(now)
        known = books.rows.tickets.get(ticket)
        if known is None:
            return False
        event = call_of_ticket(known) | docs.to_doc(outcome)
        plan = books.rows.plans.get(known.plan or "")
        was_trial = books.drop_ticket(known)
        books.wait_again(known)
        if is_delivered(known):
            books.count_use("use", known.model, now, 0)
            active_s = learn(books, known, outcome=outcome, was_trial=was_trial)
            event |= {} if active_s is None else {"active_s": active_s}
        books.emit("released", event)
        if plan is not None:
            books.drop_plan(plan, "released")
        if is_delivered(known) and outcome.ambiguity is not None:
            doubt(books, known.server, outcome.ambiguity)
        books.finish()
        return True

    async def publish_intents(self, *, intents: Sequence[Intent], plans: Sequence[Plan]) -> None:
        """Store intents and (still empty) plans of selected agents, and count their selection."""
        books = self._begin(max((intent.at for intent in intents), default=None))
        for intent in intents:
            books.put("intent", intent_key(agent=intent.agent, thread=intent.thread), intent)
            for model in intent.models:
                books.count_use("selected", model, intent.at, 1)
        for plan in plans:
            books.put("plan", plan.id, plan)
        books.finish()

    async def drop_plan(self, *, plan: str, now: float) -> bool:
        """Give back a plan's ticket and forget plan and intent. False when it is gone already."""
        books = self._begin(now)
        known = books.rows.plans.get(plan)
        if known is None:
            return False
        books.drop_plan(known, "dropped")
        books.finish()
        return True

    async def load_begin(self, *, server: str, model: str, runner: str) -> LoadUnderWay | None:
        """Take the lease on driving a load; None when it is gone or somebody else drives it."""
        books, key = self._begin(), load_key(server, model)
        is_driven = books.leases["runner"].get(key, 0.0) > books.clock()
        if key not in books.rows.loads or (is_driven and books.runners[key] != runner):
            return None
        books.runners[key] = runner
        books.set_barrier(server)
        books.lease("runner", key, self._config.runner_lease_s)
        return books.rows.loads[key]

    async def load_renew(self, *, server: str, model: str, runner: str) -> bool:
        """Keep driving; False when the load is gone or was taken over: stop at once."""
        books, key = self._begin(), load_key(server, model)
        if key not in books.rows.loads or books.runners.get(key) != runner:
            return False
        books.lease("runner", key, self._config.runner_lease_s)
        return True

    async def victim_gone(self, *, server: str, model: str, victim: str) -> None:
        """Write down that the engine confirmed an unload."""
        books = self._begin()
        load = books.rows.loads.get(load_key(server, model))
        if load is None or victim not in load.evicts:
            return
        books.set_barrier(server)
        books.settle_victim(server, model, victim)
        books.emit("victim_gone", {"server": server, "model": victim, "load": model})
        books.finish()

    async def load_done(self, *, server: str, model: str, resident: Resident, took_s: float, now: float) -> None:
        """The copy is resident: its load ends, its tickets become active, the load rate is learned."""
        load_done(self._begin(now), server=server, model=model, resident=resident, took_s=took_s)

    async def load_failed(self, *, server: str, model: str, problem: str, now: float) -> None:
        """The load ended without a copy: its tickets are taken back, their waiters wait again, the model rests here."""
        load_failed(self._begin(now), server=server, model=model, problem=problem)

    async def reap(self, *, now: float) -> Reaped:
        """End what has outlived its lease or limit, and name the loads that nobody drives."""
        return reap(self._begin(now))

    async def journal(self, *, after: str, count: int) -> Sequence[JournalEntry]:
        """Read committed changes past a journal id, oldest first; from the beginning after '' or '0'."""
        passed = int((after or "0").partition("-")[0])
        return tuple(entry for entry in self._books.journal if entry.version > passed)[:count]

    def _begin(self, now: float | None = None) -> Books:
        self._books.begin(now=now)
        return self._books
