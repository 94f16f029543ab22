"""Keeps a process's replica at the ledger's present: own steps at once, those of others from the journal.

House rules: versions are applied one by one and in order; a gap, an unknown epoch (the server began anew) or a lost
connection ends in a full reload, never in a guess.
"""

import asyncio
import json
import logging
from collections.abc import Sequence
from typing import Any

from redis.exceptions import RedisError

from scheduler.core.replica import Replica
from scheduler.ports import LedgerUnavailable
from scheduler.stores.ledger_scripts import script
from scheduler.stores.link import Link

log = logging.getLogger(__name__)

PAGE = 500
RETRY_S = (0.05, 0.1, 0.2, 0.5, 1.0)
Entry = Sequence[Any]


class ReplicaFeed:
    """Feeds one replica from one ledger."""

    def __init__(self, *, replica: Replica, link: Link, follower: Link, root: str, block_s: float) -> None:
        self.replica = replica
        self._link = link
        self._follower = follower
        self._root = root
        self._journal = f"{root}:journal"
        self._block_ms = int(block_s * 1000)
        self._epoch = b""
        self._cursor = b"0-0"
        self._moved = asyncio.Event()
        self._reading = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Load the replica and follow the journal."""
        async with self._reading:
            await self._reload()
        self._task = asyncio.create_task(self._follow())

    async def close(self) -> None:
        """Stop following."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None

    async def take(self, *, version: int, epoch: bytes, deltas: bytes) -> None:
        """Take in a step of this process, with whatever others did before it."""
        if epoch == self._epoch and version <= self.replica.version:
            return
        if epoch == self._epoch and version == self.replica.version + 1:
            self._apply(version, deltas)
            return
        async with self._reading:
            if epoch != self._epoch or version > self.replica.version:
                await self._read_on()

    async def catch_up(self) -> None:
        """Bring the replica up to the ledger's present version."""
        async with self._reading:
            await self._read_on()

    async def wait_for_change(self, *, after: int, timeout_s: float) -> None:
        """Return once the replica is past a version or began anew, or when the time is over."""
        epoch = self._epoch
        try:
            async with asyncio.timeout(timeout_s):
                while self.replica.version <= after and self._epoch == epoch:
                    await self._moved.wait()
        except TimeoutError:
            return

    async def _read_on(self) -> None:
        known = await self._link.call("HMGET", f"{self._root}:meta", "version", "epoch")
        version, epoch = int(known[0] or 0), known[1]
        if epoch != self._epoch or version < self.replica.version or version > self.replica.version + 10 * PAGE:
            await self._reload()
            return
        while self.replica.version < version:
            page = await self._link.call("XRANGE", self._journal, b"(" + self._cursor, "+", "COUNT", PAGE)
            if not self._take_page(page) or not page:
                break
        if self.replica.version < version:
            await self._reload()

    async def _reload(self, *, even_older: bool = False) -> None:
        """Read everything in one step.

        The follower may have been faster, so what is older than the replica is left alone; unless the server was gone:
        one that comes back from its files may have lost its last second, and counts the same versions again.
        """
        version, epoch, deltas, cursor = await self._link.run(script("read"), root=self._root, args=("", "", "{}"))
        if epoch == self._epoch and version <= self.replica.version and not even_older:
            return
        self.replica.reset(version=version, deltas=json.loads(deltas))
        self._epoch, self._cursor = epoch, cursor
        self._notify()

    def _take_page(self, page: Sequence[Entry]) -> bool:
        """Apply journal entries; False when the thread is lost."""
        for entry_id, (_, text) in page:
            number, epoch, _, deltas, _ = text.split(b"\n")
            version = int(number)
            if epoch != self._epoch or version > self.replica.version + 1:
                return False
            if version == self.replica.version + 1:
                self._apply(version, deltas)
            if _order(entry_id) > _order(self._cursor):
                self._cursor = entry_id
        return True

    def _apply(self, version: int, deltas: bytes) -> None:
        self.replica.apply(version=version, deltas=json.loads(deltas))
        self._notify()

    def _notify(self) -> None:
        moved, self._moved = self._moved, asyncio.Event()
        moved.set()

    async def _follow(self) -> None:
        lost = 0
        while True:
            try:
                if lost:
                    async with self._reading:
                        await self._reload(even_older=True)
                    log.info("ledger_feed_back version=%s", self.replica.version)
                    lost = 0
                await self._follow_once()
            except (LedgerUnavailable, RedisError) as problem:
                if not lost:
                    log.warning("ledger_feed_lost problem=%s", problem)
                await asyncio.sleep(RETRY_S[min(lost, len(RETRY_S) - 1)])
                lost += 1

    async def _follow_once(self) -> None:
        answer = await self._follower.call(
            "XREAD", "COUNT", PAGE, "BLOCK", self._block_ms, "STREAMS", self._journal, self._cursor
        )
        if answer is not None and not self._take_page(answer[0][1]):
            await self.catch_up()


def _order(entry_id: bytes) -> tuple[int, int]:
    moment, _, number = entry_id.partition(b"-")
    return int(moment), int(number)
