"""What could not be told to the ledger while it was away, told once it is back.

Until then the ledger holds places of calls that have ended, and waits of calls that went on without it. Each of them
would be kept from others until its lease ends. And a server whose engine is in doubt must be taken out.
"""

from collections.abc import Awaitable, Callable, Collection
from contextlib import suppress

from scheduler.core.gate import Admission, AdmissionBy, AdmissionState, QuarantineCause
from scheduler.core.ledger import Outcome
from scheduler.ports import Ledger, UnknownServer

Withdraw = Callable[[str], Awaitable[None]]


class Owed:
    """Remembers it for one process. `withdraw` takes back whatever the ledger holds for a call that it lost."""

    def __init__(self, *, ledger: Ledger, withdraw: Withdraw) -> None:
        """Begin with nothing."""
        self._ledger = ledger
        self._withdraw = withdraw
        self._ended: dict[str, tuple[Outcome, float]] = {}
        self._left: set[str] = set()
        self._doubts: dict[str, Admission] = {}

    def ended(self, *, ticket: str, outcome: Outcome, at: float) -> None:
        """Remember that a call ended that the ledger had placed."""
        self._ended[ticket] = (outcome, at)

    def left(self, *, waiter: str) -> None:
        """Remember that the ledger may know of a call that goes on without it."""
        self._left.add(waiter)

    def doubt(self, *, server: str, cause: QuarantineCause, at: float) -> None:
        """Remember that nobody knows whether an engine still works on a call that the ledger never knew of."""
        self._doubts[server] = Admission(state=AdmissionState.QUARANTINED, since=at, by=AdmissionBy.SYSTEM, cause=cause)

    def is_anything(self, *, but: Collection[str]) -> bool:
        """Say whether there is anything to tell, but of those who still wait and may ask themselves."""
        return bool(self._ended or self._doubts or self._left.difference(but))

    @property
    def has_doubts(self) -> bool:
        """Say whether any such server is to be taken out."""
        return bool(self._doubts)

    async def tell(self, *, but: Collection[str]) -> None:
        """Tell it all, `but` of those who still wait; what was told is forgotten.

        Raises:
            LedgerUnavailable: it is away again.
        """
        for ticket, (outcome, at) in tuple(self._ended.items()):
            await self._ledger.release(ticket=ticket, outcome=outcome, now=at)
            self._ended.pop(ticket, None)
        for server, admission in tuple(self._doubts.items()):
            with suppress(UnknownServer):
                await self._ledger.admission_set(server=server, admission=admission, when=(AdmissionState.OPEN,))
            self._doubts.pop(server, None)
        for waiter in self._left.difference(but):
            await self._withdraw(waiter)
            self._left.discard(waiter)

    def forget(self) -> None:
        """Let go of the rest: whoever still waits asks the ledger from now on, all else lapses."""
        self._ended.clear()
        self._left.clear()
        self._doubts.clear()
