"""A server's cap holds over all processes, whatever is killed, and nobody's call is lost."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest
from django.conf import settings

from kubemoot_web.management import programs
from tests.e2e.conftest import LEASE_S, SPEED, Stack
from tests.e2e.gateway import is_idle
from tests.fakes.engine_server import engine_process, read_state
from tests.fakes.running import CLEAN

pytestmark = pytest.mark.e2e

CALLS = int(os.environ.get("KUBEMOOT_CAP_CALLS", "50"))
CALLERS, CAP, MODEL = 8, 3, "capped:1b"
SERVER = """
apiVersion: kubemoot.ai/v1alpha1
kind: ModelServer
metadata: {name: capped}
spec: {type: ollama, endpoint: "%s", scheduling: {memoryMiB: 16384, maxParallel: 8, maxConcurrent: 3}}
"""


@pytest.fixture
def engine(stack: Stack) -> Iterator[str]:
    """Register an engine that would take eight calls at once, with a cap of three."""
    machine = ("--memory-mib", "16384", "--models", f"{MODEL}=2000", "--slots", "8", "--speed", SPEED)
    with engine_process("--port", "0", *machine) as (_, (url,)):
        stack.rest.call("POST", "/apply", SERVER % url)
        stack.rest.until(lambda p: any(s["name"] == "capped" and s["ready"] for s in p["servers"]))
        try:
            yield url
        finally:
            stack.rest.call("DELETE", "/resources/modelservers/default/capped")


@contextmanager
def second_web(stack: Stack) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """Run one more web process of the same installation."""
    port = programs.free_port(wanted=0)
    command = programs.web(host="127.0.0.1", port=port, environment={}).command
    more = {"KUBEMOOT_DATA": str(stack.data)}
    more |= {f"KUBEMOOT_{what}_LEASE_SECONDS": str(LEASE_S) for what in ("TICKET", "WAITER")}
    process = subprocess.Popen(command, cwd=settings.BASE_DIR, env=CLEAN | more)
    try:
        deadline = time.monotonic() + 60
        while not is_listening(port):
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.05)
        yield process, f"127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


def is_listening(port: int) -> bool:
    """Say whether somebody accepts connections there."""
    return not programs.port_is_free(host="127.0.0.1", port=port)


def begin(addresses: list[str], key: str) -> "subprocess.Popen[str]":
    """Start one program that calls."""
    command = [sys.executable, "-m", "tests.e2e.cap_caller", ",".join(addresses), key, MODEL, str(CALLS)]
    return subprocess.Popen(command, cwd=settings.BASE_DIR, env=CLEAN, stdout=subprocess.PIPE, text=True)


def sent(engine: str) -> int:
    """Count the calls that reached the engine."""
    return int(read_state(engine)["requests"].get("POST /v1/chat/completions", 0))


def test_eight_programs_and_two_web_processes_never_pass_a_cap_of_three(stack: Stack, engine: str):
    """A-31, C37: with a limit in each process the engine got it as often as there were processes."""
    with ExitStack() as running:
        web, other = running.enter_context(second_web(stack))
        addresses = [stack.rest.address.removeprefix("http://"), other]
        callers = [running.enter_context(begin(addresses, stack.rest.token)) for _ in range(CALLERS)]
        running.callback(lambda: [caller.kill() for caller in callers])
        for victim, after in ((callers[0], CALLERS * CALLS // 5), (web, CALLERS * CALLS * 2 // 5)):
            while sent(engine) < after:
                time.sleep(0.02)
            victim.send_signal(signal.SIGKILL)
        told: list[dict[str, Any]] = [json.loads(caller.communicate(timeout=300)[0]) for caller in callers[1:]]

    assert [each["served"] for each in told] == [CALLS] * (CALLERS - 1)
    assert sum(each["broken"] for each in told) > 0  # somebody did meet the web process that was killed
    is_idle(stack)
    assert read_state(engine)["maxInFlight"] == {MODEL: CAP}
