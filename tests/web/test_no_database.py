"""Commands where nothing is set up yet say so instead of showing a trace."""

import os
import subprocess
import sys

import pytest
from django.conf import settings

FILE = "deploy/demo.yaml"


@pytest.mark.parametrize("command", [("token", "robot"), ("apply", "-f", FILE)], ids=["token", "apply"])
def test_a_command_that_finds_no_tables_says_what_to_do(tmp_path, command):
    done = subprocess.run(
        [sys.executable, "manage.py", *command],
        cwd=settings.BASE_DIR,
        env={**os.environ, "KUBEMOOT_DATA": str(tmp_path), "DATABASE_URL": "", "PYTHONWARNINGS": "ignore"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("CommandError: The database cannot be used (no such table")
    assert done.stderr.endswith("KUBEMOOT_DATA=data/demo.\n")
