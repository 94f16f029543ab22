"""Loads that are asked for and go on in the background, as a router of llama.cpp has them."""

import asyncio
from enum import StrEnum

from providers.simulator.catalog import SimulatedModel
from providers.simulator.engine import SimulatedEngine


class LoadStatus(StrEnum):
    """Where a model is, as the router spells it. A model on its way out is loaded until it is gone."""

    UNLOADED = "unloaded"
    LOADING = "loading"
    LOADED = "loaded"


class RequestedLoads:
    """The loads of one engine that nobody waits for, and how the last of each model ended."""

    def __init__(self, *, engine: SimulatedEngine) -> None:
        """Begin without a load."""
        self._engine = engine
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._failed: set[str] = set()

    def status(self, model: SimulatedModel) -> LoadStatus:
        """Say where a model is."""
        if model.digest in self._tasks:
            return LoadStatus.LOADING
        return LoadStatus.LOADED if model.digest in self._engine.copies else LoadStatus.UNLOADED

    def has_failed(self, model: SimulatedModel) -> bool:
        """Say whether the last load of a model ended without it."""
        return model.digest in self._failed

    def start(self, model: SimulatedModel) -> None:
        """Begin to load a model."""
        self._failed.discard(model.digest)
        task = asyncio.get_running_loop().create_task(self._engine.load(model=model))
        self._tasks[model.digest] = task
        # Not in the task itself: one that is cancelled before its first step would never come to it.
        task.add_done_callback(lambda task: self._ended(model, task))

    def stop(self, model: SimulatedModel) -> None:
        """Let a model go when its calls have ended; a load that still runs is given up at once, and has then failed."""
        task = self._tasks.get(model.digest)
        if task is None:
            self._engine.unload(model=model)
        elif not self._engine.faults.is_on("unload_ignored"):
            task.cancel()

    async def close(self) -> None:
        """Give up every load."""
        running = tuple(self._tasks.values())
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    def _ended(self, model: SimulatedModel, task: "asyncio.Task[None]") -> None:
        del self._tasks[model.digest]
        if task.cancelled() or task.exception() is not None:
            self._failed.add(model.digest)
