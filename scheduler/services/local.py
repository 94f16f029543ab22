"""Places that this process gives by itself while the ledger cannot be reached, on servers whose operator said `local`.

It begins when the ledger fails somebody, and ends as soon as it answers again. By the last picture of these servers,
calls get the models that were in memory there, within the server's own slots and cap. What this process holds by
tickets of the ledger counts; what other processes run does not. Whoever finds no place waits in a line of this process.

House rules: one event loop decides, and a place is taken in the same breath in which it is found free; whoever leaves
takes nothing along; a call that began here ends here, also once the ledger is back.
"""

import asyncio
import logging
from bisect import insort
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace

from scheduler.core.admission.local import (
    LocalState,
    has_room_beside,
    local_picture,
    local_ticket,
    served_locally,
    without,
)
from scheduler.core.attempt_history import AttemptOutcome, outcome_of_end
from scheduler.core.decisions import Reason
from scheduler.core.granting import ticket_id
from scheduler.core.ledger import CallEnd, Outcome, ServerRecord, Settled
from scheduler.core.server import Server
from scheduler.core.types import Priority, Ticket, Waiter
from scheduler.ports import Clock, Ledger, LedgerUnavailable, LineFull
from scheduler.services.held import HeldTickets
from scheduler.services.owed import Owed, Withdraw
from scheduler.services.returning import LedgerBack, Returning

log = logging.getLogger(__name__)

MOST_WAITING = 64
NOTHING: Mapping[str, ServerRecord] = {}


