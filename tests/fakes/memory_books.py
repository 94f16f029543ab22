"""The books of the ledger kept in memory: documents, leases, the journal, and the moves that several steps share.

It says the same as the scripts of the real ledger, in the terms of the core: what stands on a server is what a snapshot
says. Both are held to one suite of tests.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from scheduler.core.config import SchedulerConfig
from scheduler.core.demand_book import decayed
from scheduler.core.ledger import JournalEntry, Plan, ServerRecord, Use
from scheduler.core.ledger_docs import to_doc
from scheduler.core.replica import Delta, Replica
from scheduler.core.types import Ticket, TicketState, Waiter, intent_key
from scheduler.stores.bells import Bells

ALPHA = 0.2


def ease(before: float | None, sample: float) -> float:
    """Move an average towards a sample."""
    return sample if before is None else before + ALPHA * (sample - before)


def load_key(server: str, model: str) -> str:
    """Name a load."""
    return f"{server}#{model}"


def owner_of(waiter: Waiter) -> tuple[str, str]:
    """Say whose place in line a waiter takes: its client key's, else its agent's."""
    return ("key", waiter.key) if waiter.key else ("agent", waiter.agent)


def is_delivered(ticket: Ticket) -> bool:
    """Say whether a ticket is in its caller's hands."""
    return ticket.waiter is None and ticket.plan is None


def call_of_ticket(ticket: Ticket) -> dict[str, Any]:
    """List the fields a call's history row is made of."""
    names = (
        *("waiter", "plan", "agent", "crew", "thread", "phase", "purpose", "priority", "server", "model", "action"),
        *("evicted", "arrived_at", "granted_at", "started_at", "key"),
    )
    call = ticket.call or ticket.waiter or ticket.id
    return {"call": call, "ticket": ticket.id, **{name: to_doc(getattr(ticket, name)) for name in names}}


def call_of_waiter(waiter: Waiter) -> dict[str, Any]:
    """List the fields a call's history row is made of."""
    names = (
        *("agent", "crew", "thread", "phase", "purpose", "priority", "server", "model", "action"),
        *("arrived_at", "prompt_tokens", "key"),
    )
    return {"call": waiter.id, "waiter": waiter.id, **{name: to_doc(getattr(waiter, name)) for name in names}}


