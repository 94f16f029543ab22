"""Both ledgers say the same to the same questions, keep the same documents, and never promise what is not there."""

import asyncio
import secrets
from typing import Any

from hypothesis import given, settings

from scheduler.core.config import SchedulerConfig
from scheduler.core.invariants import check
from scheduler.core.ledger_docs import to_doc
from scheduler.ports import Ledger
from tests.contracts.conftest import redis_ledger, tables
from tests.contracts.operations import Player, operations
from tests.fakes.manual_clock import ManualClock
from tests.fakes.memory_ledger import MemoryLedger

CONFIG = SchedulerConfig(max_waiters=4, max_waiters_per_agent=2)


@settings(max_examples=60)
@given(steps=operations)
def test_whatever_happens_both_ledgers_agree_and_nothing_is_promised_twice(
    steps: list[tuple[str, tuple[int, ...]]],
) -> None:
    asyncio.run(_play(steps))


async def _play(steps: list[tuple[str, tuple[int, ...]]]) -> None:
    memory_clock, redis_clock = ManualClock(), ManualClock()
    real = redis_ledger(config=CONFIG, clock=redis_clock, name=f"eq-{secrets.token_hex(6)}")
    await real.start()
    try:
        players = (
            _player(MemoryLedger(config=CONFIG, clock=memory_clock), memory_clock),
            _player(real, redis_clock),
        )
        for player in players:
            await player.start()
        for name, args in steps:
            said = [rounded(await player.play(name, args)) for player in players]
            assert said[0] == said[1], name
            kept = [rounded(tables(player.ledger)) for player in players]
            assert kept[0] == kept[1], name
            assert check(real.replica.snapshot(now=redis_clock())) == (), name
        written = [await _events(player.ledger) for player in players]
        assert written[0] == written[1]
    finally:
        await real.close()


def _player(ledger: Ledger, clock: ManualClock) -> Player:
    return Player(ledger=ledger, now=clock, move=clock.advance)


async def _events(ledger: Ledger) -> Any:
    entries = await ledger.journal(after="", count=10_000)
    return [rounded(list(entry.events)) for entry in entries]


def rounded(value: Any) -> Any:
    """Make plain values of it, numbers to nine digits: the script language writes fourteen."""
    match to_doc(value):
        case bool() as truth:
            return truth
        case int() | float() as amount:
            return round(float(amount), 9)
        case dict() as mapping:
            return {key: rounded(item) for key, item in mapping.items()}
        case list() as items:
            return [rounded(item) for item in items]
        case other:
            return other
