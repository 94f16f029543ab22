"""Effects by way of Celery: tasks are sent by name, off the event loop, and die young where no worker takes them."""

import asyncio
import logging

from celery import current_app
from kombu.exceptions import OperationalError

from scheduler.core.types import LoadUnderWay
from scheduler.task_names import PROJECT, RUN_CYCLE, RUN_LOAD

log = logging.getLogger(__name__)

EXPIRES_S = 10
"""By then the tick has found the same work again; a later delivery would only be noise."""


class CeleryEffects:
    """Sends what follows from a commit to the workers."""

    async def start_load(self, *, load: LoadUnderWay) -> None:
        """Have a worker drive the load."""
        await self._send(RUN_LOAD, server=load.server, model=load.model)

    async def wake(self) -> None:
        """Have a worker run a cycle soon."""
        await self._send(RUN_CYCLE)

    async def project(self) -> None:
        """Have a worker write the journal down soon."""
        await self._send(PROJECT)

    async def _send(self, name: str, **kwargs: str) -> None:
        try:
            await asyncio.to_thread(current_app.send_task, name, kwargs=kwargs, expires=EXPIRES_S, ignore_result=True)
        except OperationalError as error:  # what was committed stands, and the tick finds the same work
            log.warning("no worker could be told of %s: %s", name, error)