class Books:
    """Everything the ledger holds. `rows` is the truth; `replica` gets each finished step as any process would."""

    def __init__(self, *, config: SchedulerConfig, clock: Callable[[], float]) -> None:
        self.config = config
        self.clock = clock
        self.now = 0.0
        self.rows = Replica(config=config)
        self.replica = Replica(config=config)
        self.bells = Bells(replica=self.replica)
        self.journal: list[JournalEntry] = []
        self.leases: dict[str, dict[str, float]] = {"ticket": {}, "waiter": {}, "runner": {}}
        self.progress: dict[str, float] = {}
        self.runners: dict[str, str] = {}
        self.barriers: dict[str, int] = {}
        self.probes = 0
        self.probing: dict[str, tuple[int, float]] = {}
        self.probed: dict[str, float] = {}
        self.fair: dict[tuple[str, str], float] = {}
        self.held_intents: dict[str, Mapping[str, Any]] = {}
        self._changed: dict[tuple[str, str], Any] = {}
        self._events: list[dict[str, Any]] = []

    def begin(self, *, now: float | None) -> None:
        """Begin a step, at the caller's time or else the ledger's own."""
        self.now = self.clock() if now is None else now

    def finish(self) -> int:
        """End the step: when a document changed, count the version and write the journal. Gives the version."""
        if self._changed:
            version = self.replica.version + 1
            deltas: list[Delta] = [(table, key, doc) for (table, key), doc in self._changed.items()]
            entry = JournalEntry(id=f"{version}-0", version=version, at=self.now, events=tuple(self._events))
            self.journal.append(entry)
            self.replica.apply(version=version, deltas=deltas)
            self.bells.ring(deltas)
        self._changed, self._events = {}, []
        return self.replica.version

    @property
    def is_changed(self) -> bool:
        """Say whether this step has changed a document."""
        return bool(self._changed)

    def put(self, table: str, key: str, value: Any) -> None:
        """Write a document."""
        self._write(table, key, to_doc(value))

    def remove(self, table: str, key: str) -> None:
        """Delete a document."""
        self._write(table, key, None)

    def put_quietly(self, server: str, record: ServerRecord) -> None:
        """Write a server without telling anybody."""
        self.rows.apply(version=self.rows.version + 1, deltas=[("server", server, to_doc(record))])

    def emit(self, kind: str, event: Mapping[str, Any], **more: Any) -> None:
        """Write an event into the journal."""
        self._events.append({"type": kind, **event, **more})

    def lease(self, table: str, key: str, seconds: float) -> None:
        """Let a lease begin anew."""
        self.leases[table][key] = self.clock() + seconds

    # Moves

    def take_tag(self, call: Waiter | Ticket) -> float:
        """Take a place in weighted start-time fair queueing."""
        of_crew, of_class = (call.priority.value, f"f:{call.crew}"), (call.priority.value, "v")
        tag = max(self.fair.get(of_class, 0.0), self.fair.get(of_crew, 0.0))
        self.fair[of_crew] = tag + 1 / self.rows.weights.get(call.crew, 1)
        return tag

    def reach_tag(self, priority: str, tag: float) -> None:
        """Let the class's time reach a tag."""
        self.fair[(priority, "v")] = max(self.fair.get((priority, "v"), 0.0), tag)

    def count_use(self, table: str, key: str, at: float, more: float) -> None:
        """Count a use on top of what is left of the count."""
        use: Use = (self.rows.uses if table == "use" else self.rows.selected).get(key, Use(count=0, at=at))
        left = decayed(use=use, now=at, half_life_s=self.config.demand_half_life_s)
        self.put(table, key, Use(count=left + more, at=max(at, use.at)))

    def end_drain(self, server: str, reason: str) -> None:
        """End a server's drain, if it has one."""
        drain = self.rows.drains.get(server)
        if drain is None:
            return
        self.remove("drain", server)
        event = {"server": server, "model": drain.model, "agent": drain.agent, "waiter": drain.waiter}
        self.emit("drain_ended", event, reason=reason)

    def end_drain_of(self, waiter: str, reason: str) -> None:
        """End the drain that stands for a waiter, if any."""
        for server, drain in list(self.rows.drains.items()):
            if drain.waiter == waiter:
                self.end_drain(server, reason)

    def drop_ticket(self, ticket: Ticket) -> bool:
        """Take a ticket out of the books; say whether it was its server's trial."""
        self.remove("ticket", ticket.id)
        self.leases["ticket"].pop(ticket.id, None)
        self.progress.pop(ticket.id, None)
        record = self.rows.servers.get(ticket.server)
        if record is None or record.learned.circuit.trial != ticket.id:
            return False
        self.put_circuit(ticket.server, trial=None)
        return True

    def put_circuit(self, server: str, **changed: Any) -> None:
        """Change a server's circuit."""
        record = self.rows.servers[server]
        learned = replace(record.learned, circuit=replace(record.learned.circuit, **changed))
        self.put("server", server, replace(record, learned=learned))

    def drop_plan(self, plan: Plan, reason: str, *, kept: str | None = None) -> None:
        """Forget a plan, its intent and, unless it is kept, its ticket."""
        self.remove("plan", plan.id)
        intent = intent_key(agent=plan.agent, thread=plan.thread)
        self.drop_intent(intent)
        ticket = self.rows.tickets.get(plan.ticket or "")
        if ticket is not None and ticket.id != kept:
            self.drop_ticket(ticket)
        event = {"plan": plan.id, "agent": plan.agent, "crew": plan.crew, "thread": plan.thread, "ticket": plan.ticket}
        place = {"server": ticket and ticket.server, "model": ticket and ticket.model}
        self.emit("plan_dropped", event, **place, reason=reason)

    def drop_intent(self, key: str) -> None:
        """Forget an intent, standing or held back."""
        if key in self.rows.intents:
            self.remove("intent", key)
        self.held_intents.pop(key, None)

    def hold_intent(self, key: str) -> None:
        """Take an intent out of the demand while a ticket stands for it."""
        intent = self.rows.intents.get(key)
        if intent is not None:
            self.drop_intent(key)
            self.held_intents[key] = to_doc(intent)

    def revoke(self, ticket: Ticket, reason: str) -> None:
        """Take a ticket back because its place is gone: its waiter waits again, its plan stands as an intent."""
        self.drop_ticket(ticket)
        self.wait_again(ticket)
        plan = self.rows.plans.get(ticket.plan or "")
        if plan is not None and plan.ticket == ticket.id:
            self.put("plan", plan.id, replace(plan, ticket=None, trace=""))
            key = intent_key(agent=plan.agent, thread=plan.thread)
            held = self.held_intents.pop(key, None)
            if held is not None:
                self._write("intent", key, held)
        if is_delivered(ticket):
            self.count_use("use", ticket.model, self.now, 0)
        self.emit("lapsed", call_of_ticket(ticket), reason=reason)

    def wait_again(self, ticket: Ticket) -> None:
        """Let the waiter behind a lost ticket wait again, as old as it was."""
        waiter = self.rows.waiters.get(ticket.waiter or "")
        if waiter is not None and waiter.ticket == ticket.id:
            self.put("waiter", waiter.id, replace(waiter, ticket=None))

    def forget_waiter(self, waiter: Waiter, reason: str) -> None:
        """Take a waiter out of the line."""
        self.remove("waiter", waiter.id)
        self.leases["waiter"].pop(waiter.id, None)
        self.end_drain_of(waiter.id, reason)

    def abandon(self, waiter: Waiter, kind: str, reason: str = "") -> None:
        """End a wait from outside; a ticket granted meanwhile goes back."""
        ticket = self.rows.tickets.get(waiter.ticket or "")
        self.forget_waiter(waiter, kind)
        if ticket is not None:
            self.drop_ticket(ticket)
        if waiter.stood_aside is None:
            told = call_of_waiter(waiter) if ticket is None else call_of_ticket(ticket)
            self.emit(kind, told | ({"reason": reason} if reason else {}))

    def set_barrier(self, server: str) -> None:
        """Let probes that have begun by now be dropped."""
        self.barriers[server] = self.probes

    def end_load(self, server: str, model: str) -> None:
        """Take a load out of the books."""
        key = load_key(server, model)
        self.remove("load", key)
        self.runners.pop(key, None)
        self.leases["runner"].pop(key, None)

    def settle_victim(self, server: str, model: str, victim: str) -> None:
        """Note that a load has seen its victim gone, and that the server does not list it any more."""
        load = self.rows.loads[load_key(server, model)]
        left = tuple(other for other in load.evicts if other != victim)
        self.put("load", load_key(server, model), replace(load, evicts=left))
        for ticket in self.tickets_of(server, model):
            if victim in ticket.evicts:
                kept = tuple(other for other in ticket.evicts if other != victim)
                self.put("ticket", ticket.id, replace(ticket, evicts=kept))
        record = self.rows.servers[server]
        residents = tuple(r for r in record.seen.residents if victim not in r.names)
        if residents != record.seen.residents:
            self.put("server", server, replace(record, seen=replace(record.seen, residents=residents)))

    def activate(self, server: str, model: str) -> None:
        """Let the calls that waited for a load run."""
        for ticket in self.tickets_of(server, model):
            if ticket.state is TicketState.LOADING:
                self.put("ticket", ticket.id, replace(ticket, state=TicketState.ACTIVE, started_at=self.now))

    def tickets_of(self, server: str, model: str) -> list[Ticket]:
        """List the tickets of a copy by their ids."""
        tickets = sorted(self.rows.tickets_on(server), key=lambda ticket: ticket.id)
        return [ticket for ticket in tickets if ticket.model == model]

    def _write(self, table: str, key: str, doc: Any) -> None:
        self.rows.apply(version=self.rows.version + 1, deltas=[(table, key, doc)])
        self._changed[(table, key)] = doc
