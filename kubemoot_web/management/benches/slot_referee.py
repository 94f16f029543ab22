"""Counts, event by event as the journal tells them, how many calls hold a slot at once."""

import asyncio
from collections.abc import Callable
from pathlib import Path

from kubemoot_web.management.benches.own_valkey import ledger_on

PAGE = 1000
PAUSE_S = 0.05


class SlotReferee:
    """Replays the journal of one hot copy while others claim on it."""

    def __init__(self, *, path: Path, slots: int) -> None:
        self.granted = 0
        self.most = 0
        self.over_commits = 0
        self._path = path
        self._slots = slots
        self._held: set[object] = set()
        self._version = 0

    async def watch(self, *, until: Callable[[], bool]) -> None:
        """Read the journal until the others are done and there is nothing left to read.

        Raises:
            RuntimeError: the journal was cut before it was read, so that nothing can be said.
        """
        ledger, cursor = ledger_on(self._path), ""
        try:
            while True:
                is_last = until()
                while entries := await ledger.journal(after=cursor, count=PAGE):
                    for entry in entries:
                        self._take(entry.version, entry.events)
                    cursor = entries[-1].id
                if is_last:
                    return
                await asyncio.sleep(PAUSE_S)
        finally:
            await ledger.close()

    def _take(self, version: int, events: tuple[dict[str, object], ...]) -> None:
        if version != self._version + 1:
            raise RuntimeError(f"the journal was cut: {version} follows {self._version}")
        self._version = version
        for event in events:
            if event["type"] == "granted":
                self._held.add(event["ticket"])
                self.granted += 1
                self.most = max(self.most, len(self._held))
                self.over_commits += len(self._held) > self._slots
            elif event["type"] in ("released", "lapsed"):
                self._held.discard(event["ticket"])
