"""The library of the ledger's functions: how a server comes to know it, and that no step leaves anything behind."""

import asyncio
import os
import re
import secrets
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from redis import Redis
from redis.exceptions import ResponseError

from scheduler.core.config import SchedulerConfig
from scheduler.core.ledger import ServerConfig
from scheduler.core.types import Waiter
from scheduler.ports import LedgerUnavailable, LineFull
from scheduler.stores.ledger import RedisLedger
from scheduler.stores.ledger_functions import BEFORE, FOLDER, SHARED, library
from scheduler.stores.link import Link
from tests.stores.valkey_server import ValkeyServer

CONFIG = SchedulerConfig()
SERVER = ServerConfig(name="gpu-1", kind="ollama", endpoint="http://gpu-1")
WAITER = Waiter(id="w-1", agent="a", candidates=(), arrived_at=1.0, limit_at=2.0)
OLDER = "kubemoot_older"
FOREIGN = "theirs"


@pytest.fixture
def own(tmp_path: Path) -> ValkeyServer:
    """Give a server of one's own, which is not running yet."""
    return ValkeyServer(folder=tmp_path)


@pytest.fixture
async def ledger() -> AsyncIterator[RedisLedger]:
    """Give a ledger of a new name on the run's server."""
    made = RedisLedger(url=os.environ["REDIS_URL"], name=secrets.token_hex(6), config=CONFIG)
    await made.start()
    yield made
    await made.close()


def known(client: Redis) -> list[str]:
    """List which of the libraries of these tests a server knows."""
    return [name for name in (library().name, OLDER, FOREIGN) if client.function_list(library=name)]


def teach(client: Redis, name: str) -> None:
    """Have a server learn a library with one function."""
    client.function_load(f"#!lua name={name}\nredis.register_function('{name}_f', function() return 1 end)")


def test_every_file_is_in_the_library_and_every_function_has_one_name():
    files = {path.stem for path in FOLDER.glob("*.lua")}
    parts = {*SHARED, *(part for before in BEFORE.values() for part in before)}
    registered = re.findall(r"register(?:_function)?\((?:PREFIX \.\. )?'(\w+)'", library().text)

    assert sorted(registered) == sorted(files - parts)
    assert library().name in library().text.splitlines()[0]
    assert library().function("commit") == f"{library().name}_commit"


async def test_a_server_keeps_the_functions_of_this_version_and_of_strangers(own):
    own.start()
    ledger = RedisLedger(url=own.url, name="x", config=CONFIG)
    try:
        with Redis.from_url(own.url, decode_responses=True) as client:
            teach(client, OLDER)
            teach(client, FOREIGN)
            await ledger.start()

            assert known(client) == [library().name, FOREIGN]

            await ledger.close()
            await ledger.start()
            assert known(client) == [library().name, FOREIGN]
    finally:
        await ledger.close()
        own.kill()


async def test_many_steps_at_once_teach_a_server_that_forgot(ledger):
    with Redis.from_url(os.environ["REDIS_URL"]) as client:
        client.function_flush("SYNC")

    stored = await asyncio.gather(*(ledger.enqueue(waiter=replace(WAITER, id=f"w-{n}")) for n in range(20)))

    assert len({waiter.id for waiter, _ in stored}) == 20
    assert len(ledger.replica.waiters) == 20


async def test_a_step_that_broke_off_leaves_nothing_to_the_next(ledger):
    """A library lives on between steps: what one has read or meant to write must not be the next one's."""
    await ledger.configure(servers=[SERVER], footprints={}, weights={})
    with pytest.raises(ResponseError):
        await ledger._step("publish", 2, '{"agent":"a","thread":"","models":["m"],"at":1.0}', "no document")

    await ledger.enqueue(waiter=WAITER)

    await ledger.catch_up()
    assert (ledger.replica.intents, ledger.replica.selected, set(ledger.replica.waiters)) == ({}, {}, {"w-1"})


async def test_each_ledger_has_limits_of_its_own(ledger):
    """The limits are read once for as long as they stay the same."""
    narrow = RedisLedger(url=os.environ["REDIS_URL"], name=secrets.token_hex(6), config=replace(CONFIG, max_waiters=1))
    try:
        for n in range(2):
            await ledger.enqueue(waiter=replace(WAITER, id=f"w-{n}"))
        await narrow.enqueue(waiter=WAITER)
        with pytest.raises(LineFull):
            await narrow.enqueue(waiter=replace(WAITER, id="w-2"))
        await ledger.enqueue(waiter=replace(WAITER, id="w-3"))
    finally:
        await narrow.close()


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("ERR unknown command 'FCALL', with args beginning with: 'x'", "Redis 7 or later, or Valkey"),
        ("NOPERM this user has no permissions to run the 'fcall' command", "no permissions"),
    ],
)
async def test_a_server_without_functions_is_told_of_plainly(monkeypatch, said, told):
    async def call(self: Link, *command: object) -> object:
        raise ResponseError(said)

    monkeypatch.setattr(Link, "call", call)

    with pytest.raises((LedgerUnavailable, ResponseError), match=told):
        await Link(url="redis://127.0.0.1", timeout_s=1).run("commit", root="km:{x}:10", args=())
