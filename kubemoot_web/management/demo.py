"""What `--demo` adds: simulated GPUs, the resources of deploy/demo.yaml, and agents that talk."""

import asyncio
import sys
from datetime import timedelta
from pathlib import Path

from django.conf import settings

from kubemoot_web.access import token_create
from kubemoot_web.management import programs
from kubemoot_web.management.supervisor import CannotRun, Supervisor
from kubemoot_web.models import ApiToken

MEMORY_BY_PORT = {11501: 32768, 11502: 24576}  # as deploy/demo.yaml names them
MODELS = ("qwen3:8b", "qwen3:14b", "qwen3:32b", "gpt-oss:20b")
TOKEN_NAME = "demo agents"  # noqa: S105 - the name under which the token is listed
TOKEN_LIFETIME = timedelta(days=30)


async def start(*, supervisor: Supervisor, address: str, data: Path) -> None:
    """Start the simulated fleet, apply its resources, and let the agents talk.

    Raises:
        CannotRun: one of the programs does not start, or the resources are refused.
    """
    ports = {wanted: programs.free_port(wanted=wanted) for wanted in MEMORY_BY_PORT}
    servers = {ports[port]: memory for port, memory in MEMORY_BY_PORT.items()}
    await supervisor.start(programs.simulator(servers=servers, models=MODELS))
    await asyncio.to_thread(_write_manifest, ports=ports, path=data / "demo.yaml")
    await _apply(path=data / "demo.yaml")
    await ApiToken.objects.filter(name=TOKEN_NAME).adelete()
    token = await token_create(name=TOKEN_NAME, scopes=["read", "call"], lifetime=TOKEN_LIFETIME)
    await supervisor.start(programs.demo_agents(address=address, environment={"DEMO_AGENTS_TOKEN": token}))


def _write_manifest(*, ports: dict[int, int], path: Path) -> None:
    """Write the demo's resources with the ports that were free."""
    text = (settings.BASE_DIR / "deploy" / "demo.yaml").read_text()
    for wanted, port in ports.items():
        text = text.replace(f"127.0.0.1:{wanted}", f"127.0.0.1:{port}")
    path.write_text(text)


async def _apply(*, path: Path) -> None:
    """Apply a file as a person would."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "manage.py", "apply", "-f", str(path)),
        cwd=settings.BASE_DIR,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await process.communicate()
    if process.returncode:
        raise CannotRun(name="demo", why=f"cannot be set up: {output.decode(errors='replace').strip()}")
