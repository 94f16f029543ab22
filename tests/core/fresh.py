"""The same replica made afresh: what was kept up to date must not differ from it in anything."""

from scheduler.core import cycle
from scheduler.core.config import SchedulerConfig
from scheduler.core.index import index_of
from scheduler.core.ledger_docs import to_doc
from scheduler.core.replica import Replica
from scheduler.services.cycle import held_places

LONG = 10_000.0


def fresh_copy(replica: Replica) -> Replica:
    """Make a replica of the same documents, from a full copy of them."""
    tables = {
        "server": replica.servers,
        "ticket": replica.tickets,
        "load": replica.loads,
        "waiter": replica.waiters,
        "drain": replica.drains,
        "plan": replica.plans,
        "intent": replica.intents,
        "use": replica.uses,
        "selected": replica.selected,
        "footprint": replica.declared,
        "weight": replica.weights,
    }
    copy = Replica(config=replica.config)
    rows = [(table, key, to_doc(value)) for table, values in tables.items() for key, value in values.items()]
    copy.reset(version=replica.version, deltas=rows)
    return copy


def assert_kept_is_fresh(*, replica: Replica, config: SchedulerConfig, now: float) -> None:
    """Compare everything that decisions rest on, and what they come to."""
    copy = fresh_copy(replica)
    kept, made = replica.snapshot(now=now), copy.snapshot(now=now)
    assert kept == made
    assert kept.index == made.index == index_of(kept.servers)
    holders = {place.ticket.agent for place in held_places(replica=replica).values()}
    drains = kept.index.drains.values()
    assert replica.line.groups(holders=holders, drains=drains) == copy.line.groups(holders=holders, drains=drains)
    assert replica.line.past_limit(now=now + LONG) == copy.line.past_limit(now=now + LONG)
    assert planned(replica, config=config, now=now) == planned(copy, config=config, now=now, afresh=True)


def planned(replica: Replica, *, config: SchedulerConfig, now: float, afresh: bool = False):
    """Plan with the line as it was kept, or with one made of the waiters."""
    changes, _ = cycle.plan(
        snapshot=replica.snapshot(now=now),
        waiters=replica.waiters.values() if afresh else replica.line,
        held=held_places(replica=replica),
        config=config,
        is_weighted=bool(replica.weights),
    )
    return changes
