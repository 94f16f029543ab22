"""Bringing configuration into the books, and ending what has outlived its lease."""

from collections.abc import Mapping, Sequence

from scheduler.core.gate import Admission, AdmissionState, QuarantineCause
from scheduler.core.ledger import Reaped, ServerConfig, ServerLearned, ServerRecord, ServerSeen
from tests.fakes.memory_books import Books, call_of_ticket, is_delivered
from tests.fakes.memory_gate import doubt


def configure(
    books: Books, *, servers: Sequence[ServerConfig], footprints: Mapping[str, int], weights: Mapping[str, float]
) -> bool:
    """Make these the registered servers; say whether anything changed."""
    listed = {server.name: server for server in servers}
    for name in sorted(listed):
        _configure_one(books, listed[name])
    for name in sorted(set(books.rows.servers) - set(listed)):
        _clear(books, name, "server-gone")
        books.probing.pop(name, None)
        books.remove("server", name)
        books.emit("server_changed", {"server": name, "reason": "removed"})
    for table, known, wanted in (
        ("footprint", books.rows.footprints, footprints),
        ("weight", books.rows.weights, weights),
    ):
        for key in sorted(wanted):
            if known.get(key) != wanted[key]:
                books.put(table, key, wanted[key])
        for key in sorted(set(known) - set(wanted)):
            books.remove(table, key)
    changed = books.is_changed
    books.finish()
    return changed


def reap(books: Books) -> Reaped:
    """End what is due."""
    rows, clock, limits = books.rows, books.clock(), books.config
    waiters = _ended(books, "waiter")
    for key in waiters:
        books.abandon(rows.waiters[key], "lapsed")
    tickets = _ended(books, "ticket")
    for key in tickets:
        _lapse(books, key)
    plans = [plan for plan in rows.plans.values() if plan.created_at <= books.now - limits.plan_limit_s]
    for plan in sorted(plans, key=lambda plan: (plan.created_at, plan.id)):
        books.drop_plan(plan, "limit")
    intents = [key for key, intent in rows.intents.items() if intent.at <= books.now - limits.intent_limit_s]
    for key in intents:
        books.drop_intent(key)
    books.finish()
    undriven = [rows.loads[key] for key in sorted(rows.loads) if books.leases["runner"].get(key, 0.0) <= clock]
    return Reaped(
        tickets=len(tickets),
        waiters=len(waiters),
        plans=len(plans),
        intents=len(intents),
        undriven=tuple(undriven),
    )


def _ended(books: Books, table: str) -> list[str]:
    """List what has outlived its lease, the longest dead first."""
    leases = books.leases[table]
    return sorted((key for key, ends in leases.items() if ends <= books.clock()), key=lambda key: (leases[key], key))


def _configure_one(books: Books, config: ServerConfig) -> None:
    old = books.rows.servers.get(config.name)
    if old is not None and old.config == config:
        return
    is_same = old is not None and (old.config.kind, old.config.endpoint) == (config.kind, config.endpoint)
    if old is not None and not is_same:
        _clear(books, config.name, "server-replaced")
    if not is_same:
        books.probing.pop(config.name, None)
    kept = books.rows.servers[config.name] if is_same else None
    books.put(
        "server",
        config.name,
        ServerRecord(
            config=config,
            seen=kept.seen if kept else ServerSeen(),
            learned=kept.learned if kept else ServerLearned(),
            admission=_admission(books, old, is_same=is_same),
        ),
    )
    reason = "registered" if old is None else "configured"
    books.emit("server_changed", {"server": config.name, "reason": reason})


def _admission(books: Books, old: ServerRecord | None, *, is_same: bool) -> Admission:
    if old is None:
        return Admission()
    is_about_another = not is_same and old.admission.state is AdmissionState.QUARANTINED
    return Admission(since=books.now) if is_about_another else old.admission


def _clear(books: Books, server: str, reason: str) -> None:
    for ticket in sorted(books.rows.tickets_on(server), key=lambda ticket: ticket.id):
        books.revoke(ticket, reason)
    for model in sorted(load.model for load in books.rows.loads.values() if load.server == server):
        books.end_load(server, model)
        books.emit("load_failed", {"server": server, "model": model, "reason": reason})
    books.end_drain(server, reason)
    books.set_barrier(server)


def _lapse(books: Books, key: str) -> None:
    ticket = books.rows.tickets.get(key)
    if ticket is None:
        return
    plan = books.rows.plans.get(ticket.plan or "")
    books.drop_ticket(ticket)
    if is_delivered(ticket):
        books.count_use("use", ticket.model, books.now, 0)
    books.emit("lapsed", call_of_ticket(ticket), reason="lease")
    if plan is not None:
        books.drop_plan(plan, "lapsed")
    if is_delivered(ticket):
        doubt(books, ticket.server, QuarantineCause.WORKER_TERMINATED)
