"""`manage.py up` as a whole, with every real process."""

import http.cookiejar
import json
import os
import signal
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from tests.fakes.running import make_token, running

pytestmark = pytest.mark.e2e
START_WITHIN_S = 60


def get(url, *, opener=None):
    """Fetch an address and give status, body and final address."""
    try:
        with (opener or urllib.request.build_opener()).open(url, timeout=10) as answer:
            return answer.status, answer.read().decode(), answer.url
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode(), error.url


def ask(url, *, token):
    """Make a REST call and give its body."""
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.loads(answer.read())


def test_the_demo_lets_two_crews_share_two_gpus(tmp_path):
    with running("--demo", data=tmp_path) as up:
        address = up.wait_for(r"Kubemoot runs at (http://127\.0\.0\.1:\d+)/")
        token = make_token(data=tmp_path, name="looker", scopes="read")
        deadline = time.monotonic() + START_WITHIN_S
        finished = set()
        while finished < {"default/lab", "default/studio"} and time.monotonic() < deadline:
            calls = ask(f"{address}/api/v1/calls", token=token)["calls"]
            finished = {call["crew"] for call in calls if call["state"] == "done"}
            time.sleep(0.5)
        servers = ask(f"{address}/api/v1/cluster", token=token)["servers"]

    assert up.process.returncode == 0, "\n".join(up.lines[-40:])
    assert finished == {"default/lab", "default/studio"}, "\n".join(up.lines[-40:])
    assert [(s["name"], s["ready"], s["memory"]["totalMiB"]) for s in servers] == [
        ("gpu-1", True, 32768),
        ("gpu-2", True, 24576),
    ]


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
    assert signed_in[2] == f"{address}/start/", "there is nothing to watch yet"
    assert signed_in_again_elsewhere[0] == 403
    assert sorted(command.split()[0].rsplit("/", 1)[1].rstrip("3") for command in children.values()) == [
        "python",
        "python",
        "valkey-server",
    ]
    assert not any(Path(f"/proc/{pid}").exists() for pid in children)
    assert not (tmp_path / "valkey.sock").exists()


def test_after_a_kill_it_starts_again_at_once_on_the_same_port_and_data(tmp_path):
    """The children of a killed supervisor need a moment to end; whoever restarts it must not have to know that."""
    with running(data=tmp_path) as first:
        address = first.wait_for(r"Kubemoot runs at (http://127\.0\.0\.1:\d+)/")
        children = first.children()
        first.process.kill()
        first.process.wait()

    with running("--port", address.rsplit(":", 1)[1], data=tmp_path) as second:
        again = second.wait_for(r"Kubemoot runs at (http://127\.0\.0\.1:\d+)/")

    assert again == address
    assert second.process.returncode == 0, "\n".join(second.lines[-40:])
    assert not any(Path(f"/proc/{pid}").exists() for pid in children)
