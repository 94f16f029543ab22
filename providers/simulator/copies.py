"""What is in the memory of a simulated engine."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from providers.simulator.catalog import SimulatedModel


@dataclass(eq=False, slots=True, kw_only=True)
class Copy:
    """One model in memory, from the start of its load until its memory is free again.

    `holders` counts the calls that keep it there, `answering` those of them that have a slot.
    """

    model: SimulatedModel
    num_ctx: int
    vram_mib: int
    slots: asyncio.Semaphore
    answering: int = 0
    keep_alive_s: float = 300.0
    holders: int = 0
    is_broken: bool = False
    settled: asyncio.Event = field(default_factory=asyncio.Event)
    idle: asyncio.Event = field(default_factory=asyncio.Event)
    idle_since: float = 0.0
    expiry: asyncio.TimerHandle | None = None
    departure: "asyncio.Task[None] | None" = None

    @property
    def host_mib(self) -> int:
        """Give what runs from host memory because the card is too small."""
        return self.model.footprint_mib - self.vram_mib

    @property
    def deferred(self) -> int:
        """Count the calls that keep the copy there and wait for a slot."""
        return self.holders - self.answering

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[None]:
        """Wait for a slot and hold it for as long as the body runs."""
        async with self.slots:
            self.answering += 1
            try:
                yield
            finally:
                self.answering -= 1
