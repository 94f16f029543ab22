"""The simulator as a process of its own."""

import os
import signal
import subprocess
import sys

import pytest

from tests.fakes.engine_server import ROOT, engine_process, read_state

PARENT = """
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-m", "providers.simulator"], stdout=sys.stdout)
print("child", child.pid, flush=True)
time.sleep(60)
"""


def test_a_process_serves_several_machines_and_says_where():
    with engine_process(
        "--server", "0:32768", "--server", "0:24576", "--preload", "qwen3:8b", "--speed", "500", "--slots", "2"
    ) as (process, (first, second)):
        states = [read_state(first), read_state(second)]
        process.send_signal(signal.SIGTERM)

        assert process.wait(timeout=10) == 0
    assert [(s["memoryMib"], s["slots"], s["loaded"]) for s in states] == [
        (32768, 2, ["qwen3:8b"]),
        (24576, 2, ["qwen3:8b"]),
    ]


@pytest.mark.parametrize(
    ("arguments", "loaded"),
    [
        (("--kind", "ollama"), []),
        (("--kind", "llamacpp"), []),
        (("--kind", "llamacpp", "--preload", "qwen3:14b", "--speed", "500"), ["qwen3:14b"]),
        (("--kind", "llamacpp-single"), ["qwen3:8b"]),
        (("--kind", "vllm"), ["qwen3:8b", "qwen3:14b"]),
    ],
)
def test_a_process_serves_what_its_kind_is(arguments, loaded):
    with engine_process(*arguments, "--models", "qwen3:8b,qwen3:14b") as (_, (url,)):
        state = read_state(url)

    assert (state["kind"], state["loaded"]) == (arguments[1], loaded)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--models", "never-heard-of:1b"], "never-heard-of:1b"),
        (["--server", "gpu-1"], "PORT:MEMORY_MIB"),
        (["--preload", "qwen3:70b"], "qwen3:70b"),
        (["--kind", "llamacpp-single", "--preload", "qwen3:8b"], "from its start"),
        (["--kind", "llamacpp-single", "--models", ""], "name one"),
        (["--kind", "vllm", "--memory-mib", "9216"], "9216 MiB"),
        (["--kind", "no-such-engine"], "llamacpp-single"),
    ],
)
def test_what_cannot_be_simulated_is_said_and_nothing_is_served(arguments, words):
    done = subprocess.run(
        [sys.executable, "-m", "providers.simulator", *arguments], cwd=ROOT, capture_output=True, text=True, timeout=30
    )

    assert done.returncode == 2
    assert words in done.stderr


def test_a_port_that_is_taken_is_said():
    with engine_process() as (_, (url,)):
        port = url.rpartition(":")[2]
        done = subprocess.run(
            [sys.executable, "-m", "providers.simulator", "--port", port],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=30,
        )

    assert done.returncode == 1
    assert "cannot listen" in done.stderr


def test_a_simulator_ends_with_its_parent():
    with subprocess.Popen([sys.executable, "-c", PARENT], cwd=ROOT, stdout=subprocess.PIPE, text=True) as parent:
        lines = sorted(parent.stdout.readline().split() for _ in range(2))
        assert [line[0] for line in lines] == ["child", "listening"]
        child = os.pidfd_open(int(lines[0][1]))
        try:
            parent.kill()

            # The pipe ends only when nobody holds it any more: neither the parent nor its child.
            assert parent.stdout.read() == ""
        finally:
            os.close(child)
