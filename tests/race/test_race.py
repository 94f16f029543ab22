"""Over-commit is impossible, whatever dies at whatever moment (scheduling rules, section 5)."""

import asyncio
import itertools
import multiprocessing
import os
import random
import secrets
import signal
import time
from multiprocessing.context import ForkProcess

import pytest
from redis import Redis

from scheduler.core.replica import Replica
from scheduler.stores.ledger import RedisLedger
from tests.race import claimer
from tests.race.fleet import CONFIG, GROUP, KEY_LIMIT, LONGEST_LEASE_S, overfull, servers
from tests.race.referee import Referee

SECONDS = float(os.environ.get("KUBEMOOT_RACE_SECONDS", "15"))
PROCESSES = 8
KILL_EVERY_S = 0.4
FINISH_S = 20.0


class Arena:
    """The fighting processes. They are forked, before this process has any thread or loop: that takes milliseconds."""

    def __init__(self, *, url: str, name: str, seed: int) -> None:
        self.url = url
        self.name = name
        self.chance = random.Random(seed)
        self.numbers = itertools.count()
        self.context = multiprocessing.get_context("fork")
        self.living: dict[str, ForkProcess] = {}
        self.killed: set[str] = set()

    def start_one(self) -> None:
        """Start one more."""
        crew = f"crew{next(self.numbers)}"
        args = (self.url, self.name, crew, self.chance.randrange(2**32))
        self.living[crew] = process = self.context.Process(target=claimer.main, args=args, daemon=True)
        process.start()

    def kill_one(self) -> None:
        """Kill one without a word."""
        crew = self.chance.choice(sorted(self.living))
        process = self.living.pop(crew)
        process.kill()
        process.join()
        self.killed.add(crew)

    def finish(self) -> dict[str, int | None]:
        """Ask all that live to end; give how they did."""
        for process in self.living.values():
            process.terminate()
        deadline = time.monotonic() + FINISH_S
        for process in self.living.values():
            process.join(max(deadline - time.monotonic(), 0))
        return {crew: process.exitcode for crew, process in self.living.items()}

    def clear(self) -> None:
        """Leave nothing running."""
        for process in self.living.values():
            process.kill()
            process.join()


@pytest.mark.race
def test_eight_processes_that_are_killed_at_random_never_overcommit_and_lose_nobody() -> None:
    url, name, seed = os.environ["REDIS_URL"], f"race-{secrets.token_hex(6)}", secrets.randbits(32)
    asyncio.run(_register(url, name))
    arena = Arena(url=url, name=name, seed=seed)
    with Redis.from_url(url) as client:
        referee = Referee(client=client, name=name)
        try:
            for _ in range(PROCESSES):
                arena.start_one()
            _fight(arena, referee)
            for _ in range(PROCESSES // 2):
                arena.kill_one()
            ended = arena.finish()
        finally:
            arena.clear()
        time.sleep(LONGEST_LEASE_S + 0.1)
        left = asyncio.run(_reap(url, name))
        referee.read_on()
        too_full = overfull(client=client, name=name)

    print(f"seed={seed} versions={referee.replica.version} killed={len(arena.killed)} {dict(referee.counts)}")
    assert referee.violations == []
    assert referee.most_of_key == KEY_LIMIT
    assert referee.most_of_group == GROUP.max_concurrent
    assert too_full == 0
    assert set(ended.values()) <= {0, -signal.SIGTERM}  # the signal: it had not begun yet
    assert referee.lost() == []
    assert referee.lapsed_of_the_living(killed=arena.killed) == []
    assert (left.tickets, left.waiters, left.plans, left.intents) == ({}, {}, {}, {})
    assert referee.replica.tickets == {}
    assert min(referee.counts[kind] for kind in ("delivered", "load_done", "load_failed", "lapsed", "planned")) > 0


def _fight(arena: Arena, referee: Referee) -> None:
    deadline = time.monotonic() + SECONDS
    kill_at = time.monotonic() + KILL_EVERY_S
    while time.monotonic() < deadline:
        referee.read_on()
        if time.monotonic() >= kill_at:
            arena.kill_one()
            arena.start_one()
            kill_at = time.monotonic() + KILL_EVERY_S
        time.sleep(0.02)


async def _register(url: str, name: str) -> None:
    ledger = RedisLedger(url=url, name=name, config=CONFIG, timeout_s=30)
    await ledger.start()
    await ledger.configure(servers=servers(), footprints={}, weights={"crew0": 2.0})
    await ledger.close()


async def _reap(url: str, name: str) -> Replica:
    """Reap once, when every lease must be over, and give what is left."""
    ledger = RedisLedger(url=url, name=name, config=CONFIG, timeout_s=30)
    await ledger.start()
    await ledger.reap(now=time.time())
    await ledger.catch_up()
    await ledger.close()
    return ledger.replica
