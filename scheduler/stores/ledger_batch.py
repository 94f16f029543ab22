"""Changes that callers ask for in one turn of the loop go to the ledger as one step.

What a server holds is then read once for all of them, and every process hears of one version instead of many. Each
caller still gets the answers to its own changes, in its own order; a caller that goes away before the step is sent asks
for nothing.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate

MOST = 64
"""Changes in one step: nobody else is served by the ledger while it runs."""

Change = tuple[str, ...]
Carry = Callable[[list[str]], Awaitable[tuple[int, Sequence[bytes]]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One caller's changes, as of its now."""

    changes: Sequence[Change]
    now: float
    answer: "asyncio.Future[tuple[int, Sequence[bytes]]]"


class Batch:
    """Gathers changes and has them carried out."""

    def __init__(self, *, carry: Carry) -> None:
        """Remember how a step is carried out: its arguments in, its version and results out."""
        self._carry = carry
        self._gathered: list[Asked] = []
        self._under_way: set[asyncio.Task[None]] = set()

    async def ask(self, *, changes: Sequence[Change], now: float) -> tuple[int, Sequence[bytes]]:
        """Have changes carried out together with those that others ask for now; give the version and the results."""
        loop = asyncio.get_running_loop()
        asked = Asked(changes=changes, now=now, answer=loop.create_future())
        if not self._gathered:
            self._start()
        self._gathered.append(asked)
        return await asked.answer

    def _start(self) -> None:
        """Begin a step in the next turn of the loop: until then others may join it."""
        task = asyncio.get_running_loop().create_task(self._run())
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)

    def _next_step(self) -> list[Asked]:
        """Take from what was gathered as much as one step may have; what is left is for the step after it."""
        gathered = [asked for asked in self._gathered if not asked.answer.done()]
        sizes = accumulate(len(asked.changes) for asked in gathered)
        end = max(1, sum(size <= MOST for size in sizes))
        step, self._gathered = gathered[:end], gathered[end:]
        if self._gathered:
            self._start()
        return step

    async def _run(self) -> None:
        step = self._next_step()
        if not step:
            return
        try:
            args = [arg for asked in step for arg in _args(asked)]
            version, results = await self._carry(args)
        except BaseException as problem:
            for asked in step:
                if not asked.answer.done():
                    asked.answer.set_exception(problem)
            if not isinstance(problem, Exception):
                raise
            return
        at = 0
        for asked in step:
            if not asked.answer.done():
                asked.answer.set_result((version, results[at : at + len(asked.changes)]))
            at += len(asked.changes)


def _args(asked: Asked) -> list[str]:
    return ["at", repr(asked.now), *(arg for change in asked.changes for arg in change)]
