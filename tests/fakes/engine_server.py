"""Starts simulated engines for tests: in the test's own event loop, in a thread, or as a process of its own."""

import asyncio
import json
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

from providers.simulator.catalog import parse_models
from providers.simulator.config import EngineConfig
from providers.simulator.kinds import ServerKind
from providers.simulator.server import SimulatedServer

ROOT = Path(__file__).resolve().parents[2]
MODELS = "qwen3:8b,qwen3:14b,qwen3:32b,gpt-oss:20b,chat-prod=gpt-oss:20b,nomic-embed-text"
FAST = 200.0


def engine_config(
    *, kind: str = "ollama", models: str = MODELS, memory_mib: int = 32768, speed: float = FAST, **more: Any
) -> EngineConfig:
    """Make a machine that is two hundred times faster than a real one."""
    return EngineConfig(kind=ServerKind(kind), memory_mib=memory_mib, models=parse_models(models), speed=speed, **more)


@asynccontextmanager
async def simulated_engine(**config: Any) -> AsyncIterator[SimulatedServer]:
    """Serve a simulated engine in the running event loop."""
    server = SimulatedServer(config=engine_config(**config))
    await server.start()
    try:
        yield server
    finally:
        await server.close()


@contextmanager
def engine_in_thread(**config: Any) -> Iterator[str]:
    """Serve a simulated engine in a thread, for tests without an event loop; give its address."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    server = SimulatedServer(config=engine_config(**config))
    try:
        asyncio.run_coroutine_threadsafe(server.start(), loop).result(timeout=10)
        yield server.url
    finally:
        asyncio.run_coroutine_threadsafe(server.close(), loop).result(timeout=10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(timeout=10)
        loop.close()


@contextmanager
def engine_process(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], list[str]]]:
    """Run `python -m providers.simulator` and wait until it listens; give the process and its addresses."""
    command = [sys.executable, "-m", "providers.simulator", *arguments]
    servers = max(1, arguments.count("--server"))
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        lines = [process.stdout.readline() for _ in range(servers)]
        assert all(line.startswith("listening on ") for line in lines), lines
        yield process, [line.split()[-1] for line in lines]
    finally:
        process.kill()
        process.wait(timeout=10)
        process.stdout.close()


async def eventually(condition: Callable[[], bool], *, within_s: float = 10.0) -> None:
    """Wait until something holds at an engine that runs in this loop; fail when it never does."""
    async with asyncio.timeout(within_s):
        while not condition():  # noqa: ASYNC110 -- the engine is the outside world here: it tells nobody
            await asyncio.sleep(0.002)


def read_state(url: str) -> dict[str, Any]:
    """Read what a simulated engine holds and what was done to it."""
    with urllib.request.urlopen(f"{url}/_sim/state", timeout=10) as answer:
        state: dict[str, Any] = json.load(answer)
        return state


def switch_faults(url: str, **faults: Any) -> None:
    """Switch faults of a simulated engine."""
    request = urllib.request.Request(f"{url}/_sim/faults", data=json.dumps(faults).encode(), method="POST")
    with urllib.request.urlopen(request, timeout=10) as answer:
        answer.read()


def empty(url: str, *, within_s: float = 20.0) -> None:
    """Have a simulated engine, one that unloads on request, let go of everything that it holds."""
    deadline = time.monotonic() + within_s
    while (state := read_state(url))["loaded"] or state["loading"]:
        assert time.monotonic() < deadline, state
        for model in state["loaded"]:
            path = "/models/unload" if state["kind"] == "llamacpp" else "/api/generate"
            body = json.dumps({"model": model, "keep_alive": 0}).encode()
            with urllib.request.urlopen(f"{url}{path}", data=body, timeout=10) as answer:
                answer.read()
        time.sleep(0.05)
