"""The tickets that this process holds for calls under way, renewed before they lapse."""

import asyncio
import contextlib
import logging
from collections.abc import Callable
from dataclasses import dataclass

from scheduler.core.config import SchedulerConfig
from scheduler.core.types import Ticket
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


@dataclass(slots=True)
class _Held:
    """A ticket, its call's progress, whom to tell when it is lost, and whether its call goes on without the ledger.

    `losses` is how often the ledger had been lost when it was last known to be held.
    """

    ticket: Ticket
    progress: Progress
    on_lapse: Callable[[], None]
    goes_on: bool
    losses: int
    is_orphan: bool = False


class HeldTickets:
    """Renews what is held. One object belongs to one event loop; it works only while anything is held."""

    def __init__(self, *, ledger: Ledger, config: SchedulerConfig) -> None:
        """Prepare; nothing is held yet."""
        self._ledger = ledger
        self._every_s = config.ticket_lease_s / RENEWALS_PER_LEASE
        self._held: dict[str, _Held] = {}
        self.on_unreachable: Callable[[LedgerUnavailable], None] = lambda _: None
        self._task: asyncio.Task[None] | None = None

    def hold(self, *, ticket: Ticket, progress: Progress, on_lapse: Callable[[], None], goes_on: bool) -> None:
        """Keep a ticket until it is let go of, telling the ledger how its call progresses.

        `on_lapse` is told once when the ledger has taken the ticket back meanwhile. Of a call that `goes_on` without
        the ledger it is not told where both were lost together: the call is this process's own from then on.
        """
        self._held[ticket.id] = _Held(ticket, progress, on_lapse, goes_on, self._ledger.losses)
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._renew_all(), name="held tickets")

    def hand_over(self, *, ticket: str, on_lapse: Callable[[], None]) -> None:
        """Keep a ticket for somebody else from now on, who is told instead when the ledger takes it back."""
        self._held[ticket].on_lapse = on_lapse

    def tickets(self) -> tuple[Ticket, ...]:
        """List what is held."""
        return tuple(held.ticket for held in self._held.values())

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
        held = self._held.get(ticket)
        if held is None or held.is_orphan:
            return  # let go of since this round began, or nobody's but ours
        losses, progress = self._ledger.losses, held.progress
        try:
            await self._ledger.renew(ticket=ticket, progress_at=progress.at if progress.is_told else None)
            held.losses = losses
        except TicketGone:
            if held.goes_on and held.losses != self._ledger.losses:
                held.is_orphan = True
            elif self._held.pop(ticket, None) is not None:
                held.on_lapse()
        except LedgerUnavailable as problem:
            self.on_unreachable(problem)
            return  # nobody else can take the place either; the next round asks again
        except Exception:  # whatever it is: one ticket's trouble must not end the renewing of all
            log.exception("the ticket %s was not renewed", ticket)
