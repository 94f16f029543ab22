"""A door to engines that answers by a script, and remembers what it was asked and when."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from providers.core.engines.base import Trouble
from providers.core.relaying import Headers, RelayFailed, RelayRequest


@dataclass
class Answer:
    """An answer by script: pieces of bytes, an event to wait for, or trouble."""

    status: int = 200
    pieces: tuple[bytes | asyncio.Event | Trouble, ...] = (b"{}",)
    headers: Headers = ()
    is_closed: bool = False
    _next: int = field(default=0)

    async def piece(self) -> bytes:
        """Give the next piece."""
        while self._next < len(self.pieces):
            step = self.pieces[self._next]
            if isinstance(step, asyncio.Event):
                await step.wait()  # whoever is cancelled here finds it here again
            self._next += 1
            if isinstance(step, asyncio.Event):
                continue
            if isinstance(step, Trouble):
                raise RelayFailed(trouble=step, was_sent=True)
            else:
                return step
        return b""

    def close(self) -> None:
        """Take note."""
        self.is_closed = True


class ScriptedRelay:
    """Gives its answers in order; trouble instead of an answer is raised, an event is waited for without an answer."""

    def __init__(self, *script: Answer | Trouble | asyncio.Event) -> None:
        self.script = list(script)
        self.asked: list[tuple[str, RelayRequest]] = []
        self.on_open: Callable[[], Any] = lambda: None
        self.opened = asyncio.Event()
        self.is_connected = asyncio.Event()
        self.is_connected.set()

    async def open(self, *, endpoint: str, request: RelayRequest, on_sent: Callable[[], None] | None = None) -> Answer:
        """Answer by the script, once there is a connection."""
        await self.is_connected.wait()
        self.asked.append((endpoint, request))
        self.opened.set()
        self.on_open()
        if on_sent is not None:
            on_sent()
        step = self.script.pop(0) if self.script else Answer()
        if isinstance(step, Trouble):
            raise RelayFailed(trouble=step, was_sent=step in (Trouble.BROKEN, Trouble.TIMED_OUT))
        if isinstance(step, asyncio.Event):
            await step.wait()
            return Answer()
        return step

    async def close(self) -> None:
        """Nothing is open."""
