"""Simulated engines behind real sockets. Everything runs in the event loop that starts it."""

import asyncio
import contextlib
import socket
from collections.abc import Generator
from typing import Any

import uvicorn

from providers.simulator.app import SimulatorApp
from providers.simulator.config import EngineConfig
from providers.simulator.engine import SimulatedEngine

HOST = "127.0.0.1"
BACKLOG = 512


class _QuietUvicorn(uvicorn.Server):
    """Uvicorn without its signal handlers: many of them share a process, and the process decides when it ends."""

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """Leave the signals alone."""
        yield


class SimulatedServer:
    """One simulated engine on one port. Port 0 lets the system choose; the port then stays for the server's life."""

    def __init__(self, *, config: EngineConfig, host: str = HOST, port: int = 0) -> None:
        """Prepare; nothing listens before `start`."""
        self.engine = SimulatedEngine(config=config)
        self._host = host
        self._port = port
        self._app = SimulatorApp(engine=self.engine, on_refuse=self._refuse)
        self._uvicorn: uvicorn.Server | None = None
        self._serving: asyncio.Task[None] | None = None
        self._absence: asyncio.Task[None] | None = None

    @property
    def url(self) -> str:
        """Give the endpoint."""
        return f"http://{self._host}:{self._port}"

    @property
    def port(self) -> int:
        """Give the port, the real one once it listens."""
        return self._port

    @property
    def is_listening(self) -> bool:
        """Say whether the port is open."""
        return self._uvicorn is not None and self._uvicorn.started

    def state(self) -> dict[str, Any]:
        """Give what `/_sim/state` answers."""
        return self._app.state()

    async def start(self) -> None:
        """Bind the port and return once it accepts connections.

        Raises:
            OSError: the port is taken.
        """
        # asyncio switches Nagle's delay off only for sockets that name TCP as their protocol: else 40 ms per answer.
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind((self._host, self._port))
            listener.listen(BACKLOG)
        except OSError:
            listener.close()
            raise
        self._port = listener.getsockname()[1]
        config = uvicorn.Config(
            self._app,
            lifespan="off",
            ws="none",
            access_log=False,
            log_config=None,
            log_level="critical",
            backlog=BACKLOG,
        )
        self._uvicorn = _QuietUvicorn(config)
        self._serving = asyncio.get_running_loop().create_task(self._uvicorn.serve(sockets=[listener]))
        while not self._uvicorn.started:
            if self._serving.done():
                await self._serving
                raise OSError("the simulated engine did not start")
            await asyncio.sleep(0.005)

    async def stop_listening(self) -> None:
        """Close the port and every connection; what is in memory stays."""
        if self._uvicorn is None or self._serving is None:
            return
        await self._app.abort_all()
        self._uvicorn.should_exit = True
        self._uvicorn.force_exit = True
        await asyncio.wait({self._serving})
        self._uvicorn = self._serving = None

    async def close(self) -> None:
        """End everything, as the end of the process would."""
        if self._absence is not None:
            self._absence.cancel()
            await asyncio.gather(self._absence, return_exceptions=True)
        await self.stop_listening()
        await self._app.close()
        self.engine.close()

    def _refuse(self, seconds: float) -> None:
        self._absence = asyncio.get_running_loop().create_task(self._be_absent(seconds))

    async def _be_absent(self, seconds: float) -> None:
        await self.stop_listening()
        await asyncio.sleep(seconds)
        await self.start()
