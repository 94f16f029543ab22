"""`manage.py up`: everything that Kubemoot needs, under one supervisor."""

import asyncio
import contextlib
import fcntl
import multiprocessing
import os
import signal
import socket
import sys
import time
from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from asgiref.sync import sync_to_async
from django.conf import settings
from django.contrib.auth.models import User
from django.core.cache import cache
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.urls import reverse

from kubemoot_web.access import sign_in
from kubemoot_web.celery import HEARTBEAT_KEY
from kubemoot_web.management import demo, programs
from kubemoot_web.management.discovery import manifest
from kubemoot_web.management.supervisor import CannotRun, Supervisor
from providers import queries
from providers.bootstrap import engine_api
from providers.services.discovery import look_around

OLD_ONES_LEAVE_WITHIN_S = 8  # children of a killed supervisor end by themselves, but not at once


class Command(BaseCommand):
    """Starts everything and keeps it running until Ctrl-C."""

    help = "Run everything on this computer: Valkey, web, worker. Ctrl-C ends it all."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the arguments."""
        parser.add_argument(
            "--port", type=int, default=8000, help="port of the pages and the API (default: 8000, 0: any free one)"
        )
        parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: 127.0.0.1)")
        parser.add_argument("--data", help="folder for database and Valkey files (default: KUBEMOOT_DATA, else ./data)")
        parser.add_argument("--demo", action="store_true", help="add two simulated GPUs and two crews that talk")

    def handle(self, *_: str, **options: Any) -> None:
        """Prepare, start, watch, end."""
        host, port = str(options["host"]), int(options["port"]) or programs.free_port(wanted=0)
        with self._only_one(settings.KUBEMOOT.data) as earlier_one_was_killed:
            patience_s = OLD_ONES_LEAVE_WITHIN_S if earlier_one_was_killed else 0
            self._refuse_taken_port(host=host, port=port, patience_s=patience_s)
            _prepare_apart()
            try:
                asyncio.run(self._run(host=host, port=port, with_demo=bool(options["demo"])))
            except CannotRun as error:
                raise CommandError(str(error)) from None

    async def _run(self, *, host: str, port: int, with_demo: bool) -> None:
        """Start the children, say where the pages are, watch until told to end."""
        over = asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, over.set)
        supervisor = Supervisor(say=self.stdout.write)
        work = asyncio.create_task(self._work(supervisor=supervisor, host=host, port=port, with_demo=with_demo))
        ending = asyncio.create_task(over.wait())
        try:
            await asyncio.wait({work, ending}, return_when=asyncio.FIRST_COMPLETED)
            if work.done():
                work.result()
            self.stdout.write("Ending ...")
        finally:
            ending.cancel()
            work.cancel()
            with contextlib.suppress(asyncio.CancelledError, CannotRun):
                await work
            await supervisor.stop()

    async def _work(self, *, supervisor: Supervisor, host: str, port: int, with_demo: bool) -> None:
        """Start everything in order, then keep it alive."""
        environment = _hosts(host)
        if settings.REDIS_IS_EMBEDDED:
            await _wait_for_old_server()
            folder = settings.KUBEMOOT.data / "valkey"
            await supervisor.start(programs.valkey(socket_path=Path(settings.VALKEY_SOCKET), folder=folder))
        await cache.adelete(HEARTBEAT_KEY)  # an earlier run's sign of life says nothing about this worker
        await supervisor.start(
            programs.web(host=host, port=port, environment=environment),
            programs.worker(host=host, port=port, environment=environment),
        )
        address = f"http://{programs.url_host(programs.reachable_host(host))}:{port}"
        if with_demo:
            await demo.start(supervisor=supervisor, address=address, data=settings.KUBEMOOT.data)
        elif not await sync_to_async(queries.servers)():
            await self._offer_what_is_here(own_port=port)
        path = await asyncio.to_thread(_login_path)
        self.stdout.write(f"\nKubemoot runs at {address}/")
        self.stdout.write(f"Sign in once with {address}{path}")
        self.stdout.write("Ctrl-C ends it.\n")
        self.stdout.flush()
        await supervisor.watch()

    async def _offer_what_is_here(self, *, own_port: int) -> None:
        """Look for model servers on this machine, and say how they become Kubemoot's: on the page, or by a file."""
        engine = engine_api()
        found = await look_around(engine=engine, own_port=own_port)
        await engine.close()
        if not found:
            self.stdout.write("\nNo model server is registered yet, and none answers on this machine's usual ports.")
            self.stdout.write("The sign-in link below leads to a page that takes an address.")
            return
        path = settings.KUBEMOOT.data / "found.yaml"
        await asyncio.to_thread(path.write_text, manifest(found))
        for server in found:
            names = ", ".join(server.models) or "no models yet"
            self.stdout.write(f"\nFound {server.title} at {server.endpoint} with {names}.")
        self.stdout.write("The sign-in link below leads to a page that takes them over, step by step.")
        self.stdout.write(f"Or write the memory of its GPUs into {path}, and apply it:")
        self.stdout.write(f"  {sys.executable} manage.py apply -f {path}")

    @contextlib.contextmanager
    def _only_one(self, data: Path) -> Iterator[bool]:
        """Hold the data folder, so that two of us never share its Valkey files; say whether the last one was killed."""
        with (data / "up.lock").open("a+") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise CommandError(
                    f"Kubemoot already runs on {data}. End it first, or name another folder with --data."
                ) from None
            lock.seek(0)
            earlier_one_was_killed = lock.read() != ""
            lock.write("running")
            lock.flush()
            try:
                yield earlier_one_was_killed
            finally:
                lock.truncate(0)

    def _refuse_taken_port(self, *, host: str, port: int, patience_s: float) -> None:
        """Say before anything starts that the port is taken; an old one of ours may have a moment to end."""
        deadline = time.monotonic() + patience_s
        try:
            while not programs.port_is_free(host=host, port=port):
                if time.monotonic() >= deadline:
                    raise CommandError(
                        f"web cannot start: port {port} on {host} is taken by another program. "
                        f"End that program, or choose another port with --port."
                    )
                time.sleep(0.1)
        except (OSError, OverflowError) as error:
            raise CommandError(f"Cannot listen on {host} port {port}: {error}") from None


