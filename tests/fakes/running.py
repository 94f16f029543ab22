"""A running `manage.py up`, and its REST API, as a person or a program meets them: from outside."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from django.conf import settings

START_WITHIN_S = 60
OURS = ("KUBEMOOT_", "REDIS_", "DATABASE_", "DJANGO_")
CLEAN = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}


class Running:
    """A running `manage.py up` and the lines that it has printed."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.lines: list[str] = []
        self._grew = threading.Condition()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            with self._grew:
                self.lines.append(line.rstrip())
                self._grew.notify_all()

    def close(self) -> None:
        """Let go of the output once the process has ended."""
        self._reader.join()
        assert self.process.stdout is not None
        self.process.stdout.close()

    def wait_for(self, pattern: str) -> str:
        """Wait for a line and give what it matched."""
        with self._grew:
            found = self._grew.wait_for(
                lambda: next((m for line in self.lines if (m := re.search(pattern, line))), None), START_WITHIN_S
            )
        assert found, "\n".join(self.lines[-40:])
        return found[1] if found.groups() else found[0]

    def address(self) -> str:
        """Wait until everything runs and give its address."""
        return self.wait_for(r"Kubemoot runs at (http://127\.0\.0\.1:\d+)/")

    def children(self) -> dict[int, str]:
        """List the process ids of the direct children with their command lines."""
        found = {}
        for pid in Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split():
            with suppress(FileNotFoundError, ProcessLookupError):  # one that was just killed may be gone by now
                found[int(pid)] = Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
        return found


@contextmanager
def running(*arguments: str, data: Path, **environment: str) -> Iterator[Running]:
    """Run `manage.py up` on a free port, and end it by Ctrl-C."""
    process = subprocess.Popen(
        [sys.executable, "-u", "manage.py", "up", "--port", "0", "--data", str(data), *arguments],
        cwd=settings.BASE_DIR,
        env=CLEAN | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    up = Running(process)
    try:
        yield up
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise
        finally:
            up.close()


def make_token(*more: str, data: Path, name: str = "tests", scopes: str = "read,call,write,admin") -> str:
    """Make a token the way a person does; `more` are further options."""
    made = subprocess.run(
        [sys.executable, "manage.py", "token", name, "--scopes", scopes, *more],
        cwd=settings.BASE_DIR,
        env={**CLEAN, "KUBEMOOT_DATA": str(data)},
        capture_output=True,
        text=True,
        check=True,
    )
    return made.stdout.strip()


class Rest:
    """The REST API by plain HTTP. `call` gives status and body; an error is an answer like any other."""

    def __init__(self, *, address: str, token: str) -> None:
        self.address = address
        self.token = token

    def call(self, method: str, path: str, body: object = None, *, timeout_s: float = 90) -> tuple[int, Any]:
        """Make one call; text goes as YAML, anything else as JSON."""
        data = body.encode() if isinstance(body, str) else None if body is None else json.dumps(body).encode()
        kind = "application/yaml" if isinstance(body, str) else "application/json"
        request = urllib.request.Request(
            f"{self.address}/api/v1{path}",
            data=data,
            method=method,
            headers={"Authorization": f"Bearer {self.token}", "Content-Type": kind},
        )
        try:
            with urllib.request.urlopen(request, timeout=timeout_s) as answer:
                return answer.status, json.loads(answer.read() or b"null")
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read() or b"null")

    def cluster(self) -> dict[str, Any]:
        """Give the live picture."""
        status, body = self.call("GET", "/cluster")
        assert status == 200, body
        picture: dict[str, Any] = body
        return picture

    def server(self, name: str) -> dict[str, Any]:
        """Give one server of the live picture."""
        found: dict[str, Any] = next(server for server in self.cluster()["servers"] if server["name"] == name)
        return found

    def until(self, what: Callable[[dict[str, Any]], object], *, within_s: float = 20) -> dict[str, Any]:
        """Look at the live picture until something holds in it."""
        deadline = time.monotonic() + within_s
        while True:
            picture = self.cluster()
            if what(picture):
                return picture
            assert time.monotonic() < deadline, json.dumps(picture, indent=1)
            time.sleep(0.1)
