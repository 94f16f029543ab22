"""Keeping a client patient: something that is repeated while it waits, once it has waited for a while."""

import asyncio
from collections.abc import Awaitable, Callable


class Pulse:
    """Beats after `after_s` seconds, then every `every_s`, until it is stopped. One that never beats costs a timer."""

    def __init__(self, *, after_s: float, every_s: float, beat: Callable[[], Awaitable[None]]) -> None:
        """Begin to wait."""
        self._every_s = every_s
        self._beat = beat
        self._task: asyncio.Task[None] | None = None
        self._timer = asyncio.get_running_loop().call_later(after_s, self._start)

    def stop(self) -> None:
        """Never beat again: also a beat that waits for a slow client ends."""
        self._timer.cancel()
        if self._task is not None:
            self._task.cancel()

    def _start(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._beat_on())

    async def _beat_on(self) -> None:
        while True:
            await self._beat()
            await asyncio.sleep(self._every_s)