def _prepare_apart() -> None:
    """Bring database and static files up to date in a process of its own: this one stays, and need not stay as large.

    Raises:
        CommandError: it failed, and has said why.
    """
    process = multiprocessing.get_context("fork").Process(target=_prepare)
    process.start()
    process.join()
    if process.exitcode != 0:
        raise CommandError("The database or the static files could not be brought up to date; see above.")


def _prepare() -> None:
    call_command("migrate", verbosity=0, interactive=False)
    call_command("collectstatic", verbosity=0, interactive=False)


async def _wait_for_old_server() -> None:
    """Give the Valkey of a killed supervisor the moment that it needs to end.

    Raises:
        CannotRun: it does not end.
    """
    path = Path(settings.VALKEY_SOCKET)
    for _ in range(OLD_ONES_LEAVE_WITHIN_S * 10):
        if not await programs.accepts(path=path):
            return
        await asyncio.sleep(0.1)
    raise CannotRun(name="valkey", why=f"cannot start: another server answers on {path}. End it first.")


def _hosts(host: str) -> dict[str, str]:
    """Let browsers use the address that we listen on, unless KUBEMOOT_HOSTS says which ones they may use."""
    if os.environ.get("KUBEMOOT_HOSTS"):
        return {}
    names = [*settings.KUBEMOOT.hosts, programs.url_host(host)]
    if host in programs.EVERYWHERE:
        own = socket.gethostname()
        with contextlib.suppress(OSError):
            names += [own, *{programs.url_host(str(info[4][0])) for info in socket.getaddrinfo(own, None)}]
    return {"KUBEMOOT_HOSTS": ",".join(dict.fromkeys(names))}


def _login_path() -> str:
    """Make a one-time link for the first administrator, who is made when there is none."""
    user = User.objects.filter(is_superuser=True, is_active=True).order_by("pk").first()
    if user is None:
        user = User.objects.create_superuser("admin")
    return reverse("login-link", args=[sign_in.login_link_token(user=user)])
