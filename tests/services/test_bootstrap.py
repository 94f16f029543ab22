"""A process's runtime: started once, by whoever asks first, and again after a failure."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from django.conf import settings

from scheduler import bootstrap
from scheduler.ports import LedgerUnavailable

NOBODY = "unix:///nowhere/valkey.sock"


@pytest.fixture(autouse=True)
async def closed() -> AsyncIterator[None]:
    """Leave nothing running."""
    yield
    await bootstrap.close()


async def test_all_who_ask_at_once_get_the_same_one():
    found = await asyncio.gather(*(bootstrap.runtime() for _ in range(20)))

    assert len({id(runtime) for runtime in found}) == 1


async def test_all_who_ask_while_the_ledger_is_away_hear_why_and_the_next_one_starts_it(monkeypatch):
    """Those who had waited for somebody else's start were told that they had been cancelled."""
    with monkeypatch.context() as away:
        away.setattr(settings, "REDIS_URL", NOBODY)
        results = await asyncio.gather(*(bootstrap.runtime() for _ in range(5)), return_exceptions=True)

    assert {type(result) for result in results} == {LedgerUnavailable}
    assert (await bootstrap.runtime()).ledger.replica.version >= 0


async def test_a_caller_that_goes_away_takes_the_start_from_nobody():
    first = asyncio.create_task(bootstrap.runtime())
    second = asyncio.create_task(bootstrap.runtime())
    await asyncio.sleep(0)

    first.cancel()

    assert (await second).ledger.replica.version >= 0
    assert await bootstrap.runtime() is await second


async def test_the_board_says_that_it_knows_nothing_while_the_ledger_is_away(monkeypatch, tmp_path: Path):
    monkeypatch.setattr(settings, "REDIS_URL", f"unix://{tmp_path}/nothing.sock")

    assert await bootstrap.replica() is None


async def test_a_process_that_stops_ends_what_goes_on_for_callers_that_left():
    stopped, ended = asyncio.Event(), asyncio.Event()

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            stopped.set()
            raise

    runtime = await bootstrap.runtime()
    runtime.doors.left.keep(work=work(), on_end=ended.set)
    await asyncio.sleep(0)

    await bootstrap.close()

    assert (stopped.is_set(), ended.is_set()) == (True, True)
