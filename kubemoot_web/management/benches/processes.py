"""What processes hold and use, as Linux counts it."""

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

KIB_PER_MIB = 1024
PAGE_KIB = os.sysconf("SC_PAGE_SIZE") // 1024
TICKS_PER_S = os.sysconf("SC_CLK_TCK")
NAMES = {" up ": "up", "uvicorn": "web", "celery": "worker", "valkey-server": "valkey"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """One process's memory and CPU time so far. In `shared_mib`, what others map too counts by its share."""

    name: str
    resident_mib: float
    shared_mib: float
    cpu_s: float


def family(root: int) -> dict[int, Held]:
    """Look at a process and everything it has started, by process id."""
    return {pid: _look(pid) for pid in _pids(root)}


def cpu_seconds(pid: int) -> float:
    """Say how much CPU time a process has used so far."""
    fields = (Path(f"/proc/{pid}") / "stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_S


def family_cpu_seconds(root: int) -> float:
    """Say the same of a process and everything it has started."""
    return sum(map(cpu_seconds, _pids(root)))


def resident_kib(pid: int) -> int:
    """Say how much memory a process holds."""
    return int((Path(f"/proc/{pid}") / "statm").read_text().split()[1]) * PAGE_KIB


def _pids(pid: int) -> Iterator[int]:
    yield pid
    for task in Path(f"/proc/{pid}/task").iterdir():
        children = ""
        with suppress(FileNotFoundError, ProcessLookupError):  # a thread that ended meanwhile
            children = (task / "children").read_text()
        for child in children.split():
            yield from _pids(int(child))


def _look(pid: int) -> Held:
    folder = Path(f"/proc/{pid}")
    lines = (folder / "smaps_rollup").read_text().splitlines()[1:]
    sizes = {line.split()[0]: int(line.split()[1]) / KIB_PER_MIB for line in lines}
    command = (folder / "cmdline").read_text().replace("\0", " ")
    return Held(
        name=next((name for part, name in NAMES.items() if part in command), command.strip()),
        resident_mib=sizes["Rss:"],
        shared_mib=sizes["Pss:"],
        cpu_s=cpu_seconds(pid),
    )