@dataclass(frozen=True, slots=True, order=True)
class _Waiting:
    """Somebody in the local line, interactive before background, then first come first served."""

    is_background: bool
    arrived_at: float
    number: int
    waiter: Waiter = field(compare=False)
    place: "asyncio.Future[Ticket]" = field(compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Picture:
    """The servers that go on by themselves, as they were when the ledger was lost."""

    servers: Mapping[str, Server]
    records: Mapping[str, ServerRecord]


class LocalPlaces:
    """The calls of one event loop that the ledger knows nothing of.

    `on_back` brings what is registered into a ledger that may have begun anew, and has it plan; `withdraw` takes back
    what it may still hold for a call that it lost.
    """

    def __init__(
        self,
        *,
        ledger: Ledger,
        held: HeldTickets,
        now: Clock,
        on_back: Callable[[], Awaitable[object]],
        withdraw: Withdraw,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.ended: Counter[tuple[str, AttemptOutcome]] = Counter()
        self._ledger = ledger
        self._held = held
        self._now = now
        self._owed = Owed(ledger=ledger, withdraw=withdraw)
        self._returning = Returning(ledger=ledger, owed=self._owed, on_back=on_back, pause=pause)
        self._picture: _Picture | None = None
        self._running: dict[str, tuple[Ticket, ServerRecord]] = {}
        self._line: list[_Waiting] = []
        self._asking: dict[str, Waiter] = {}
        self._number = 0
        self._watch: asyncio.Task[None] | None = None
        self._is_closed = False
        held.on_unreachable = self.lost

    @property
    def is_on(self) -> bool:
        """Say whether places are given here."""
        return self._picture is not None

    @property
    def records(self) -> Mapping[str, ServerRecord]:
        """Give the servers that places are given on."""
        return NOTHING if self._picture is None else self._picture.records

    def state(self) -> LocalState:
        """Tell how it stands."""
        return LocalState(
            is_on=self.is_on,
            servers=tuple(sorted(self.records)),
            running=Counter(ticket.server for ticket, _ in self._running.values()),
            waiting=len(self._line),
        )

    def record_of(self, *, ticket: str) -> ServerRecord | None:
        """Give the server of a place that was given here; None where it was not."""
        known = self._running.get(ticket)
        return None if known is None else known[1]

    def serves(self, *, waiter: Waiter) -> bool:
        """Say whether a call can have a place here now, sooner or later."""
        return self._picture is not None and served_locally(picture=self._picture.servers, waiter=waiter) is not None

    def has_room_for(self, *, ticket: Ticket) -> bool:
        """Say whether a ticket of the ledger, which came when it was lost already, still has room beside our calls."""
        if self._picture is None:
            return True
        return has_room_beside(picture=self._picture.servers, own=self._own(), ticket=ticket, now=self._now())

    @contextmanager
    def asking(self, *, waiter: Waiter) -> Iterator[None]:
        """Know that a call asks the ledger: the place it is given counts, and it is told when the ledger is lost."""
        self._asking[waiter.id] = waiter
        try:
            yield
        except asyncio.CancelledError:
            if self._picture is not None:  # the ledger could not be told that it left
                self._owed.left(waiter=waiter.id)
            raise
        finally:
            del self._asking[waiter.id]

    def lost(self, problem: LedgerUnavailable) -> None:
        """Take in that the ledger failed somebody: from now on places are given here, where a server says so."""
        replica = self._ledger.replica
        if self._picture is not None or not replica.local_servers or self._is_closed:
            return
        servers = local_picture(snapshot=replica.snapshot(now=self._now()), records=replica.servers)
        records = {name: replica.servers[name] for name, server in servers.items() if server.is_open}
        if not records:
            return
        self._picture = _Picture(servers=servers, records=records)
        self._watch = asyncio.get_running_loop().create_task(self._look(), name="whether the ledger is back")
        log.warning("local_places_begin servers=%s problem=%s", ",".join(sorted(records)), problem)
        self._call_over()

    async def place(
        self, *, waiter: Waiter, wait_s: float, problem: LedgerUnavailable | None, is_known: bool
    ) -> Settled:
        """Give a call a place, waiting for one at most `wait_s` seconds.

        `problem`: the ledger has just failed it; `is_known`: it may still know of it.

        Raises:
            LedgerUnavailable: the problem, where it cannot be served here.
            LedgerBack: the ledger answers again.
            LineFull: too many calls wait here already.
        """
        if problem is not None:
            self.lost(problem)
        mine = None if self._picture is None else served_locally(picture=self._picture.servers, waiter=waiter)
        if mine is None:
            assert problem is not None
            raise problem
        if is_known:
            self._owed.left(waiter=waiter.id)
        self._number += 1
        is_background = mine.priority is Priority.BACKGROUND
        entry = _Waiting(is_background, mine.arrived_at, self._number, mine, asyncio.get_running_loop().create_future())
        insort(self._line, entry)
        self.serve()
        if len(self._line) > MOST_WAITING and not entry.place.done():
            self._line.remove(entry)
            raise LineFull(limit=MOST_WAITING)
        return await self._waited(entry, wait_s)

    def serve(self) -> None:
        """Give the places that are free now to those who wait, first come first served."""
        if self._picture is None:
            return
        for entry in tuple(self._line):
            found = None if entry.place.done() else self._found(entry)  # done: its caller is just leaving
            if isinstance(found, Ticket):
                self._running[found.id] = (found, self._picture.records[found.server])
                self._line.remove(entry)
                entry.place.set_result(found)

    def end(self, *, ticket: str, outcome: Outcome) -> bool:
        """Give a place back that was given here; False where it was not."""
        known = self._running.pop(ticket, None)
        if known is None:
            return False
        server, config = known[0].server, known[1].config
        end = CallEnd.ERROR if outcome.end is None else outcome.end
        self.ended[server, outcome_of_end(end=end, has_started=True)] += 1
        if outcome.ambiguity is not None and config.quarantine_on_ambiguous:
            self._owed.doubt(server=server, cause=outcome.ambiguity, at=self._now())
            if self._picture is not None and server in self._picture.servers:
                self._picture = replace(self._picture, servers=without(picture=self._picture.servers, server=server))
        self.serve()
        return True

    @property
    def has_doubts(self) -> bool:
        """Say whether servers came into doubt since the ledger is back."""
        return self._picture is None and self._owed.has_doubts

    async def tell_owed(self) -> None:
        """Tell the ledger that is back what came up since; what cannot be told now is told when it is back again."""
        with suppress(LedgerUnavailable):
            await self._owed.tell(but=())

    def unsaid(self, *, ticket: str, outcome: Outcome, problem: LedgerUnavailable) -> None:
        """Take in that a place could not be given back to the ledger: it hears of it when it is back.

        Where no server goes on without it nobody looks for that: the place lapses within its lease.
        """
        self.lost(problem)
        if self._picture is not None:
            self._owed.ended(ticket=ticket, outcome=outcome, at=self._now())

    async def close(self) -> None:
        """Stop looking whether the ledger is back, and begin nothing any more: it is let go of next."""
        self._is_closed = True
        if self._watch is not None:
            self._watch.cancel()
            await asyncio.gather(self._watch, return_exceptions=True)

    async def _waited(self, entry: _Waiting, wait_s: float) -> Settled:
        try:
            async with asyncio.timeout(wait_s):
                await entry.place
        except TimeoutError:
            if entry.place.cancelled():
                return Settled(reason=self._why_not(entry), model=entry.waiter.candidates[0].model)
        except asyncio.CancelledError:
            if not entry.place.cancelled():
                await self._left_at_last(entry)
            raise
        finally:
            if entry in self._line:
                self._line.remove(entry)
        ticket = entry.place.result()
        return Settled(ticket=ticket, model=ticket.model, waited_s=max(self._now() - ticket.arrived_at, 0.0))

    async def _left_at_last(self, entry: _Waiting) -> None:
        """Take back what a caller was given in the very moment it left: its place, or the ledger, which may know it."""
        if entry.place.exception() is None:
            self.end(ticket=entry.place.result().id, outcome=Outcome(ok=False, end=CallEnd.CANCELLED))
            return
        self._owed.left(waiter=entry.waiter.id)
        await asyncio.shield(self.tell_owed())

    def _why_not(self, entry: _Waiting) -> Reason:
        found = self._found(entry) if self._picture is not None else None
        return found if isinstance(found, Reason) else Reason.GPU_BUSY

    def _found(self, entry: _Waiting) -> Ticket | Reason:
        assert self._picture is not None
        return local_ticket(picture=self._picture.servers, own=self._own(), waiter=entry.waiter, now=self._now())

    def _own(self) -> tuple[Ticket, ...]:
        """List the calls of this process: begun here, by tickets of the ledger, and those that it is just given."""
        known = {ticket.id: ticket for ticket, _ in self._running.values()}
        known |= {ticket.id: ticket for ticket in self._held.tickets()}
        granted = self._ledger.replica.tickets
        asked = [ticket_id(waiter=waiter) for waiter in self._asking]
        known |= {id: granted[id] for id in asked if id in granted}
        return tuple(known.values())

    def _call_over(self) -> None:
        """Have those who sleep until the ledger places them ask it now, and come over: as many as may wait here."""
        assert self._picture is not None
        servers = self._picture.servers
        able = (each for each in self._asking.values() if served_locally(picture=servers, waiter=each) is not None)
        in_order = sorted(able, key=lambda each: (each.priority is Priority.BACKGROUND, each.arrived_at))
        for waiter in in_order[: max(MOST_WAITING - len(self._line), 0)]:
            self._ledger.wake(waiter=waiter.id)

    async def _look(self) -> None:
        """Wait until the ledger is back, then leave the placing to it."""
        await self._returning.wait(servers=self.records, waiting=lambda: [entry.waiter.id for entry in self._line])
        log.warning("local_places_end running=%s waiting=%s", len(self._running), len(self._line))
        self._picture, self._watch = None, None
        self._owed.forget()
        line, self._line = self._line, []
        for entry in line:
            if not entry.place.done():
                entry.place.set_exception(LedgerBack())
