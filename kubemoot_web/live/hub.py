"""Draws the board once per process, however many look at it, and hands everybody what is new.

It is driven by this process's own copy of the ledger, so nothing has to be sent between processes for a board to move:
no group can expire, no message can be dropped on the way. It works only while somebody looks.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from time import thread_time
from weakref import WeakKeyDictionary

from channels.db import database_sync_to_async
from django.db import Error as DatabaseProblem

from kubemoot_web.board.choices import SHOWN
from kubemoot_web.board.ledger_problem import ledger_problem
from kubemoot_web.board.picture import Drawn, picture_of
from kubemoot_web.live.shelf import Shelf
from scheduler import bootstrap, queries
from scheduler.core.call_history import CallRecord
from scheduler.core.config import SchedulerConfig
from scheduler.ports import Clock, Ledger, LedgerUnavailable
from scheduler.services.local import LocalPlaces

log = logging.getLogger(__name__)

FRAME_S = 0.125
"""The least time between two pictures."""
PAUSES_PER_DRAWING = 4
"""A picture that took long is followed by a pause so many times as long: other work in this process comes first. What
such work took meanwhile does not count: sending to a thousand boards would hold the next picture up."""
CLOCK_S = 1.0
"""After how long ages, estimates and history are looked at although nothing happened."""
PULSE_S = 5.0
"""How often a reader hears something at the least."""

RecentCalls = Callable[[], Awaitable[Sequence[CallRecord]]]


class Hub:
    """One drawing task and its readers, in one event loop."""

    def __init__(
        self,
        *,
        ledger: Ledger,
        local: LocalPlaces,
        config: SchedulerConfig,
        now: Clock,
        recent_calls: RecentCalls,
    ) -> None:
        self.ledger = ledger
        self._local = local
        self.shelf = Shelf()
        self._config = config
        self._now = now
        self._recent_calls = recent_calls
        self._calls: Sequence[CallRecord] = ()
        self._problem = ""
        self._drawn: dict[str, Drawn] = {}
        self._version = -1
        self._due: dict[str, float] = {}
        self._moved = asyncio.Event()
        self._readers = 0
        self._task: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def open(self) -> AsyncIterator["Reader"]:
        """Let somebody look. The first one starts the drawing, the last one ends it."""
        self._readers += 1
        if self._task is None:
            self._task = asyncio.create_task(self._draw(), name="board")
        try:
            yield Reader(hub=self)
        finally:
            self._readers -= 1
            if not self._readers:
                task, self._task = self._task, None
                task.cancel()
                self.shelf = Shelf()  # whoever comes next must not be shown what was true when the last one left
                await asyncio.gather(task, return_exceptions=True)

    async def refresh(self) -> float:
        """Draw the present, and wake whoever waits for something new. Gives the processor's seconds it took."""
        if self._is_due("calls", CLOCK_S):
            await self._read_calls()
        if self.ledger.replica.version != self._version:
            self._problem = ""  # whoever is told of changes need not ask: on a busy cluster the turn to ask never comes
        elif self._is_due("ledger", CLOCK_S):
            await self._ask_ledger()
        self._version = self.ledger.replica.version
        before, began = self.shelf.serial, thread_time()
        picture = picture_of(
            replica=self.ledger.replica,
            config=self._config,
            calls=self._calls,
            now=self._now(),
            problem=self._problem,
            drawn=self._drawn,
        )
        self.shelf.put(picture, with_pulse=self._is_due("pulse", PULSE_S))
        if self.shelf.serial != before:
            moved, self._moved = self._moved, asyncio.Event()
            moved.set()
        return thread_time() - began

    async def moved(self) -> None:
        """Return when there is something new."""
        await self._moved.wait()

    async def _draw(self) -> None:
        while True:
            took_s = 0.0
            try:
                took_s = await self.refresh()
            except Exception:  # whatever one picture stumbles over, the boards of everybody must go on
                log.exception("board_not_drawn")
            await asyncio.sleep(max(FRAME_S, PAUSES_PER_DRAWING * took_s))
            await self.ledger.wait_for_change(after=self._version, timeout_s=CLOCK_S)

    async def _read_calls(self) -> None:
        try:
            self._calls = await self._recent_calls()
        except DatabaseProblem as problem:
            log.warning("board_history_unread problem=%s", type(problem).__name__)

    async def _ask_ledger(self) -> None:
        """Find out whether nothing happens, or nothing can be heard."""
        try:
            await self.ledger.catch_up()
        except LedgerUnavailable as problem:
            self._local.lost(problem)
            self._problem = ledger_problem(state=self._local.state())
        else:
            self._problem = ""

    def _is_due(self, what: str, every_s: float) -> bool:
        now = asyncio.get_running_loop().time()
        if now < self._due.get(what, now):
            return False
        self._due[what] = now + every_s
        return True


class Reader:
    """Somebody who looks. All that belongs to it is the number of the last thing it was given."""

    def __init__(self, *, hub: Hub) -> None:
        self._hub = hub
        self._seen = 0

    async def next(self) -> str:
        """Give what is new: the whole board first, then whatever changed since the last time, when something did."""
        while self._hub.shelf.serial == self._seen:
            await self._hub.moved()
        html = self._hub.shelf.newer_than(self._seen)
        self._seen = self._hub.shelf.serial
        return html


_hubs: WeakKeyDictionary[asyncio.AbstractEventLoop, Hub] = WeakKeyDictionary()


async def hub_of_loop() -> Hub:
    """Give the running loop's hub."""
    rt = await bootstrap.runtime()
    loop = asyncio.get_running_loop()
    hub = _hubs.get(loop)
    if hub is None or hub.ledger is not rt.ledger:
        hub = _hubs[loop] = Hub(
            ledger=rt.ledger, local=rt.doors.local, config=rt.config, now=rt.now, recent_calls=_recent_calls
        )
    return hub


async def _recent_calls() -> Sequence[CallRecord]:
    calls: Sequence[CallRecord] = await database_sync_to_async(queries.recent_calls)(limit=SHOWN)
    return calls
