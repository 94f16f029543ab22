"""A caller leaves a call at an engine that works on: its place is kept, in the background, until the engine ends.

House rules: whoever leaves waits for nothing; what the engine still sends is read, so that it can end, and thrown away;
the place is renewed like any other, and given back when the engine ends, or after the server's `callTimeoutSeconds`; a
process that stops gives none of these places back, for nobody would know whether their engines still work: they lapse.
"""

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, replace
from typing import Any, Protocol

from providers.core.relaying import RelayAnswer, RelayFailed
from scheduler.core.admission.ambiguity import lost_by
from scheduler.core.gate import QuarantineCause
from scheduler.core.ledger import LeftChange, Outcome, ServerConfig
from scheduler.ports import LedgerUnavailable
from scheduler.services.held import Progress
from scheduler.services.placing import Doors, give_back


class Contact(Protocol):
    """A connection to an engine that may be read to the end of its answer."""

    async def piece(self) -> bytes:
        """Wait for the next piece of the answer; empty at its end.

        Raises:
            RelayFailed: the engine died, or fell silent for too long.
        """
        ...

    def close(self) -> None:
        """End the connection."""
        ...


class Opening:
    """A request on its way to an engine, sent in a task of its own: whoever waits for its answer may go."""

    def __init__(self, *, send: Callable[[Callable[[], None]], Coroutine[Any, Any, RelayAnswer]]) -> None:
        """Send a request; `send` tells what it is handed when the request goes out."""
        self.is_sent = False
        self._task = asyncio.get_running_loop().create_task(send(self._sent), name="opening")

    async def head(self) -> RelayAnswer:
        """Wait for the head of the answer. Cancelling leaves the request where it is.

        Raises:
            RelayFailed: there is no answer.
        """
        return await asyncio.shield(self._task)

    async def piece(self) -> bytes:
        """Wait for the next piece of the answer; empty at its end.

        Raises:
            RelayFailed: there is no answer, or not to its end.
        """
        return await (await self.head()).piece()

    def close(self) -> None:
        """End the connection, also one that is still being made."""
        if not self._task.done():
            self._task.cancel()
        elif not self._task.cancelled() and self._task.exception() is None:
            self._task.result().close()

    def _sent(self) -> None:
        self.is_sent = True


async def let_go(
    *,
    doors: Doors,
    ticket: str,
    config: ServerConfig,
    contact: Contact | None,
    is_at_work: bool,
    progress: Progress,
    outcome: Outcome,
) -> None:
    """Close the connection to an engine, then give the place back, even if whoever waits for that goes away.

    `is_at_work`: it may be for all that is known. Then the place that is still held at an engine that works on without
    its caller is kept in the background, and this returns at once.
    """
    if contact is not None:
        if is_at_work and not config.aborts_on_disconnect and _is_kept(doors, ticket):
            left = _Left(
                ticket=ticket, contact=contact, progress=progress, outcome=outcome, limit_s=config.call_timeout_s
            )
            _leave(doors, left)
            return
        contact.close()
    doors.held.let_go(ticket=ticket)
    await give_back(doors=doors, ticket=ticket, outcome=outcome)


def _is_kept(doors: Doors, ticket: str) -> bool:
    """Say whether a place is still its call's: given by the ledger and not taken back, or by this process."""
    return doors.held.holds(ticket=ticket) or doors.local.record_of(ticket=ticket) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Left:
    """A call that its caller has left: its ticket, its engine's connection, and what to tell of it at its end."""

    ticket: str
    contact: Contact
    progress: Progress
    outcome: Outcome
    limit_s: float


def _leave(doors: Doors, left: _Left) -> None:
    """Keep the place of a call until its engine ends, `limit_s` seconds at the most."""

    def on_end() -> None:
        left.contact.close()
        doors.held.let_go(ticket=left.ticket)

    stop = doors.left.keep(work=_work_on(doors, left), on_end=on_end)
    if stop is not None and doors.held.holds(ticket=left.ticket):
        doors.held.hand_over(ticket=left.ticket, on_lapse=stop)


async def _work_on(doors: Doors, left: _Left) -> None:
    if doors.held.holds(ticket=left.ticket):
        with contextlib.suppress(LedgerUnavailable):  # the place is kept all the same, only nobody sees why
            await doors.ledger.commit(changes=[LeftChange(ticket=left.ticket)], now=doors.now())
    outcome = left.outcome
    try:
        async with asyncio.timeout(left.limit_s):
            while await left.contact.piece():
                left.progress.at = doors.now()
    except TimeoutError:
        outcome = replace(outcome, ambiguity=QuarantineCause.AMBIGUOUS_TIMEOUT)
    except RelayFailed as error:
        outcome = replace(outcome, ambiguity=lost_by(error.trouble))
    left.contact.close()
    doors.held.let_go(ticket=left.ticket)
    await give_back(doors=doors, ticket=left.ticket, outcome=outcome)
