"""Processes that all want the same copy: each runs a number of callers, and reports what it did.

The work of a process is a coroutine function of a started ledger and plain options; its report goes back as plain
values. Processes are forked before anything runs in this one.
"""

import asyncio
import multiprocessing
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection
from multiprocessing.context import ForkProcess
from pathlib import Path
from typing import Any

from kubemoot_web.management.benches.own_valkey import ledger_on
from scheduler.ports import Ledger

Report = dict[str, Any]
Work = Callable[[Ledger, Connection, Mapping[str, Any]], Awaitable[Report | None]]
PATIENCE_S = 3600.0


@contextmanager
def crowd(*, works: Sequence[Work], path: Path, options: Mapping[str, Any]) -> Iterator[list[Connection]]:
    """Run each work in a process of its own; give the other ends of their pipes. Whatever happens, they end."""
    context = multiprocessing.get_context("fork")
    started: list[tuple[Connection, ForkProcess]] = []
    try:
        for number, work in enumerate(works):
            here, there = context.Pipe()
            args = (work, there, path, {**options, "number": number})
            process = context.Process(target=_main, args=args, daemon=True)
            process.start()
            started.append((here, process))
        yield [here for here, _ in started]
        for _, process in started:
            process.join(10)
    finally:
        for _, process in started:
            process.kill()
            process.join()


def reports(pipes: Sequence[Connection]) -> list[Report]:
    """Wait for what each process reports.

    Raises:
        RuntimeError: one of them ended without a report.
    """
    try:
        return [pipe.recv() for pipe in pipes]
    except EOFError:
        raise RuntimeError("a process of the bench ended early; what it said stands above") from None


def _main(work: Work, pipe: Connection, path: Path, options: Mapping[str, Any]) -> None:
    report = asyncio.run(_run(work, pipe, path, options))
    if report is not None:
        pipe.send(report)
    pipe.close()


async def _run(work: Work, pipe: Connection, path: Path, options: Mapping[str, Any]) -> Report | None:
    ledger = ledger_on(path)
    await ledger.start()
    try:
        return await work(ledger, pipe, options)
    finally:
        await ledger.close()
