"""Work that belongs to a bench and must not disturb what is measured: in a process and on an event loop of its own."""

import asyncio
import multiprocessing
import resource
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import uvloop

HOST = "127.0.0.1"
FILES = 16_384
"""A thousand streams are a thousand files here, and twice as many in what is between."""

Job = Callable[..., Awaitable[Any]]


@contextmanager
def apart(job: Job, *args: Any) -> Iterator["Helper"]:
    """Do a job beside the block, which ends it, done or not."""
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe()
    process = context.Process(target=_main, args=(there, job, args), daemon=True)
    process.start()
    there.close()
    try:
        yield Helper(here)
    finally:
        process.kill()
        process.join()
        here.close()


def done_apart(job: Job, *args: Any) -> Any:
    """Do a job and give its result."""
    with apart(job, *args) as helper:
        return helper.result()


class Helper:
    """The process that does a job."""

    def __init__(self, pipe: Any) -> None:
        self._pipe = pipe

    def is_done(self, *, within_s: float) -> bool:
        """Say whether there is a result, waiting for it so long at most."""
        return bool(self._pipe.poll(within_s))

    def result(self) -> Any:
        """Wait for what the job gives.

        Raises:
            RuntimeError: it failed.
        """
        try:
            problem, result = self._pipe.recv()
        except EOFError:
            raise RuntimeError("a process of the bench ended early; what it said stands above") from None
        if problem:
            raise RuntimeError(problem)
        return result


def allow_many_files() -> None:
    """Let this process, and what it starts, have as many open files as a thousand streams need."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = FILES if hard == resource.RLIM_INFINITY else min(FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _main(pipe: Any, job: Job, args: tuple[Any, ...]) -> None:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        try:
            pipe.send(("", runner.run(_run(job, args))))
        except (RuntimeError, OSError, TimeoutError) as problem:
            pipe.send((str(problem) or type(problem).__name__, None))


async def _run(job: Job, args: tuple[Any, ...]) -> Any:
    return await job(*args)
