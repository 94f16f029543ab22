"""What Ollama says of a model: asked once, remembered for a while, and never by a call that could load it.

Other engines have no such question.
"""

import time
from collections.abc import Callable, Iterator

from providers.core.engines.base import HttpCall
from providers.core.types import EngineKind
from providers.ports import EngineApi
from scheduler.core.ledger import ServerRecord
from scheduler.core.replica import Replica

REMEMBER_S = 60.0
TIMEOUT_S = 5.0
MOST = 256
"""Answers may be large: they hold the model's template and its licence."""


class ShownModels:
    """Asks the engines that have a model, the first that is ready, for its description. One event loop has one."""

    def __init__(self, *, engine: EngineApi, clock: Callable[[], float] = time.monotonic) -> None:
        """Prepare; nothing is known yet."""
        self._engine = engine
        self._clock = clock
        self._known: dict[tuple[str, str], tuple[float, bytes]] = {}

    async def show(self, *, replica: Replica, model: str) -> bytes | None:
        """Give the engine's own words, JSON; None where no server that could be asked has the model."""
        for server in _having(replica, model):
            key = (server.config.endpoint, model)
            until, body = self._known.get(key, (0.0, b""))
            if until > self._clock():
                return body
            call = HttpCall(
                method="POST",
                path="/api/show",
                json={"model": model},
                timeout_s=TIMEOUT_S,
                secret=server.config.secret,
            )
            reply = await self._engine.send(endpoint=server.config.endpoint, call=call)
            if reply.status == 200:
                if len(self._known) >= MOST:
                    self._known.clear()
                self._known[key] = (self._clock() + REMEMBER_S, reply.body)
                return reply.body
        return None


def _having(replica: Replica, model: str) -> Iterator[ServerRecord]:
    """List the ready servers to ask that have a model, those that have it in memory first."""
    ready = [
        server
        for _, server in sorted(replica.servers.items())
        if server.seen.ready and server.config.kind == EngineKind.OLLAMA
    ]
    warm = [server for server in ready if any(model in copy.names for copy in server.seen.residents)]
    yield from warm
    yield from (s for s in ready if s not in warm and (s.seen.models is None or model in s.seen.models))
