"""One bell for each caller that sleeps until its wait is over: what happens to others leaves it asleep.

House rules: a bell is hung up only where the replica says that the wait is not over, in the same breath; every change
of the replica is followed by `ring` or `ring_all` before anybody else runs. So no end of a wait can be missed.
"""

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any

from scheduler.core.replica import Replica
from scheduler.core.settling import is_settled


class Bells:
    """The sleeping callers of one replica, by the waiter whose end they wait for."""

    def __init__(self, *, replica: Replica) -> None:
        self.rung = 0
        self._replica = replica
        self._sleepers: dict[str, list[asyncio.Future[bool]]] = {}

    async def sleep(self, *, waiter: str, timeout_s: float) -> bool:
        """Sleep until the wait is over, and say so; False when the time is over first, or somebody is to look again."""
        if is_settled(replica=self._replica, waiter=waiter):
            return True
        bell: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._sleepers.setdefault(waiter, []).append(bell)
        try:
            async with asyncio.timeout(timeout_s):
                await bell
        except TimeoutError:
            return False
        finally:
            self._take_down(waiter, bell)
        return bell.result()

    def ring(self, deltas: Iterable[tuple[str, str, Mapping[str, Any] | None]]) -> None:
        """Wake the callers whose wait these changes, which the replica knows by now, have ended."""
        if not self._sleepers:
            return
        for table, key, doc in deltas:
            if table == "waiter":
                self._ring_for(key)
            elif table == "ticket" and doc is not None:
                self._ring_for(doc.get("waiter"))

    def ring_all(self) -> None:
        """Wake every caller whose wait is over, after the replica began anew."""
        for waiter in tuple(self._sleepers):
            self._ring_for(waiter)

    def wake(self, *, waiter: str) -> None:
        """Wake who sleeps until this wait is over, although it is not: the world has changed otherwise."""
        for bell in self._sleepers.get(waiter, ()):
            if not bell.done():
                bell.set_result(False)

    def _ring_for(self, waiter: str | None) -> None:
        if waiter not in self._sleepers or not is_settled(replica=self._replica, waiter=waiter):
            return
        for bell in self._sleepers[waiter]:
            if not bell.done():
                bell.set_result(True)
                self.rung += 1

    def _take_down(self, waiter: str, bell: asyncio.Future[bool]) -> None:
        bells = self._sleepers[waiter]
        bells.remove(bell)
        if not bells:
            del self._sleepers[waiter]
