"""The ledger's connections: shared, followed, lost and found again."""

import asyncio
import os
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path

import pytest
from redis import Redis

from scheduler.core.config import SchedulerConfig
from scheduler.core.ledger import ServerConfig
from scheduler.core.types import Waiter
from scheduler.ports import LedgerUnavailable
from scheduler.stores.layout import root_of
from scheduler.stores.ledger import RedisLedger
from tests.stores.valkey_server import ValkeyServer

CONFIG = SchedulerConfig()
SHORT_S = 0.3


def server(name: str = "gpu-1") -> ServerConfig:
    """Describe a server."""
    return ServerConfig(name=name, kind="ollama", endpoint=name)


def waiter(id: str) -> Waiter:
    """Make a waiter of an agent of its own."""
    return Waiter(id=id, agent=id, candidates=(), arrived_at=1.0, limit_at=2.0)


async def configure(ledger: RedisLedger, *names: str) -> None:
    """Register servers."""
    await ledger.configure(servers=[server(name) for name in names], footprints={}, weights={})


async def until(ledger: RedisLedger, version: int) -> None:
    """Wait until a replica has reached a version."""
    async with asyncio.timeout(10):
        while ledger.replica.version < version:
            await ledger.wait_for_change(after=ledger.replica.version, timeout_s=1)


@pytest.fixture
def own(tmp_path: Path) -> Iterator[ValkeyServer]:
    """Give a server of one's own."""
    valkey = ValkeyServer(folder=tmp_path)
    valkey.start()
    yield valkey
    valkey.kill()


@pytest.fixture
def name() -> str:
    """Name a ledger of one's own on the run's server."""
    return secrets.token_hex(6)


@pytest.fixture
async def pair(name: str) -> AsyncIterator[tuple[RedisLedger, RedisLedger]]:
    """Give the same ledger as two processes see it."""
    url = os.environ["REDIS_URL"]
    ledgers = [RedisLedger(url=url, name=name, config=CONFIG, timeout_s=10) for _ in range(2)]
    for ledger in ledgers:
        await ledger.start()
    yield ledgers[0], ledgers[1]
    for ledger in ledgers:
        await ledger.close()


async def test_what_one_process_commits_reaches_the_other_without_asking(
    pair: tuple[RedisLedger, RedisLedger],
) -> None:
    one, other = pair

    await configure(one, "gpu-1")
    await until(other, 1)

    assert other.replica.servers == one.replica.servers


async def test_a_process_sees_its_own_step_and_all_before_it_at_once(pair: tuple[RedisLedger, RedisLedger]) -> None:
    one, other = pair
    for i in range(20):
        await asyncio.gather(one.enqueue(waiter=waiter(f"a{i}")), other.enqueue(waiter=waiter(f"b{i}")))

        assert f"a{i}" in one.replica.waiters
        assert f"b{i}" in other.replica.waiters
        await asyncio.gather(one.catch_up(), other.catch_up())
        assert one.replica.waiters == other.replica.waiters


async def test_many_calls_share_a_connection_and_each_gets_its_own_answer(
    pair: tuple[RedisLedger, RedisLedger],
) -> None:
    one, _ = pair

    stored = await asyncio.gather(*(one.enqueue(waiter=waiter(f"w{i}")) for i in range(500)))

    assert [known.id for known, _ in stored] == [f"w{i}" for i in range(500)]
    assert sorted(before for _, before in stored) == list(range(500))
    assert len(one.replica.waiters) == 500


async def test_a_caller_that_is_cancelled_leaves_the_answers_of_others_in_order(
    pair: tuple[RedisLedger, RedisLedger],
) -> None:
    one, _ = pair
    tasks = [asyncio.create_task(one.enqueue(waiter=waiter(f"w{i}"))) for i in range(100)]
    await asyncio.sleep(0)
    for task in tasks[::2]:
        task.cancel()

    done = await asyncio.gather(*tasks, return_exceptions=True)

    answered = [known[0].id for known in done if not isinstance(known, BaseException)]
    assert answered == [f"w{i}" for i in range(1, 100, 2)]
    await one.catch_up()
    assert set(answered) <= set(one.replica.waiters)


async def test_waiting_for_a_change_ends_with_the_change_or_with_the_time(
    pair: tuple[RedisLedger, RedisLedger],
) -> None:
    one, other = pair
    waiting = asyncio.create_task(other.wait_for_change(after=0, timeout_s=10))
    await configure(one, "gpu-1")
    async with asyncio.timeout(5):
        await waiting

    await other.wait_for_change(after=1, timeout_s=0.01)
    await other.wait_for_change(after=0, timeout_s=10)
    assert other.replica.version == 1


