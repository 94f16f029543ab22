"""A web process of a bench's own, as `manage.py up` starts it, with somebody signed in; or a bare one like it."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from socket import socket

from django.conf import settings

from kubemoot_web.management import programs
from kubemoot_web.management.benches.own_valkey import LEDGER
from kubemoot_web.management.supervisor import die_with_parent

HOST = "127.0.0.1"
APPLICATION = "kubemoot_web.asgi:application"
BARE = "kubemoot_web.management.benches.bare_broadcast:application"
STARTS_WITHIN_S = 60.0
FOREIGN = ("KUBEMOOT_", "REDIS_", "DATABASE_")
SIGN_IN = """
import django
django.setup()
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client
call_command("migrate", verbosity=0, interactive=False)
client = Client()
client.force_login(User.objects.create_user("bench"))
print("; ".join(f"{name}={morsel.value}" for name, morsel in client.cookies.items()))
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """A running web process, and the cookies of who is signed in."""

    pid: int
    port: int
    cookies: str = ""


def own_environment(*, data: Path, **more: str) -> dict[str, str]:
    """Give this process's environment without what reaches another installation."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)}
    return {**environment, "KUBEMOOT_DATA": str(data), **more}


@contextmanager
def own_site(*, valkey: Path) -> Iterator[Site]:
    """Run a web process on this Valkey until the block ends."""
    with tempfile.TemporaryDirectory(prefix="kubemoot-bench-") as folder:
        environment = own_environment(data=Path(folder), REDIS_URL=f"unix://{valkey}?db=0", KUBEMOOT_LEDGER=LEDGER)
        signed_in = subprocess.run(  # noqa: S603 - our own program
            [sys.executable, "-c", SIGN_IN], cwd=settings.BASE_DIR, env=environment, check=True, capture_output=True
        )
        with uvicorn(application=APPLICATION, environment=environment) as (pid, port):
            yield Site(pid=pid, port=port, cookies=signed_in.stdout.decode().strip())


@contextmanager
def bare_site() -> Iterator[Site]:
    """Run the bare broadcast in a process that is started like ours."""
    with uvicorn(application=BARE, environment=dict(os.environ)) as (pid, port):
        yield Site(pid=pid, port=port)


@contextmanager
def uvicorn(*, application: str, environment: Mapping[str, str]) -> Iterator[tuple[int, int]]:
    """Serve an ASGI application as ours is served; give process and port."""
    port = programs.free_port(wanted=0)
    ours = programs.web(host=HOST, port=port, environment={}).command
    others = {} if application == APPLICATION else {APPLICATION: application, "on": "auto"}  # they may have no lifespan
    command = [others.get(part, part) for part in ours]
    with serving(command=command, environment=environment, port=port) as pid:
        yield pid, port


@contextmanager
def serving(
    *,
    command: Sequence[str],
    environment: Mapping[str, str],
    port: int,
    within_s: float = STARTS_WITHIN_S,
    is_loud: bool = True,
) -> Iterator[int]:
    """Run a program until the block ends; give its process once it listens."""
    said = None if is_loud else subprocess.DEVNULL
    process = subprocess.Popen(  # noqa: S603 - our own words
        command, cwd=settings.BASE_DIR, env=environment, preexec_fn=die_with_parent, stdout=said, stderr=said
    )
    try:
        _wait_for(port=port, process=process, within_s=within_s)
        yield process.pid
    finally:
        process.terminate()
        process.wait()


def _wait_for(*, port: int, process: "subprocess.Popen[bytes]", within_s: float) -> None:
    deadline = time.monotonic() + within_s
    while True:
        with socket() as probe:
            if probe.connect_ex((HOST, port)) == 0:
                return
        if process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"{Path(process.args[0]).name} did not start; what it said stands above")  # type: ignore[index,arg-type]
        time.sleep(0.05)
