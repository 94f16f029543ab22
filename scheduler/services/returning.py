"""How this process notices that the ledger is back, and what it tells it before anything is placed there again."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection

from scheduler.ports import Ledger, LedgerUnavailable
from scheduler.services.owed import Owed

log = logging.getLogger(__name__)

LOOK_AGAIN_S = 0.5
"""How often it is looked whether the ledger answers again."""
MOST_BLIND_LOOKS = 60
"""So often a ledger that answers, and does not know yet what its servers hold, is given time to see them."""


class LedgerBack(Exception):
    """The ledger answers again: whoever waited here asks it."""


class Returning:
    """Looks for one process. `on_back` brings what is registered into a ledger that may have begun anew."""

    def __init__(
        self,
        *,
        ledger: Ledger,
        owed: Owed,
        on_back: Callable[[], Awaitable[object]],
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """Prepare; nothing is looked at yet."""
        self._ledger = ledger
        self._owed = owed
        self._on_back = on_back
        self._pause = pause

    async def wait(self, *, servers: Collection[str], waiting: Callable[[], Collection[str]]) -> None:
        """Return once the ledger can place calls: it answers, is told what it is owed, and has seen these servers.

        `waiting` are the calls that still wait here: they will ask it themselves.
        """
        blind = 0
        while True:
            if await self._answers(waiting()):
                if blind < MOST_BLIND_LOOKS and not self._has_seen(servers):
                    blind += 1
                elif not self._owed.is_anything(but=waiting()):
                    return
                else:
                    continue  # somebody who waited was served here while it was told
            await self._pause(LOOK_AGAIN_S)

    async def _answers(self, waiting: Collection[str]) -> bool:
        try:
            await self._ledger.catch_up()
            await self._owed.tell(but=waiting)
            await self._on_back()
        except LedgerUnavailable:
            return False
        except Exception:  # whatever else is wrong: a ledger that answers decides from now on
            log.exception("ledger_back_untidy")
            self._owed.forget()
        return True

    def _has_seen(self, servers: Collection[str]) -> bool:
        """Say whether the ledger knows what is in memory: one that begins anew would send calls away until it does."""
        known = self._ledger.replica.servers
        return all(known[name].seen.probed_at is not None for name in servers if name in known)
