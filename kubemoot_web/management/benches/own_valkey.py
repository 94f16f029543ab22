"""A Valkey of a bench's own, started as `manage.py up` starts it, with one copy on its ledger that everybody wants."""

import struct
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from socket import AF_UNIX, SO_PEERCRED, SOL_SOCKET, socket

from kubemoot_web.management import programs
from kubemoot_web.management.supervisor import die_with_parent
from scheduler import bootstrap
from scheduler.core.calls import Call
from scheduler.core.config import SchedulerConfig
from scheduler.core.ledger import ServerConfig, ServerSeen
from scheduler.core.snapshot import Resident
from scheduler.core.types import Candidate
from scheduler.ports import Ledger

MODEL = "hot:8b"
SERVER = "gpu-1"
LEDGER = "bench"
VALKEY_VARIABLE = "BENCH_VALKEY"
"""Where a process that a bench starts finds the server's socket."""
FIGURES = SchedulerConfig(max_waiters=100_000)
STARTS_WITHIN_S = 10.0


@contextmanager
def own_valkey() -> Iterator[Path]:
    """Run a server until the block ends; give its socket."""
    with tempfile.TemporaryDirectory(prefix="kubemoot-bench-") as folder:
        path = Path(folder) / "valkey.sock"
        program = programs.valkey(socket_path=path, folder=Path(folder) / "data")
        process = subprocess.Popen(  # noqa: S603 - our own program
            program.command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=die_with_parent
        )
        try:
            _wait_for(path)
            yield path
        finally:
            process.terminate()
            process.wait()


def process_of(path: Path) -> int:
    """Say which process serves a socket."""
    with socket(AF_UNIX) as line:
        line.connect(str(path))
        pid, _, _ = struct.unpack("3i", line.getsockopt(SOL_SOCKET, SO_PEERCRED, struct.calcsize("3i")))
    return int(pid)


def ledger_on(path: Path) -> Ledger:
    """Make a process's ledger, not started yet."""
    return bootstrap.ledger_at(url=f"unix://{path}", name=LEDGER, figures=FIGURES)


async def register(ledger: Ledger, *, slots: int, endpoint: str = "http://gpu-1") -> None:
    """Register one server that holds the model, ready for so many calls at once."""
    config = ServerConfig(name=SERVER, kind="ollama", endpoint=endpoint, total_mib=81920, slots=slots)
    await ledger.configure(servers=[config], footprints={}, weights={})
    probe = await ledger.probe_begin(server=SERVER, lease_s=10.0)
    if probe is None:
        raise RuntimeError("another probe is under way on a server that nobody else knows")
    resident = Resident(model=MODEL, footprint_mib=8192)
    seen = ServerSeen(phase="ready", ready=True, residents=(resident,), probed_at=bootstrap.clock())
    await ledger.probe_end(server=SERVER, probe=probe, seen=seen)


def call(agent: str) -> Call:
    """Make a call that wants the model."""
    return Call(agent=f"bench/{agent}", crew="bench/crew", candidates=(Candidate(model=MODEL, score=60),))


class NoEffects:
    """What follows from a commit: nothing, for nothing is ever loaded here."""

    async def start_load(self, *, load: object) -> None:
        """Start nothing."""

    async def wake(self) -> None:
        """Wake nobody."""

    async def project(self) -> None:
        """Write nothing down."""


def _wait_for(path: Path) -> None:
    deadline = time.monotonic() + STARTS_WITHIN_S
    while True:
        with socket(AF_UNIX) as probe:
            if probe.connect_ex(str(path)) == 0:
                return
        if time.monotonic() > deadline:
            raise RuntimeError("Valkey did not start")
        time.sleep(0.02)
