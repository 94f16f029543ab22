"""`manage.py up` says why it cannot start."""

import os
import socket
import subprocess
import sys

import pytest
from django.conf import settings

from kubemoot_web.management import programs


def up(*arguments, data, **environment):
    """Run the command as a person would, with nothing of this test run's environment."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("KUBEMOOT_", "REDIS_"))}
    clean.pop("DJANGO_SETTINGS_MODULE", None)
    return subprocess.run(
        [sys.executable, "manage.py", "up", "--data", str(data), *arguments],
        cwd=settings.BASE_DIR,
        env={**clean, **environment},
        capture_output=True,
        text=True,
        timeout=60,
    )


@pytest.fixture
def taken_port():
    """Listen on a port that somebody else might want."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield listener.getsockname()[1]


def test_a_taken_port_is_named_with_what_to_do(taken_port, tmp_path):
    outcome = up("--port", str(taken_port), data=tmp_path)

    assert outcome.returncode == 1
    assert (
        f"web cannot start: port {taken_port} on 127.0.0.1 is taken by another program. "
        "End that program, or choose another port with --port."
    ) in outcome.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--host", "192.0.2.1"), "Cannot listen on 192.0.2.1 port 8000: "),
        (("--host", "no.such.host.invalid"), "Cannot listen on no.such.host.invalid port 8000: "),
        (("--port", "70000"), "Cannot listen on 127.0.0.1 port 70000: "),
    ],
)
def test_an_address_that_nobody_could_have_is_not_called_taken(arguments, said, tmp_path):
    outcome = up(*arguments, data=tmp_path)

    assert outcome.returncode == 1
    assert said in outcome.stderr


def test_a_second_start_on_the_same_folder_is_refused(tmp_path):
    holder = subprocess.Popen(
        [sys.executable, "-uc", HOLD, str(tmp_path / "up.lock")], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    holder.stdout.readline()

    outcome = up("--port", "0", data=tmp_path)

    holder.communicate(b"\n", timeout=10)
    assert outcome.returncode == 1
    assert f"Kubemoot already runs on {tmp_path}." in outcome.stderr


HOLD = (
    "import fcntl, sys\n"
    "lock = open(sys.argv[1], 'a')\n"
    "fcntl.flock(lock, fcntl.LOCK_EX)\n"
    "print('held')\n"
    "sys.stdin.readline()"
)


def test_a_wrong_setting_is_named_with_what_to_write(tmp_path):
    outcome = up(data=tmp_path, KUBEMOOT_TICKET_LEASE_SECONDS="soon")

    assert outcome.returncode == 1
    assert "KUBEMOOT_TICKET_LEASE_SECONDS: 'soon' is not right" in outcome.stderr
    assert "Write for example KUBEMOOT_TICKET_LEASE_SECONDS=15" in outcome.stderr


def test_a_wanted_port_is_used_when_it_is_free_and_another_one_when_not(taken_port):
    other = programs.free_port(wanted=taken_port)

    assert other != taken_port
    assert programs.free_port(wanted=other) == other


@pytest.mark.parametrize(
    ("host", "reached_as"),
    [("127.0.0.1", "127.0.0.1"), ("0.0.0.0", "127.0.0.1"), ("::", "[::1]"), ("moot.lan", "moot.lan")],
)
def test_the_address_for_people_is_one_that_can_be_reached(host, reached_as):
    assert programs.url_host(programs.reachable_host(host)) == reached_as
