"""The supervisor, with real processes."""

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from kubemoot_web.management.supervisor import CannotRun, Patience, Program, Supervisor

HASTY = Patience(first_pause_s=0.01, longest_pause_s=0.02, deaths_in_a_row=3)


class Heard:
    """Collects what the supervisor says and wakes whoever waits for a sentence."""

    def __init__(self):
        self.lines = []
        self._changed = asyncio.Event()

    def __call__(self, line):
        self.lines.append(line)
        self._changed.set()

    async def until(self, count, text):
        """Wait until `text` was said so many times."""
        async with asyncio.timeout(10):
            while sum(text in line for line in self.lines) < count:
                self._changed.clear()
                await self._changed.wait()


def python(name, code, **more):
    """Describe a program of a few lines."""
    return Program(name=name, command=(sys.executable, "-uc", code), **more)


FOR_EVER = "import os, time; print('pid', os.getpid()); time.sleep(60)"


def pids(heard, name):
    """List the process ids that a program printed."""
    return [int(line.rsplit(" ", 1)[1]) for line in heard.lines if f"{name} | pid " in line]


def is_alive(pid):
    """Say whether a process runs (a zombie does not)."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


async def until_gone(*pids):
    """Wait until the kernel has ended processes that are not our children and so cannot be waited for."""
    async with asyncio.timeout(5):
        while any(is_alive(pid) for pid in pids):  # noqa: ASYNC110 - there is no event to wait for
            await asyncio.sleep(0.01)


async def test_a_child_that_is_killed_is_started_again_and_said_so():
    heard = Heard()
    supervisor = Supervisor(say=heard, patience=HASTY)
    await supervisor.start(python("web", FOR_EVER))
    watching = asyncio.create_task(supervisor.watch())
    await heard.until(1, "| pid")

    os.kill(pids(heard, "web")[0], signal.SIGKILL)
    await heard.until(2, "| pid")

    watching.cancel()
    await supervisor.stop()
    assert "web was ended by SIGKILL; starting it again in 0.01 s." in heard.lines
    assert not any(is_alive(pid) for pid in pids(heard, "web"))


async def test_a_killed_child_is_started_again_although_its_own_child_lives_on():
    """A worker's timer outlives its killed worker and holds its output: it must neither hide the death nor go on."""
    heard = Heard()
    parent = (
        "import os, subprocess, sys, time\n"
        "print('pid', subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)']).pid)\n"
        "print('pid', os.getpid())\ntime.sleep(60)"
    )
    supervisor = Supervisor(say=heard, patience=HASTY)
    await supervisor.start(python("worker", parent))
    watching = asyncio.create_task(supervisor.watch())
    await heard.until(2, "| pid")
    timer, worker = pids(heard, "worker")

    os.kill(worker, signal.SIGKILL)
    await heard.until(4, "| pid")

    await until_gone(timer, worker)
    watching.cancel()
    await supervisor.stop()


async def test_a_child_that_keeps_dying_ends_the_watch_with_its_last_words():
    supervisor = Supervisor(say=Heard(), patience=HASTY)
    await supervisor.start(python("worker", "print('no such broker'); raise SystemExit(3)"))

    with pytest.raises(CannotRun) as caught:
        await asyncio.wait_for(supervisor.watch(), timeout=10)

    await supervisor.stop()
    assert str(caught.value) == "worker keeps dying: ended with code 3\n    no such broker"


async def test_a_child_that_ends_before_it_is_ready_cannot_start():
    async def never():
        return False

    supervisor = Supervisor(say=Heard())

    with pytest.raises(CannotRun) as caught:
        await supervisor.start(python("web", "print('port taken'); raise SystemExit(1)", is_ready=never))

    await supervisor.stop()
    assert str(caught.value) == "web cannot start: ended with code 1\n    port taken"


async def test_a_child_that_is_never_ready_is_named():
    async def never():
        return False

    supervisor = Supervisor(say=Heard())

    with pytest.raises(CannotRun, match="web is not ready after 0 s"):
        await supervisor.start(python("web", FOR_EVER, is_ready=never, ready_within_s=0))

    await supervisor.stop()


async def test_a_program_that_does_not_exist_cannot_start():
    supervisor = Supervisor(say=Heard())

    with pytest.raises(CannotRun, match=r"valkey cannot start: .*No such file"):
        await supervisor.start(Program(name="valkey", command=("/nowhere/valkey",)))

    await supervisor.stop()


async def test_children_are_ended_in_reverse_order():
    """The web process must be able to say good-bye to Valkey."""
    heard = Heard()
    polite = (
        "import os, signal, sys, time\n"
        "signal.signal(signal.SIGTERM, lambda *_: (print('bye'), sys.exit(0)))\n"
        "print('pid', os.getpid())\ntime.sleep(60)"
    )
    supervisor = Supervisor(say=heard)
    await supervisor.start(python("valkey", polite))
    await supervisor.start(python("web", polite))
    await heard.until(2, "| pid")

    await supervisor.stop()
    await heard.until(2, "| bye")

    assert [line.split("|")[0].strip() for line in heard.lines if line.endswith("bye")] == ["web", "valkey"]


async def test_a_child_that_ignores_the_signal_is_killed_with_everything_it_started():
    heard = Heard()
    stubborn = (
        "import os, signal, subprocess, sys, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "grandchild = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        "print('pid', grandchild.pid)\nprint('pid', os.getpid())\ntime.sleep(60)"
    )
    supervisor = Supervisor(say=heard)
    await supervisor.start(python("worker", stubborn, stop_within_s=0.1))
    await heard.until(2, "| pid")

    await supervisor.stop()

    await until_gone(*pids(heard, "worker"))


async def test_children_end_when_the_supervisor_itself_is_killed():
    code = (
        "import asyncio, sys\n"
        "from kubemoot_web.management.supervisor import Program, Supervisor\n"
        f"program = Program(name='web', command=(sys.executable, '-uc', {FOR_EVER!r}))\n"
        "async def main():\n"
        "    supervisor = Supervisor(say=lambda line: print(line, flush=True))\n"
        "    await supervisor.start(program)\n"
        "    await supervisor.watch()\n"
        "asyncio.run(main())"
    )
    outer = await asyncio.create_subprocess_exec(sys.executable, "-c", code, stdout=asyncio.subprocess.PIPE)
    line = await asyncio.wait_for(outer.stdout.readline(), timeout=20)
    child = int(line.decode().rsplit(" ", 1)[1])

    outer.kill()
    await outer.communicate()

    await until_gone(child)


async def test_a_line_without_end_blocks_nobody():
    heard = Heard()
    supervisor = Supervisor(say=heard)
    await supervisor.start(python("web", "import sys; sys.stdout.write('x' * 300_000); print(); print('done')"))

    await heard.until(1, "| done")

    await supervisor.stop()
    assert sum(line.count("x") for line in heard.lines) == 300_000
