"""The inside of a simulated engine: what is in its memory, who holds it, what it does when memory is short.

As Ollama it loads one model at a time, reloads a model for another context, keeps a model for its keep-alive after the
last call, and makes room by itself for a model that does not fit: exactly what nobody should make it do.
As a server of another kind it loads nothing by itself and evicts nothing: calls for what is not there are refused, and
a load that does not fit fails.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from providers.simulator.catalog import SimulatedModel
from providers.simulator.config import EngineConfig, residents
from providers.simulator.copies import Copy
from providers.simulator.faults import Faults
from providers.simulator.journal import Journal


class QueueFull(Exception):
    """As many calls wait as the engine lets wait."""


class LoadBroke(Exception):
    """A load ended without the model."""


class NotLoaded(Exception):
    """A call came for a model that is not in memory, to an engine that does not load by itself."""

    def __init__(self, *, is_loading: bool) -> None:
        """Keep whether it is about to be there."""
        super().__init__()
        self.is_loading = is_loading


class SimulatedEngine:
    """Memory, loads and slots of one server. It lives in one event loop."""

    def __init__(self, *, config: EngineConfig) -> None:
        """Begin with an empty memory, or with what a server of this kind never lets go.

        Raises:
            ValueError: there is nothing that it could serve.
        """
        self.config = config
        self.faults = Faults()
        self.journal = Journal()
        self.copies: dict[str, Copy] = {}
        self.waiting = 0
        # Ollama loads one model after the other; the router starts a process for each at once.
        self._loading = asyncio.Semaphore(1 if config.kind.loads_by_itself else max(1, len(config.models)))
        self._somebody_left = asyncio.Event()
        for model in residents(config):
            self._add_copy(model=model, num_ctx=config.context_length, keep_alive_s=-1).settled.set()

    @property
    def free_mib(self) -> int:
        """Work out the memory that no copy holds, those still leaving included."""
        return self.config.memory_mib - sum(copy.vram_mib for copy in self.copies.values())

    def now(self) -> float:
        """Read the loop's clock: seconds that never jump."""
        return asyncio.get_running_loop().time()

    async def pause(self, seconds: float) -> None:
        """Wait simulated seconds."""
        await asyncio.sleep(seconds / self.config.speed)

    @asynccontextmanager
    async def hold(
        self, *, model: SimulatedModel, num_ctx: int | None, keep_alive_s: float | None
    ) -> AsyncIterator[Copy]:
        """Hold a copy of a model for as long as the body runs, loading it first when it is not there.

        Raises:
            LoadBroke: the load failed.
            NotLoaded: it is not there, and this engine does not load by itself.
        """
        if self.config.kind.loads_by_itself:
            copy = await self._settled_copy(model=model, num_ctx=num_ctx or self.config.context_length)
        else:
            copy = self._present_copy(model)
        if keep_alive_s is not None:
            copy.keep_alive_s = keep_alive_s
        try:
            yield copy
        finally:
            self._release(copy)

    async def load(self, *, model: SimulatedModel) -> None:
        """Bring a model into memory, to stay until it is told to go.

        Raises:
            LoadBroke: the load failed, or there is no room and this engine makes none by itself.
        """
        copy = await self._settled_copy(model=model, num_ctx=self.config.context_length)
        copy.keep_alive_s = -1
        self._release(copy)

    def enter_queue(self) -> None:
        """Count one more call that waits.

        Raises:
            QueueFull: no more may wait.
        """
        if self.faults.is_on("busy503") or self.waiting >= self.config.max_queue:
            raise QueueFull
        self.waiting += 1

    def leave_queue(self) -> None:
        """Count one call less that waits."""
        self.waiting -= 1

    def unload(self, *, model: SimulatedModel) -> None:
        """Let a model go as soon as its last call has ended. Returns at once, as the real engine does."""
        self.journal.note("unload", at=self.now(), model=model.name)
        copy = self.copies.get(model.digest)
        if copy is not None and not self.faults.is_on("unload_ignored"):
            self._depart(copy)

    def close(self) -> None:
        """Forget everything that is still planned."""
        for copy in self.copies.values():
            if copy.expiry is not None:
                copy.expiry.cancel()
            if copy.departure is not None:
                copy.departure.cancel()

    async def _settled_copy(self, *, model: SimulatedModel, num_ctx: int) -> Copy:
        while True:
            copy = self.copies.get(model.digest)
            if copy is None or copy.departure is not None or copy.num_ctx != num_ctx:
                copy = await self._bring_in(model=model, num_ctx=num_ctx)
            self._hold(copy)
            try:
                await copy.settled.wait()
            except BaseException:
                self._release(copy)
                raise
            if not copy.is_broken:
                return copy
            self._release(copy)  # whoever loaded it gave up: try for ourselves

    def _present_copy(self, model: SimulatedModel) -> Copy:
        copy = self.copies.get(model.digest)
        if copy is None or copy.departure is not None or not copy.settled.is_set():
            self.journal.not_loaded += 1
            raise NotLoaded(is_loading=copy is not None and not copy.settled.is_set())
        self._hold(copy)
        return copy

    async def _bring_in(self, *, model: SimulatedModel, num_ctx: int) -> Copy:
        async with self._loading:
            copy = self.copies.get(model.digest)
            if copy is not None and copy.departure is None and copy.num_ctx == num_ctx:
                return copy
            if copy is not None:
                if copy.departure is None:
                    self.journal.reloads += 1
                    self.journal.note("reload", at=self.now(), model=model.name, numCtx=num_ctx)
                await asyncio.shield(self._depart(copy))
            await self._make_room(model)
            copy = self._add_copy(model=model, num_ctx=num_ctx, keep_alive_s=self.config.keep_alive_s)
            await self._load(copy)
            return copy

    def _add_copy(self, *, model: SimulatedModel, num_ctx: int, keep_alive_s: float) -> Copy:
        copy = Copy(
            model=model,
            num_ctx=num_ctx,
            vram_mib=self._needed_mib(model),
            slots=asyncio.Semaphore(self.config.slots),
            keep_alive_s=keep_alive_s,
        )
        copy.idle.set()
        self.copies[model.digest] = copy
        return copy

    def _needed_mib(self, model: SimulatedModel) -> int:
        return min(model.footprint_mib, self.config.memory_mib)  # what the card cannot hold runs from host memory

    async def _load(self, copy: Copy) -> None:
        name = copy.model.name
        self.journal.note("load_start", at=self.now(), model=name, numCtx=copy.num_ctx)
        try:
            await self.faults.lifted("load_hang")
            await self.pause(copy.model.footprint_mib / self.config.load_mib_per_s)
            if self.faults.is_on("load_fail"):
                raise LoadBroke
        except BaseException:  # also when the client left: the real engine gives up the load then
            copy.is_broken = True
            self._forget(copy)
            self.journal.note("load_abort", at=self.now(), model=name)
            raise
        finally:
            copy.settled.set()
        self.journal.note("load_end", at=self.now(), model=name)

    async def _make_room(self, model: SimulatedModel) -> None:
        """Evict idle models until there is room, longest idle first; wait for busy ones when there are no idle ones."""
        needed_mib = self._needed_mib(model)
        if self.free_mib < needed_mib and not self.config.kind.loads_by_itself:
            self.journal.note("out_of_memory", at=self.now(), model=model.name)
            raise LoadBroke
        while self.free_mib < needed_mib:
            idle = [c for c in self.copies.values() if c.holders == 0 and c.departure is None]
            if idle:
                victim = min(idle, key=lambda copy: copy.idle_since)
                self.journal.self_evictions += 1
                self.journal.note("self_evict", at=self.now(), model=victim.model.name)
                self._depart(victim)
            self._somebody_left.clear()
            await self._somebody_left.wait()

    def _hold(self, copy: Copy) -> None:
        copy.holders += 1
        copy.idle.clear()
        if copy.expiry is not None:
            copy.expiry.cancel()
            copy.expiry = None

    def _release(self, copy: Copy) -> None:
        copy.holders -= 1
        if copy.holders:
            return
        copy.idle.set()
        copy.idle_since = self.now()
        self._somebody_left.set()
        if copy.keep_alive_s >= 0 and copy.departure is None and not copy.is_broken:
            loop = asyncio.get_running_loop()
            copy.expiry = loop.call_later(copy.keep_alive_s, self._depart, copy)

    def _depart(self, copy: Copy) -> "asyncio.Task[None]":
        if copy.departure is None:
            copy.departure = asyncio.get_running_loop().create_task(self._put_out(copy))
        return copy.departure

    async def _put_out(self, copy: Copy) -> None:
        await copy.settled.wait()
        await copy.idle.wait()
        await self.pause(self.config.unload_s)
        if not copy.is_broken:
            self._forget(copy)
            self.journal.note("unload_end", at=self.now(), model=copy.model.name)

    def _forget(self, copy: Copy) -> None:
        if copy.expiry is not None:
            copy.expiry.cancel()
            copy.expiry = None
        if self.copies.get(copy.model.digest) is copy:
            del self.copies[copy.model.digest]
        self._somebody_left.set()
