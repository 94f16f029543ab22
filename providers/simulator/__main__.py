"""Runs engines: `python -m providers.simulator --port 11501 --memory-mib 32768 --models qwen3:8b,qwen3:14b`."""

import argparse
import asyncio
import ctypes
import os
import signal
import sys
from collections.abc import Sequence
from dataclasses import fields

from providers.simulator.catalog import canonical, parse_models
from providers.simulator.config import EngineConfig
from providers.simulator.kinds import ServerKind
from providers.simulator.server import HOST, SimulatedServer

PR_SET_PDEATHSIG = 1
RATES = ("load_mib_per_s", "tokens_per_s", "prompt_tokens_per_s", "unload_s", "keep_alive_s", "speed")
COUNTS = ("slots", "max_queue", "answer_tokens", "context_length")


def main() -> int:
    """Run the servers that the command line describes until a signal, or the death of the parent, ends them."""
    arguments = _parser().parse_args()
    end_with_parent()
    try:
        servers = _servers(arguments)
        preload = _preloaded(arguments, servers)
    except ValueError as error:
        sys.stderr.write(f"simulator: {error}\n")
        return 2
    try:
        asyncio.run(run_fleet(servers, preload=preload))
    except OSError as error:
        sys.stderr.write(f"simulator: cannot listen: {error}\n")
        return 1
    return 0


async def run_fleet(servers: Sequence[SimulatedServer], *, preload: Sequence[str] = ()) -> None:
    """Serve until SIGTERM or SIGINT, saying on standard output where each server listens."""
    over = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, over.set)
    try:
        for server in servers:
            await server.start()
            await _preload(server, preload)
            sys.stdout.write(f"listening on {server.url}\n")
            sys.stdout.flush()
        await over.wait()
    finally:
        for server in servers:
            await server.close()


def end_with_parent() -> None:
    """Let the kernel end this process when its parent dies, so that no simulated engine is left behind. Linux only.

    To the kernel the parent is the thread that started us: a supervisor must start engines from a thread that stays.
    """
    if not sys.platform.startswith("linux"):
        return
    parent = os.getppid()
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:  # it died in between: nobody will send the signal any more
        sys.exit(0)


async def _preload(server: SimulatedServer, names: Sequence[str]) -> None:
    for name in names:
        model = server.engine.config.models[name]
        if model.footprint_mib <= server.engine.free_mib:
            await server.engine.load(model=model)


def _servers(arguments: argparse.Namespace) -> list[SimulatedServer]:
    kind = ServerKind(arguments.kind)
    models = parse_models(arguments.models)
    tuning = {name: getattr(arguments, name) for name in (*RATES, *COUNTS) if getattr(arguments, name) is not None}
    places = [_place(text) for text in arguments.server] or [(arguments.port, arguments.memory_mib)]
    return [
        SimulatedServer(
            config=EngineConfig(kind=kind, memory_mib=memory, models=models, api_key=arguments.api_key, **tuning),
            host=arguments.host,
            port=port,
        )
        for port, memory in places
    ]


def _preloaded(arguments: argparse.Namespace, servers: Sequence[SimulatedServer]) -> list[str]:
    names = [canonical(name) for name in arguments.preload.split(",") if name]
    if names and servers[0].engine.config.kind.never_loads:
        raise ValueError(
            f"--preload: a server of the kind {arguments.kind} has in memory what it serves from its start"
        )
    for name in names:
        if name not in servers[0].engine.config.models:
            raise ValueError(f"--preload {name}: no such model is in --models")
    return names


def _place(text: str) -> tuple[int, int]:
    port, _, memory = text.partition(":")
    if not (port.isdecimal() and memory.isdecimal()):
        raise ValueError(f"--server {text}: write PORT:MEMORY_MIB, like 11501:32768")
    return int(port), int(memory)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m providers.simulator", description="Simulated model servers.")
    parser.add_argument(
        "--kind", choices=[kind.value for kind in ServerKind], default=ServerKind.OLLAMA.value, help="what they speak"
    )
    parser.add_argument("--host", default=HOST)
    parser.add_argument("--port", type=int, default=0, help="0 lets the system choose")
    parser.add_argument("--memory-mib", type=int, default=32768)
    parser.add_argument(
        "--server", action="append", default=[], metavar="PORT:MEMORY_MIB", help="one of several servers"
    )
    parser.add_argument(
        "--models", default="qwen3:8b,qwen3:14b,qwen3:32b", help="NAME, NAME=MIB or NAME=OTHER-NAME, ..."
    )
    parser.add_argument("--api-key", default="", help="wanted as a bearer token")
    parser.add_argument("--preload", default="", help="models that are in memory from the start, where they fit")
    defaults = {f.name: f.default for f in fields(EngineConfig)}
    for name in RATES:
        parser.add_argument(f"--{name.replace('_', '-')}", type=float, help=f"default {defaults[name]}")
    for name in COUNTS:
        parser.add_argument(f"--{name.replace('_', '-')}", type=int, help=f"default {defaults[name]}")
    return parser


if __name__ == "__main__":
    sys.exit(main())
