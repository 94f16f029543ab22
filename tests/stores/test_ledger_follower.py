"""What a process hears of others: whatever it is told, it goes on listening."""

import asyncio
import os
import secrets
from collections.abc import AsyncIterator, Iterator

import pytest
from redis import Redis

from scheduler.core.config import SchedulerConfig
from scheduler.core.ledger import ServerConfig, ServerSeen
from scheduler.core.types import Waiter
from scheduler.ports import LedgerUnavailable
from scheduler.stores.layout import root_of
from scheduler.stores.ledger import RedisLedger

CONFIG = SchedulerConfig()


@pytest.fixture
def name() -> str:
    """Name a ledger of one's own."""
    return secrets.token_hex(6)


@pytest.fixture
def root(name: str) -> str:
    """Name the root of its keys."""
    return root_of(name=name)


@pytest.fixture
def client() -> Iterator[Redis]:
    """Give a way around the ledger."""
    with Redis.from_url(os.environ["REDIS_URL"]) as raw:
        yield raw


@pytest.fixture
async def pair(name: str) -> AsyncIterator[tuple[RedisLedger, RedisLedger]]:
    """Give the same ledger as two processes see it: the second one only listens."""
    ledgers = [RedisLedger(url=os.environ["REDIS_URL"], name=name, config=CONFIG, timeout_s=10) for _ in range(2)]
    for ledger in ledgers:
        await ledger.start()
    yield ledgers[0], ledgers[1]
    for ledger in ledgers:
        await ledger.close()


async def configure(ledger: RedisLedger, *names: str) -> None:
    """Register servers."""
    servers = [ServerConfig(name=name, kind="ollama", endpoint=name) for name in names]
    await ledger.configure(servers=servers, footprints={}, weights={})


async def until_known(ledger: RedisLedger, *names: str) -> None:
    """Wait until a replica knows exactly these servers."""
    async with asyncio.timeout(10):
        while set(ledger.replica.servers) != set(names):
            await ledger.wait_for_change(after=ledger.replica.version, timeout_s=1)


@pytest.mark.parametrize(
    "entry",
    [
        {"d": "garbage"},
        {"d": "2\nEPOCH\nno json"},
        {"d": '2\nEPOCH\n[["ticket","t1",{"id":"t1"}]]'},
        {"d": '2\nEPOCH\n[["no such table","t1",{}]]'},
        {"d": '2\nEPOCH\n[["server","gpu-1",null],["load"]]'},
        {"d": "two\nEPOCH\n[]"},
        {"other": "field", "more": "fields"},
    ],
)
async def test_an_entry_that_nobody_can_read_ends_in_a_full_copy_and_not_in_silence(
    pair: tuple[RedisLedger, RedisLedger], root: str, client: Redis, entry: dict[str, str]
) -> None:
    one, other = pair
    await configure(one, "gpu-1")
    await until_known(other, "gpu-1")
    epoch = client.hget(f"{root}:meta", "epoch").decode()

    client.hset(f"{root}:meta", "version", 2)
    client.xadd(f"{root}:deltas", {name: text.replace("EPOCH", epoch) for name, text in entry.items()})
    await configure(one, "gpu-1", "gpu-2")

    await until_known(other, "gpu-1", "gpu-2")
    await other.catch_up()
    assert other.replica.version == one.replica.version == 3
    await configure(one, "gpu-3")
    await until_known(other, "gpu-3")


async def test_an_entry_without_meaning_is_passed_by(
    pair: tuple[RedisLedger, RedisLedger], root: str, client: Redis, caplog: pytest.LogCaptureFixture
) -> None:
    """Reading it again and again would fill a core and the log."""
    one, other = pair
    await configure(one, "gpu-1")
    client.xadd(f"{root}:deltas", {"d": "garbage"})
    await configure(one, "gpu-2")

    await until_known(other, "gpu-2")
    await configure(one, "gpu-3")
    await until_known(other, "gpu-3")

    assert len([record for record in caplog.records if "unread" in record.message]) <= 2


async def test_while_documents_cannot_be_read_the_picture_stays_and_comes_back_by_itself(
    pair: tuple[RedisLedger, RedisLedger], root: str, client: Redis
) -> None:
    one, other = pair
    await configure(one, "gpu-1")
    await until_known(other, "gpu-1")

    client.hset(f"{root}:ticket", "t1", '{"id":"t1"}')
    client.xadd(f"{root}:deltas", {"d": "garbage"})
    client.hset(f"{root}:meta", "version", 5000_000)
    with pytest.raises(LedgerUnavailable, match="cannot be read"):
        await other.catch_up()
    assert set(other.replica.servers) == {"gpu-1"}
    client.hdel(f"{root}:ticket", "t1")
    await configure(one, "gpu-2")

    await until_known(other, "gpu-2")


async def test_a_step_that_was_carried_out_does_not_fail_its_caller_because_nobody_can_read_it(
    pair: tuple[RedisLedger, RedisLedger], root: str, client: Redis
) -> None:
    """The caller would give up a place that it holds."""
    one, _ = pair
    await configure(one, "gpu-1")
    probe = await one.probe_begin(server="gpu-1", lease_s=10.0)
    assert probe is not None
    config = client.hget(f"{root}:server:config", "gpu-1")
    client.hset(f"{root}:server:config", "gpu-1", '{"kind":"a server without a name"}')

    assert await one.probe_end(server="gpu-1", probe=probe, seen=ServerSeen(ready=True)) is True

    client.hset(f"{root}:server:config", "gpu-1", config)
    await one.catch_up()
    assert one.replica.servers["gpu-1"].seen.ready


async def test_callers_that_sleep_wake_when_the_ledger_comes_back_without_them(
    pair: tuple[RedisLedger, RedisLedger], root: str, client: Redis
) -> None:
    one, other = pair
    await one.enqueue(waiter=Waiter(id="w1", agent="a", candidates=(), arrived_at=1.0, limit_at=2.0))
    await other.catch_up()
    asleep = asyncio.create_task(other.wait_until_settled(waiter="w1", timeout_s=10))
    await asyncio.sleep(0)

    client.delete(*client.keys(f"{root}:*"))
    await configure(one, "gpu-1")

    assert await asleep is True
