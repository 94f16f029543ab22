"""What a call can go through on its way to the same engine: nothing, nginx, a plain view, LiteLLM, a relay that only
asks the ledger, Kubemoot.
"""

import asyncio
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings

from kubemoot_web.management import programs
from kubemoot_web.management.benches import litellm_proxy
from kubemoot_web.management.benches.apart import HOST
from kubemoot_web.management.benches.fast_engine import ENGINE_VARIABLE
from kubemoot_web.management.benches.figures import Progress
from kubemoot_web.management.benches.http_callers import Target
from kubemoot_web.management.benches.litellm_proxy import NotThere
from kubemoot_web.management.benches.own_valkey import (
    LEDGER,
    VALKEY_VARIABLE,
    ledger_on,
    own_valkey,
    register,
)
from kubemoot_web.management.benches.web_site import APPLICATION, own_environment, serving, uvicorn

DIRECT = "direct"
NGINX = "nginx"
VIEW = "a plain Django view"
LITELLM = "LiteLLM"
RELAY = "a relay that asks the ledger"
KUBEMOOT = "Kubemoot"
SLOTS = 4096
"""Nobody waits here: what waiting costs is measured elsewhere."""
VIEW_APPLICATION = "kubemoot_web.management.benches.plain_view:application"
RELAY_APPLICATION = "kubemoot_web.management.benches.bare_relay:application"
VIEW_SETTINGS = "kubemoot_web.management.benches.plain_settings"
LITELLM_STARTS_WITHIN_S = 120.0
NGINX_CONFIG = """\
daemon off;
worker_processes 1;
pid {folder}/nginx.pid;
error_log stderr crit;
events {{ worker_connections 8192; }}
http {{
  access_log off;
  keepalive_requests 100000000;
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  upstream engines {{ least_conn; server {engine}; keepalive 256; keepalive_requests 100000000; }}
  server {{
    listen {host}:{port};
    location / {{
      proxy_pass http://engines;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_buffering off;
    }}
  }}
}}
"""
KEY = """
import django
django.setup()
from asgiref.sync import async_to_sync
from django.core.management import call_command
from kubemoot_web.access import token_create
call_command("migrate", verbosity=0, interactive=False)
print(async_to_sync(token_create)(name="bench", scopes=["call"], lifetime=None))
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contender:
    """One way to the engine. `pid`: of the process whose CPU time it costs, with all that it started; None: none."""

    name: str
    target: Target
    pid: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """All ways there are on this machine, the direct one first; `missing` says why another is not among them.

    `valkey` is the socket of Kubemoot's ledger.
    """

    contenders: Sequence[Contender]
    missing: Mapping[str, str]
    valkey: Path

    def __getitem__(self, name: str) -> Contender:
        """Find one by its name."""
        return next(each for each in self.contenders if each.name == name)


@contextmanager
def contenders(*, engine: int, has_litellm: bool, progress: Progress) -> Iterator[Field]:
    """Start all of them in front of one engine."""
    address = f"http://{HOST}:{engine}"
    found = [Contender(name=DIRECT, target=Target(port=engine))]
    missing: dict[str, str] = {}
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="kubemoot-bench-")))
        try:
            found.append(stack.enter_context(_nginx(engine=engine, folder=folder)))
        except NotThere as error:
            missing[NGINX] = str(error)
        found.append(stack.enter_context(_view(engine=address)))
        try:
            if has_litellm:
                progress("Starting LiteLLM, which is installed first where it is not there yet ...")
            found.append(stack.enter_context(_litellm(engine=address, folder=folder, is_wanted=has_litellm)))
        except NotThere as error:
            missing[LITELLM] = str(error)
        valkey = stack.enter_context(own_valkey())
        found.append(stack.enter_context(_relay(engine=address, valkey=valkey)))
        found.append(stack.enter_context(_kubemoot(engine=address, valkey=valkey, folder=folder / "kubemoot")))
        yield Field(contenders=tuple(found), missing=missing, valkey=valkey)


@contextmanager
def _nginx(*, engine: int, folder: Path) -> Iterator[Contender]:
    program = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
    if program is None:
        raise NotThere("not installed: apt-get install nginx")
    port = programs.free_port(wanted=0)
    config = folder / "nginx.conf"
    config.write_text(
        NGINX_CONFIG.format(folder=folder, host=HOST, port=port, engine=f"{HOST}:{engine}"), encoding="utf-8"
    )
    command = (program, "-p", str(folder), "-c", str(config), "-e", "stderr")
    with serving(command=command, environment=os.environ, port=port) as pid:
        yield Contender(name=NGINX, target=Target(port=port), pid=pid)


@contextmanager
def _view(*, engine: str) -> Iterator[Contender]:
    environment = {**os.environ, ENGINE_VARIABLE: engine, "DJANGO_SETTINGS_MODULE": VIEW_SETTINGS}
    with uvicorn(application=VIEW_APPLICATION, environment=environment) as (pid, port):
        yield Contender(name=VIEW, target=Target(port=port), pid=pid)


@contextmanager
def _relay(*, engine: str, valkey: Path) -> Iterator[Contender]:
    environment = {**os.environ, ENGINE_VARIABLE: engine, VALKEY_VARIABLE: str(valkey)}
    with uvicorn(application=RELAY_APPLICATION, environment=environment) as (pid, port):
        yield Contender(name=RELAY, target=Target(port=port), pid=pid)


@contextmanager
def _litellm(*, engine: str, folder: Path, is_wanted: bool) -> Iterator[Contender]:
    if not is_wanted:
        raise NotThere("left out on request")
    port = programs.free_port(wanted=0)
    program = litellm_proxy.program(
        litellm=litellm_proxy.installed(folder=settings.KUBEMOOT.data / "bench" / "litellm"),
        engine=engine,
        host=HOST,
        port=port,
        folder=folder,
    )
    environment = {**os.environ, **program.environment}
    with serving(
        command=program.command, environment=environment, port=port, within_s=LITELLM_STARTS_WITHIN_S, is_loud=False
    ) as pid:
        target = Target(port=port, headers={"authorization": f"Bearer {litellm_proxy.KEY}"})
        yield Contender(name=LITELLM, target=target, pid=pid)


@contextmanager
def _kubemoot(*, engine: str, valkey: Path, folder: Path) -> Iterator[Contender]:
    environment = own_environment(data=folder, REDIS_URL=f"unix://{valkey}?db=0", KUBEMOOT_LEDGER=LEDGER)
    made = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-c", KEY], cwd=settings.BASE_DIR, env=environment, check=True, capture_output=True
    )
    with uvicorn(application=APPLICATION, environment=environment) as (pid, port):
        asyncio.run(_registered(valkey=valkey, engine=engine))  # not before: a start brings what its database has
        target = Target(port=port, headers={"authorization": f"Bearer {made.stdout.decode().strip()}"})
        yield Contender(name=KUBEMOOT, target=target, pid=pid)


async def _registered(*, valkey: Path, engine: str) -> None:
    ledger = ledger_on(valkey)
    await ledger.start()
    try:
        await register(ledger, slots=SLOTS, endpoint=engine)
    finally:
        await ledger.close()
