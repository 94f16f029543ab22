"""`manage.py bench idle`: what `manage.py up` holds and uses while nobody wants anything."""

import asyncio
import signal
import subprocess
import sys
import tempfile
import time
from argparse import ArgumentParser
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.conf import settings

from kubemoot_web.management import programs
from kubemoot_web.management.benches.figures import Figure, Floor, Progress
from kubemoot_web.management.benches.processes import Held, family
from kubemoot_web.management.benches.web_site import own_environment

MEMORY_GOAL_MIB = 450.0
CPU_GOAL = 3.0
STARTS_WITHIN_S = 60.0
SETTLES_S = 5.0
NOTHING = "from time import sleep; import django; django.setup(); print('up', flush=True); sleep(600)"
MANIFEST = """
apiVersion: kubemoot.ai/v1alpha1
kind: ModelServer
metadata: {{name: gpu-{number}}}
spec: {{type: ollama, endpoint: "http://127.0.0.1:{port}", scheduling: {{memoryMiB: 24576}}}}
---
"""


class IdleBench:
    """An installation that waits for work."""

    name = "idle"
    help = "Run everything as `up` does, wait, and see what memory and CPU it takes to do nothing."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the arguments."""
        parser.add_argument("--seconds", type=float, default=30.0, help="how long CPU time is counted (default: 30)")
        parser.add_argument("--servers", type=int, default=2, help="model servers of the second case (default: 2)")

    def run(self, *, options: Mapping[str, Any], progress: Progress) -> Sequence[Figure]:
        """Measure."""
        seconds, servers = options["seconds"], options["servers"]
        floor = Floor(what="a process that sets Django up and sleeps", value=_sleeping_django_mib())
        with _installation() as (pid, environment):
            progress(f"Nothing registered, {seconds:g} s ...")
            figures = _figures(case="nothing registered", pid=pid, seconds=seconds, floor=floor)
            if servers:
                with _model_servers(count=servers, environment=environment):
                    progress(f"{servers} model servers registered, {seconds:g} s ...")
                    figures += _figures(case=f"{servers} model servers", pid=pid, seconds=seconds, floor=floor)
        return figures


def _figures(*, case: str, pid: int, seconds: float, floor: Floor) -> list[Figure]:
    time.sleep(SETTLES_S)
    before, began = family(pid), time.monotonic()
    time.sleep(seconds)
    after, took = family(pid), time.monotonic() - began
    figures = []
    for child, held in after.items():
        figures += _of_one(
            case=f"{case}: {held.name}", held=held, before=before.get(child, held), took=took, floor=floor
        )
    cpu = sum(held.cpu_s - before.get(child, held).cpu_s for child, held in after.items()) / took * 100
    return [
        *figures,
        Figure(
            case=f"{case}: all",
            measure="resident",
            value=sum(held.resident_mib for held in after.values()),
            unit="MiB",
            goal=MEMORY_GOAL_MIB,
        ),
        Figure(
            case=f"{case}: all",
            measure="shared out",
            value=sum(held.shared_mib for held in after.values()),
            unit="MiB",
        ),
        Figure(case=f"{case}: all", measure="CPU", value=cpu, unit="% of a core", goal=CPU_GOAL),
    ]


def _of_one(*, case: str, held: Held, before: Held, took: float, floor: Floor) -> list[Figure]:
    cpu = (held.cpu_s - before.cpu_s) / took * 100
    beside = None if held.name == "valkey" else floor
    return [
        Figure(case=case, measure="resident", value=held.resident_mib, unit="MiB", floor=beside),
        Figure(case=case, measure="CPU", value=cpu, unit="% of a core"),
    ]


@contextmanager
def _installation() -> Iterator[tuple[int, dict[str, str]]]:
    """Run an empty installation of its own; give its process and the environment that reaches it."""
    with tempfile.TemporaryDirectory(prefix="kubemoot-idle-") as folder:
        environment = own_environment(data=Path(folder))
        output = Path(folder) / "output"
        with output.open("w") as said:
            process = _start("up", "--port", "0", environment=environment, stdout=said)
            try:
                _wait_for(output, "Ctrl-C ends it", process)
                yield process.pid, environment
            finally:
                process.send_signal(signal.SIGINT)
                process.wait()


@contextmanager
def _model_servers(*, count: int, environment: Mapping[str, str]) -> Iterator[None]:
    """Run simulated model servers, which do not count, and register them."""
    ports = [programs.free_port(wanted=0) for _ in range(count)]
    program = programs.simulator(servers=dict.fromkeys(ports, 24 * 1024), models=("qwen3:8b",))
    simulator = subprocess.Popen(program.command, cwd=settings.BASE_DIR, stdout=subprocess.DEVNULL)  # noqa: S603
    path = Path(environment["KUBEMOOT_DATA"]) / "servers.yaml"
    path.write_text("".join(MANIFEST.format(number=number, port=port) for number, port in enumerate(ports)))
    try:
        while not asyncio.run(_listen(ports)):
            if simulator.poll() is not None:
                raise RuntimeError("the simulated model servers did not start; see above")
            time.sleep(0.1)
        if _start("apply", "-f", str(path), environment=environment, stdout=subprocess.DEVNULL).wait():
            raise RuntimeError("the model servers could not be registered; see above")
        yield
    finally:
        simulator.terminate()
        simulator.wait()


async def _listen(ports: Sequence[int]) -> bool:
    return all([await programs.listens(host="127.0.0.1", port=port) for port in ports])


def _start(*arguments: str, environment: Mapping[str, str], stdout: Any) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "manage.py", *arguments]
    return subprocess.Popen(command, cwd=settings.BASE_DIR, env=environment, stdout=stdout)  # noqa: S603 - our own


def _wait_for(path: Path, words: str, process: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + STARTS_WITHIN_S
    while words not in path.read_text():
        if process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"the installation did not start:\n{path.read_text()}")
        time.sleep(0.2)


def _sleeping_django_mib() -> float:
    process = subprocess.Popen([sys.executable, "-c", NOTHING], stdout=subprocess.PIPE, cwd=settings.BASE_DIR)  # noqa: S603
    with process:
        assert process.stdout is not None
        process.stdout.readline()
        held = family(process.pid)[process.pid]
        process.kill()
    return held.resident_mib
