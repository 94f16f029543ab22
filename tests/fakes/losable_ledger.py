"""A ledger in memory that can be lost and found again."""

import asyncio
import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any

from scheduler.ports import LedgerUnavailable
from tests.fakes.memory_ledger import MemoryLedger

LOCAL = {"start", "close", "wait_for_change", "wait_until_settled"}
"""What asks nobody."""


class LosableLedger(MemoryLedger):
    """While it `is_away`, every question fails; `asked` counts those. One that `is_far` answers a little later."""

    is_away = False
    is_far = False
    asked = 0

    def lose(self) -> None:
        """Go away."""
        self.is_away = True
        self.losses += 1

    def come_back(self) -> None:
        """Answer again, with everything as it was."""
        self.is_away = False


def _failing(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    async def asked(self: LosableLedger, **what: Any) -> Any:
        if self.is_away:
            self.asked += 1
            raise LedgerUnavailable("Connection refused")
        if self.is_far:
            await asyncio.sleep(0)
        answer = await method(self, **what)
        if self.is_far:
            await asyncio.sleep(0)
        if self.is_far and self.is_away:
            raise LedgerUnavailable("The answer was lost")
        return answer

    return asked


for _name, _method in inspect.getmembers(MemoryLedger, inspect.iscoroutinefunction):
    if not _name.startswith("_") and _name not in LOCAL:
        setattr(LosableLedger, _name, _failing(_method))
