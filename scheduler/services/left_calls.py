"""What goes on for callers that have left: the tasks of one process, ended with it."""

import asyncio
import logging
from collections.abc import Callable, Coroutine

log = logging.getLogger(__name__)


class LeftCalls:
    """Holds what goes on for nobody until it ends. One object belongs to one event loop."""

    def __init__(self) -> None:
        """Hold nothing yet."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_closed = False

    def keep(self, *, work: Coroutine[object, object, None], on_end: Callable[[], None]) -> Callable[[], None] | None:
        """Let work go on and give what stops it; None, and the work never begins, when this process stops.

        `on_end` is told whatever way it ends, also when it never began.
        """
        if self._is_closed:
            work.close()
            on_end()
            return None
        task = asyncio.get_running_loop().create_task(work, name="left call")
        self._tasks.add(task)

        def ended(task: "asyncio.Task[None]") -> None:
            self._tasks.discard(task)
            on_end()
            problem = None if task.cancelled() else task.exception()
            if problem is not None:  # nobody waits for it; its ticket lapses
                log.warning("left_call_failed error=%s", type(problem).__name__)

        task.add_done_callback(ended)
        return lambda: _stop(task)

    async def close(self) -> None:
        """Stop everything at once, and let nothing begin any more."""
        self._is_closed = True
        tasks = tuple(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _stop(task: "asyncio.Task[None]") -> None:
    task.cancel()
