"""How a load ends, in the books."""

from dataclasses import replace

from scheduler.core.server import Resident
from tests.fakes.memory_books import Books, ease, load_key


def load_done(books: Books, *, server: str, model: str, resident: Resident, took_s: float) -> None:
    """End a load with a copy."""
    load = books.rows.loads.get(load_key(server, model))
    if load is None:
        return
    books.set_barrier(server)
    for victim in load.evicts:
        books.settle_victim(server, model, victim)
    books.end_load(server, model)
    record = books.rows.servers[server]
    residents = (*(r for r in record.seen.residents if model not in r.names), resident)
    books.activate(server, model)
    learned = record.learned
    failures = {m: times for m, times in learned.failures.items() if m != model}
    rate = ease(learned.load_mib_per_s, load.footprint_mib / took_s) if took_s > 0 else learned.load_mib_per_s
    learned = replace(
        learned,
        load_mib_per_s=rate,
        failures=failures,
        blocked_until={m: until for m, until in learned.blocked_until.items() if m != model},
        load_problem=learned.load_problem if failures else "",
    )
    books.put("server", server, replace(record, seen=replace(record.seen, residents=residents), learned=learned))
    event = {"server": server, "model": model, "took_s": took_s, "footprint_mib": load.footprint_mib}
    books.emit("load_done", event)
    books.finish()


def load_failed(books: Books, *, server: str, model: str, problem: str) -> None:
    """End a load without one."""
    if load_key(server, model) not in books.rows.loads:
        return
    books.set_barrier(server)
    books.end_load(server, model)
    for ticket in books.tickets_of(server, model):
        books.revoke(ticket, "load-failed")
    record = books.rows.servers[server]
    learned = record.learned
    times = learned.failures.get(model, 0) + 1
    rest_s = min(books.config.load_block_s * 2 ** (times - 1), books.config.load_block_max_s)
    learned = replace(
        learned,
        failures={**learned.failures, model: times},
        blocked_until={**learned.blocked_until, model: books.now + rest_s},
        load_problem=problem,
        success_rate=ease(1 if learned.success_rate is None else learned.success_rate, 0),
    )
    books.put("server", server, replace(record, learned=learned))
    event = {"server": server, "model": model, "reason": problem}
    books.emit("load_failed", event, failures=times, blocked_until=books.now + rest_s)
    books.finish()
