"""A ledger that only watches: its replica is fed by hand, and it can fall silent."""

import asyncio
from typing import Any

from scheduler.core import ledger_docs as docs
from scheduler.core.config import SchedulerConfig
from scheduler.core.replica import Replica
from scheduler.ports import LedgerUnavailable


class FedLedger:
    """As much of a ledger as a board needs."""

    def __init__(self) -> None:
        self.replica = Replica(config=SchedulerConfig())
        self.is_silent = False
        self._moved = asyncio.Event()

    def put(self, table: str, key: str, value: Any) -> None:
        """Change one document; None removes it."""
        doc = None if value is None else docs.to_doc(value)
        self.replica.apply(version=self.replica.version + 1, deltas=[(table, key, doc)])
        self._tell()

    def begin_anew(self) -> None:
        """Be a server that came back empty: versions count from one again."""
        self.replica.reset(version=1, deltas=[])
        self._tell()

    async def catch_up(self) -> None:
        """Answer, unless silent."""
        if self.is_silent:
            raise LedgerUnavailable("silent")

    async def wait_for_change(self, *, after: int, timeout_s: float) -> None:
        """Return once the replica is past a version."""
        try:
            async with asyncio.timeout(timeout_s):
                while self.replica.version <= after:
                    await self._moved.wait()
        except TimeoutError:
            return

    def _tell(self) -> None:
        moved, self._moved = self._moved, asyncio.Event()
        moved.set()
