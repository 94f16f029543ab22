"""Keeps a process's replica at the ledger's present: own steps at once, those of others from the deltas of each step.

House rules: versions are applied one by one and in order; a gap, an unknown epoch (the server began anew), a lost
connection or an entry that cannot be read ends in a full reload, never in a guess. Whatever happens, the following goes
on; until a reload succeeds the replica stays what it was.
"""

import asyncio
import json
import logging
from collections.abc import Sequence
from typing import Any

from redis.exceptions import RedisError

from scheduler.core.replica import Replica
from scheduler.core.server_parts import whole_servers
from scheduler.ports import LedgerUnavailable
from scheduler.stores.bells import Bells
from scheduler.stores.link import Link

log = logging.getLogger(__name__)

PAGE = 500
RETRY_S = (0.05, 0.1, 0.2, 0.5, 1.0)
PAUSE_S = 0.001
"""Between two readings under load: they bring many entries at once, where each alone would cost a round trip."""
AT_ONCE = 10
AT_ONCE_PER_S = 200
"""So many readings go without a pause: a slot given back and given on, two entries, finds its caller sooner."""
Entry = Sequence[Any]


class ReplicaFeed:
    """Feeds one replica from one ledger."""

    def __init__(self, *, replica: Replica, link: Link, follower: Link, root: str, block_s: float) -> None:
        self.replica = replica
        self.bells = Bells(replica=replica)
        self.losses = 0
        self._link = link
        self._follower = follower
        self._root = root
        self._deltas = f"{root}:deltas"
        self._block_ms = int(block_s * 1000)
        self._epoch = b""
        self._cursor = b"0-0"
        self._is_torn = False
        self._at_once, self._read_at = float(AT_ONCE), 0.0
        self._moved = asyncio.Event()
        self._reading = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Load the replica and follow the deltas."""
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
        if epoch == self._epoch and version == self.replica.version + 1 and self._apply(version, deltas):
            return
        try:
            async with self._reading:
                if epoch != self._epoch or self._is_torn:
                    await self._read_on()
                elif version > self.replica.version:
                    await self._read_up_to(version)
        except LedgerUnavailable as problem:  # the step was carried out: its caller must hear its result
            log.warning("ledger_feed_behind problem=%s", problem)

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
        if self._is_torn:
            await self._reload(even_older=True)
            return
        known = await self._link.call("HMGET", f"{self._root}:meta", "version", "epoch")
        version, epoch = int(known[0] or 0), known[1]
        if epoch != self._epoch or version < self.replica.version or version > self.replica.version + 10 * PAGE:
            await self._reload()
            return
        await self._read_up_to(version)

    async def _read_up_to(self, version: int) -> None:
        while self.replica.version < version:
            page = await self._link.call("XRANGE", self._deltas, b"(" + self._cursor, "+", "COUNT", PAGE)
            if not self._take_page(page) or not page:
                break
        if self.replica.version < version:
            await self._reload()

    async def _reload(self, *, even_older: bool = False) -> None:
        """Read everything in one step.

        The follower may have been faster, so what is older than the replica is left alone; unless the server was gone:
        one that comes back from its files may have lost its last second, and counts the same versions again.
        """
        version, epoch, deltas, cursor = await self._link.run("read", root=self._root, args=("", "", "{}"))
        if epoch == self._epoch and version <= self.replica.version and not even_older:
            return
        try:
            rows = json.loads(deltas)
            Replica(config=self.replica.config).reset(version=version, deltas=rows)  # before anything is thrown away
        except Exception as problem:
            raise LedgerUnavailable(f"its documents cannot be read: {problem!r}") from problem
        self.replica.reset(version=version, deltas=rows)
        self._epoch, self._cursor, self._is_torn = epoch, cursor, False
        self._notify()
        self.bells.ring_all()

    def _take_page(self, page: Sequence[Entry]) -> bool:
        """Apply entries; False when the thread is lost."""
        for entry_id, fields in page:
            try:
                _, text = fields
                number, epoch, deltas = text.split(b"\n")
                version = int(number)
            except ValueError:
                log.warning("ledger_entry_unread id=%s", entry_id)
                self._is_torn = True  # reading on would find it again
                return False
            if epoch != self._epoch or version > self.replica.version + 1:
                return False
            if version == self.replica.version + 1 and not self._apply(version, deltas):
                return False
        if page and _order(page[-1][0]) > _order(self._cursor):
            self._cursor = page[-1][0]
        return True

    def _apply(self, version: int, deltas: bytes) -> bool:
        """Take one version in; False, and the replica is due for a reload, when it cannot be read."""
        try:
            rows = whole_servers(servers=self.replica.servers, deltas=json.loads(deltas))
            self.replica.apply(version=version, deltas=rows)
        except Exception:  # whoever wrote it, it must neither end the following nor fail the caller whose step it was
            log.exception("ledger_entry_unread version=%s", version)
            self._is_torn = True
            return False
        self._notify()
        self.bells.ring(rows)
        return True

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
            except Exception as problem:  # a follower that died would leave this process with a picture of the past
                if not lost:
                    self.losses += 1
                    is_known = isinstance(problem, LedgerUnavailable | RedisError)
                    log.warning("ledger_feed_lost problem=%s", problem, exc_info=None if is_known else problem)
                await asyncio.sleep(RETRY_S[min(lost, len(RETRY_S) - 1)])
                lost += 1

    async def _follow_once(self) -> None:
        answer = await self._follower.call(
            "XREAD", "COUNT", PAGE, "BLOCK", self._block_ms, "STREAMS", self._deltas, self._cursor
        )
        if answer is None:
            return
        if not self._take_page(answer[0][1]):
            await self.catch_up()
        await self._pause()

    async def _pause(self) -> None:
        now = asyncio.get_running_loop().time()
        self._at_once = min(self._at_once + (now - self._read_at) * AT_ONCE_PER_S, AT_ONCE)
        self._read_at = now
        if self._at_once >= 1:
            self._at_once -= 1
        else:
            await asyncio.sleep(PAUSE_S)


def _order(entry_id: bytes) -> tuple[int, int]:
    moment, _, number = entry_id.partition(b"-")
    return int(moment), int(number)
