"""Runs programs as children: starts them in order, restarts what dies, ends them in reverse order.

House rules: a child never outlives this process, however it ends; whatever happens to a child is said in one line; a
child that keeps dying ends everything, with its last words.
"""

import asyncio
import contextlib
import ctypes
import os
import signal
import sys
import time
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

PR_SET_PDEATHSIG = 1
LAST_WORDS = 12
READ_AT_ONCE = 64 * 1024


class CannotRun(Exception):
    """A program cannot start, or dies again and again."""

    def __init__(self, *, name: str, why: str) -> None:
        super().__init__(f"{name} {why}")
        self.name = name
        self.why = why


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """What to run. `is_ready` is asked until it says yes; a quiet one's lines are kept for its obituary alone."""

    name: str
    command: tuple[str, ...]
    folder: Path | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    is_ready: Callable[[], Awaitable[bool]] | None = None
    is_quiet: bool = False
    ready_within_s: float = 60
    stop_within_s: float = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long to wait before the next start, and when to give up."""

    first_pause_s: float = 0.5
    longest_pause_s: float = 10
    settled_after_s: float = 20
    deaths_in_a_row: int = 5

    def pause_s(self, deaths: int) -> float:
        """Say how long to wait after so many deaths in a row."""
        return min(self.first_pause_s * 2.0 ** (deaths - 1), self.longest_pause_s)


class Child:
    """One running program and what it said last."""

    def __init__(self, *, program: Program, say: Callable[[str], None]) -> None:
        """Remember what to run and where its lines go."""
        self.program = program
        self.last_words: deque[str] = deque(maxlen=LAST_WORDS)
        self.started_at = 0.0
        self.deaths = 0
        self._say = say
        self._process: asyncio.subprocess.Process | None = None
        self._reader: asyncio.Task[None] | None = None

    @property
    def process(self) -> asyncio.subprocess.Process:
        """Give the running process."""
        if self._process is None:
            raise CannotRun(name=self.program.name, why="was never started")
        return self._process

    async def start(self) -> None:
        """Start the program.

        Raises:
            CannotRun: the system refuses to start it.
        """
        self.last_words.clear()
        reading, writing = os.pipe()
        try:
            self._process = await asyncio.create_subprocess_exec(
                *self.program.command,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=writing,
                stderr=asyncio.subprocess.STDOUT,
                cwd=self.program.folder,
                env={**os.environ, **self.program.environment},
                start_new_session=True,  # Ctrl-C reaches us alone; we end the children in order
                preexec_fn=die_with_parent,
            )
        except OSError as error:
            os.close(reading)
            raise CannotRun(name=self.program.name, why=f"cannot start: {error}") from None
        finally:
            os.close(writing)
        self.started_at = time.monotonic()
        self._reader = asyncio.create_task(self._relay(reading))

    async def wait_until_ready(self) -> None:
        """Wait until the program does its work.

        Raises:
            CannotRun: it ended first, or it takes too long.
        """
        if self.program.is_ready is None:
            return
        deadline = time.monotonic() + self.program.ready_within_s
        while not await self.program.is_ready():
            if self.process.returncode is not None:
                raise CannotRun(name=self.program.name, why=f"cannot start: {await self.obituary()}")
            if time.monotonic() > deadline:
                raise CannotRun(
                    name=self.program.name,
                    why=f"is not ready after {self.program.ready_within_s:.0f} s{self._quoted()}",
                )
            await asyncio.sleep(0.1)

    async def obituary(self) -> str:
        """Say how the process ended, with its last words."""
        if self._reader is not None:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(asyncio.shield(self._reader), timeout=1)
        code = self.process.returncode
        how = f"ended with code {code}" if code is None or code >= 0 else f"was ended by {signal.Signals(-code).name}"
        return how + self._quoted()

    async def stop(self) -> None:
        """End the program and everything that it started: first politely, then not."""
        if self._process is None:
            return
        if self.process.returncode is None:
            self._signal(signal.SIGTERM, group=False)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.process.wait(), timeout=self.program.stop_within_s)
        self.sweep()
        await self.process.wait()

    def sweep(self) -> None:
        """End what the program left behind in its process group."""
        self._signal(signal.SIGKILL, group=True)

    def _signal(self, number: signal.Signals, *, group: bool) -> None:
        """Send a signal to the process or its whole group, either of which may be gone already."""
        with contextlib.suppress(ProcessLookupError):
            (os.killpg if group else os.kill)(self.process.pid, number)

    def _quoted(self) -> str:
        """Quote the last words, if there are any."""
        return "".join(f"\n    {line}" for line in self.last_words)

    async def _relay(self, reading: int) -> None:
        """Pass the program's lines on, marked with its name.

        The pipe is ours and not asyncio's, which would not notice a child's death while a grandchild holds its pipe.
        """
        stream = asyncio.StreamReader()
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(stream), os.fdopen(reading, "rb")
        )
        rest = b""
        while chunk := await stream.read(READ_AT_ONCE):
            *lines, rest = (rest + chunk).split(b"\n")
            if len(rest) > READ_AT_ONCE:  # a line without end must neither fill our memory nor block the program
                lines, rest = [*lines, rest], b""
            for line in lines:
                self._note(line)
        if rest:
            self._note(rest)
        transport.close()

    def _note(self, line: bytes) -> None:
        """Keep a line among the last words, and pass it on."""
        text = line.decode(errors="replace").rstrip()
        self.last_words.append(text)
        if not self.program.is_quiet:
            self._say(f"{self.program.name:>8} | {text}")


class Supervisor:
    """Starts children in order, watches them, ends them in reverse order."""

    def __init__(self, *, say: Callable[[str], None], patience: Patience | None = None) -> None:
        """Start with no children."""
        self._say = say
        self._patience = patience or Patience()
        self._children: list[Child] = []

    async def start(self, *programs: Program) -> None:
        """Start programs at once and wait until all of them are ready.

        Raises:
            CannotRun: one of them does not start.
        """
        fresh = [Child(program=program, say=self._say) for program in programs]
        for child in fresh:
            self._children.append(child)
            await child.start()
        for child in fresh:
            await child.wait_until_ready()

    async def watch(self) -> None:
        """Restart whatever dies, for ever.

        Raises:
            CannotRun: a child keeps dying.
        """
        watching = [asyncio.create_task(self._keep_alive(child)) for child in self._children]
        try:
            await asyncio.gather(*watching)
        finally:
            for task in watching:
                task.cancel()
            await asyncio.gather(*watching, return_exceptions=True)  # one of them may be in the middle of a start

    async def stop(self) -> None:
        """End all children, the last one started first."""
        for child in reversed(self._children):
            await child.stop()
        self._children.clear()

    async def _keep_alive(self, child: Child) -> None:
        """Restart one child whenever it dies."""
        while True:
            await child.process.wait()
            child.sweep()
            obituary = await child.obituary()
            lived_s = time.monotonic() - child.started_at
            child.deaths = 1 if lived_s > self._patience.settled_after_s else child.deaths + 1
            if child.deaths >= self._patience.deaths_in_a_row:
                raise CannotRun(name=child.program.name, why=f"keeps dying: {obituary}")
            pause = self._patience.pause_s(child.deaths)
            self._say(f"{child.program.name} {obituary.splitlines()[0]}; starting it again in {pause:g} s.")
            await asyncio.sleep(pause)
            await child.start()


def die_with_parent() -> None:
    """Let the kernel end this child when the supervisor is killed, where the system can do that."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
