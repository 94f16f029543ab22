"""The tickets that this process holds for calls under way, renewed before they lapse."""

import asyncio
import contextlib
import logging
from collections.abc import Callable

from scheduler.core.config import SchedulerConfig
from scheduler.ports import Ledger, LedgerUnavailable, TicketGone

log = logging.getLogger(__name__)

RENEWALS_PER_LEASE = 3
AT_ONCE = 100


class Progress:
    """When the engine of a held call sent something last; before it did, when the call was sent to it.

    `is_told` False: an answer that comes whole is silent until it is there, and its silence means nothing.
    """

    __slots__ = ("at", "is_told")

    def __init__(self, *, at: float, is_told: bool) -> None:
        self.at = at
        self.is_told = is_told


class HeldTickets:
    """Renews what is held. One object belongs to one event loop; it works only while anything is held."""

    def __init__(self, *, ledger: Ledger, config: SchedulerConfig) -> None:
        """Prepare; nothing is held yet."""
        self._ledger = ledger
        self._every_s = config.ticket_lease_s / RENEWALS_PER_LEASE
        self._held: dict[str, tuple[Progress, Callable[[], None]]] = {}
        self._task: asyncio.Task[None] | None = None

    def hold(self, *, ticket: str, progress: Progress, on_lapse: Callable[[], None]) -> None:
        """Keep a ticket until it is let go of, telling the ledger how its call progresses.

        `on_lapse` is told once when the ledger has taken the ticket back meanwhile.
        """
        self._held[ticket] = (progress, on_lapse)
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._renew_all(), name="held tickets")

    def let_go(self, *, ticket: str) -> None:
        """Stop renewing a ticket."""
        self._held.pop(ticket, None)

    def holds(self, *, ticket: str) -> bool:
        """Say whether a ticket is kept: neither let go of, nor taken back by the ledger as far as is known."""
        return ticket in self._held

    async def close(self) -> None:
        """Stop renewing anything."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    async def _renew_all(self) -> None:
        while True:
            await asyncio.sleep(self._every_s)
            if not self._held:
                self._task = None
                return
            held = list(self._held)
            for first in range(0, len(held), AT_ONCE):
                await asyncio.gather(*map(self._renew, held[first : first + AT_ONCE]))

    async def _renew(self, ticket: str) -> None:
        if ticket not in self._held:
            return  # let go of since this round began
        progress, on_lapse = self._held[ticket]
        try:
            await self._ledger.renew(ticket=ticket, progress_at=progress.at if progress.is_told else None)
        except TicketGone:
            if self._held.pop(ticket, None) is not None:
                on_lapse()
        except LedgerUnavailable:
            return  # nobody else can take the place either; the next round asks again
        except Exception:  # whatever it is: one ticket's trouble must not end the renewing of all
            log.exception("the ticket %s was not renewed", ticket)
