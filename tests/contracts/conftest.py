"""Both ledgers, one after the other: the one in memory and the one on a real Valkey, on the same manual clock."""

import os
import secrets
from collections.abc import AsyncIterator

import pytest

from scheduler.core.config import SchedulerConfig
from scheduler.core.invariants import check
from scheduler.ports import Ledger
from scheduler.stores.ledger import RedisLedger
from tests.contracts.builders import World
from tests.fakes.manual_clock import ManualClock
from tests.fakes.memory_ledger import MemoryLedger


@pytest.fixture
def config() -> SchedulerConfig:
    """Give the figures of the rules."""
    return SchedulerConfig()


@pytest.fixture
def clock() -> ManualClock:
    """Give the ledger's clock."""
    return ManualClock(at=1000.0)


def redis_ledger(*, config: SchedulerConfig, clock: ManualClock, name: str | None = None) -> RedisLedger:
    """Make a ledger of its own on the run's Valkey."""
    return RedisLedger(
        url=os.environ["REDIS_URL"], name=name or secrets.token_hex(6), config=config, clock=clock, timeout_s=10
    )


@pytest.fixture(params=["memory", "redis"])
async def ledger(request: pytest.FixtureRequest, config: SchedulerConfig, clock: ManualClock) -> AsyncIterator[Ledger]:
    """Give a ledger that has started; afterwards its replica must be what a fresh reader sees, and break no rule."""
    if request.param == "memory":
        yield MemoryLedger(config=config, clock=clock)
        return
    name = secrets.token_hex(6)
    real = redis_ledger(config=config, clock=clock, name=name)
    await real.start()
    yield real
    fresh = redis_ledger(config=config, clock=clock, name=name)
    await fresh.start()
    assert tables(real) == tables(fresh)
    assert check(fresh.replica.snapshot(now=clock())) == ()
    await fresh.close()
    await real.close()


def tables(ledger: Ledger) -> dict[str, object]:
    """Take what a replica knows, but for when servers were last asked."""
    replica = ledger.replica
    names = ("tickets", "loads", "waiters", "drains", "plans", "intents", "uses", "selected", "footprints", "weights")
    servers = {
        name: (record.config, record.learned, record.admission, seen.ready, seen.residents, seen.models)
        for name, record in replica.servers.items()
        for seen in (record.seen,)
    }
    return {"version": replica.version, "servers": servers} | {name: dict(getattr(replica, name)) for name in names}


@pytest.fixture
def world(ledger: Ledger, clock: ManualClock) -> World:
    """Give the ledger in the words of the tests."""
    return World(ledger=ledger, clock=clock)