async def test_a_server_that_forgot_the_functions_is_taught_again(
    pair: tuple[RedisLedger, RedisLedger],
) -> None:
    one, _ = pair
    await configure(one, "gpu-1")
    with Redis.from_url(os.environ["REDIS_URL"]) as client:
        client.function_flush("SYNC")

    await configure(one, "gpu-2")

    assert set(one.replica.servers) == {"gpu-2"}


async def test_a_replica_that_fell_behind_the_trimmed_deltas_reads_everything_anew(
    pair: tuple[RedisLedger, RedisLedger], name: str
) -> None:
    one, other = pair
    await other._feed.close()
    for i in range(3):
        await configure(one, f"gpu-{i}")
    with Redis.from_url(os.environ["REDIS_URL"]) as client:
        client.xtrim(f"{root_of(name=name)}:deltas", maxlen=1)

    await other.catch_up()

    assert (other.replica.version, set(other.replica.servers)) == (3, {"gpu-2"})


async def test_cut_connections_are_made_again_and_nothing_is_missed(own: ValkeyServer) -> None:
    one, other = (RedisLedger(url=own.url, name="n", config=CONFIG) for _ in range(2))
    await one.start()
    await other.start()
    with Redis.from_url(own.url) as client:
        for round_ in range(5):
            client.execute_command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
            await _in_the_end(lambda number=round_: configure(one, f"gpu-{number}"))
    await until(other, one.replica.version)

    assert other.replica.servers == one.replica.servers
    await one.close()
    await other.close()


async def test_a_server_that_comes_back_empty_is_read_anew(own: ValkeyServer) -> None:
    """Its versions count from one again; no replica may take them for old ones."""
    one, other = (RedisLedger(url=own.url, name="n", config=CONFIG) for _ in range(2))
    await one.start()
    await other.start()
    for i in range(5):
        await configure(one, f"gpu-{i}")
    await until(other, 5)

    own.kill()
    own.start()
    await _in_the_end(lambda: configure(one, "new"))
    async with asyncio.timeout(10):
        while set(other.replica.servers) != {"new"}:
            await other.wait_for_change(after=other.replica.version, timeout_s=1)

    assert (one.replica.version, other.replica.version) == (1, 1)
    assert one.replica.servers == other.replica.servers
    await one.close()
    await other.close()


async def test_a_server_that_comes_back_from_its_files_goes_on_counting(tmp_path: Path) -> None:
    durable = ValkeyServer(folder=tmp_path, is_durable=True)
    durable.start()
    ledger = RedisLedger(url=durable.url, name="n", config=CONFIG)
    await ledger.start()
    await configure(ledger, "gpu-1")

    durable.kill()
    durable.start()
    await _in_the_end(lambda: configure(ledger, "gpu-1", "gpu-2"))

    assert (ledger.replica.version, set(ledger.replica.servers)) == (2, {"gpu-1", "gpu-2"})
    await ledger.close()
    durable.kill()


async def test_a_server_that_is_gone_is_said_to_be_at_once(own: ValkeyServer) -> None:
    ledger = RedisLedger(url=own.url, name="n", config=CONFIG, timeout_s=5)
    await ledger.start()
    own.kill()
    begun = time.monotonic()

    for _ in range(3):
        with pytest.raises(LedgerUnavailable):
            await ledger.renew(ticket="t1")

    assert time.monotonic() - begun < 2
    await ledger.close()


async def test_nobody_waits_for_a_server_that_answers_nothing(own: ValkeyServer) -> None:
    ledger = RedisLedger(url=own.url, name="n", config=CONFIG, timeout_s=SHORT_S)
    await ledger.start()
    own.freeze()
    begun = time.monotonic()

    results = await asyncio.gather(*(configure(ledger, f"gpu-{i}") for i in range(10)), return_exceptions=True)
    late = await asyncio.gather(configure(ledger, "late"), return_exceptions=True)

    assert {type(result) for result in (*results, *late)} == {LedgerUnavailable}
    assert time.monotonic() - begun < 3 * SHORT_S + 1
    own.thaw()
    await _in_the_end(lambda: configure(ledger, "gpu-1"))
    assert set(ledger.replica.servers) == {"gpu-1"}
    await ledger.close()


async def test_a_ledger_cannot_start_without_its_server(tmp_path: Path) -> None:
    ledger = RedisLedger(url=f"unix://{tmp_path}/nothing.sock", name="n", config=CONFIG)

    with pytest.raises(LedgerUnavailable):
        await ledger.start()
    await ledger.close()


async def _in_the_end(work: Callable[[], Awaitable[None]]) -> None:
    """Try until the server answers: what was under way when it went may fail."""
    async with asyncio.timeout(10):
        while True:
            try:
                await work()
                return
            except LedgerUnavailable:
                await asyncio.sleep(0.02)
