"""`manage.py up` as a whole, with every real process."""

import http.cookiejar
import json
import os
import re
import signal
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from contextlib import contextmanager
from pathlib import Path

import pytest
from django.conf import settings

pytestmark = pytest.mark.e2e
START_WITHIN_S = 60


class Running:
    """A running `manage.py up` and the lines that it has printed."""

    def __init__(self, process):
        self.process = process
        self.lines = []
        self._grew = threading.Condition()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            with self._grew:
                self.lines.append(line.rstrip())
                self._grew.notify_all()

    def wait_for(self, pattern):
        """Wait for a line and give what it matched."""
        with self._grew:
            found = self._grew.wait_for(
                lambda: next((m for line in self.lines if (m := re.search(pattern, line))), None), START_WITHIN_S
            )
        assert found, "\n".join(self.lines[-40:])
        return found[1] if found.groups() else found[0]

    def children(self):
        """List the process ids of the direct children with their command lines."""
        listed = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        return {int(pid): Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ") for pid in listed}


@contextmanager
def running(*arguments, data):
    """Run `manage.py up` on a free port, and end it by Ctrl-C."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("KUBEMOOT_", "REDIS_"))}
    clean.pop("DJANGO_SETTINGS_MODULE", None)
    process = subprocess.Popen(
        [sys.executable, "-u", "manage.py", "up", "--port", "0", "--data", str(data), *arguments],
        cwd=settings.BASE_DIR,
        env=clean,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        yield Running(process)
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise


def get(url, *, opener=None):
    """Fetch an address and give status, body and final address."""
    try:
        with (opener or urllib.request.build_opener()).open(url, timeout=10) as answer:
            return answer.status, answer.read().decode(), answer.url
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode(), error.url


def test_everything_starts_a_killed_worker_comes_back_and_ctrl_c_ends_it_all(tmp_path):
    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()))

    with running(data=tmp_path) as up:
        address = up.wait_for(r"Kubemoot runs at (http://127\.0\.0\.1:\d+)/")
        link = up.wait_for(r"Sign in once with (\S+)")
        ready = get(f"{address}/readyz")
        signed_in = get(link, opener=browser)
        signed_in_again_elsewhere = get(link)
        children = up.children()
        worker = next(pid for pid, command in children.items() if " worker " in command)
        os.kill(worker, signal.SIGKILL)
        up.wait_for("worker was ended by SIGKILL; starting it again")

    assert up.process.returncode == 0, "\n".join(up.lines[-40:])
    assert ready[0] == 200
    assert json.loads(ready[1]) == {"status": "ok", "parts": {"database": "ok", "redis": "ok", "worker": "ok"}}
    assert signed_in[2] == f"{address}/"
    assert signed_in_again_elsewhere[0] == 403
    assert sorted(command.split()[0].rsplit("/", 1)[1].rstrip("3") for command in children.values()) == [
        "python",
        "python",
        "valkey-server",
    ]
    assert not any(Path(f"/proc/{pid}").exists() for pid in children)
    assert not (tmp_path / "valkey.sock").exists()
