"""What no reviewer should have to look for: floors, lengths, names, documented settings."""

import re
import subprocess
import sys
import tomllib
from itertools import chain
from pathlib import Path

import pytest
from django.conf import settings

from kubemoot_web.celery import app
from kubemoot_web.settings import env
from scheduler import task_names

ROOT = Path(settings.BASE_DIR)
PACKAGES = ("kubemoot_web", "scheduler", "providers")
LONGEST_FILE = 300
TEXT = (".py", ".md", ".yaml", ".yml", ".toml", ".html", ".css", ".js", ".lua", ".txt", ".cfg")
MACHINE_PATHS = re.compile("|".join((r"/" + r"work/", r"/" + r"root/", r"/" + r"home/\w", r"\.\./" + r"shared")))
TASKS = sorted(value for name, value in vars(task_names).items() if name.isupper() and isinstance(value, str))


def sources(*folders):
    """List our Python files, without the generated migrations."""
    return sorted(p for folder in folders for p in (ROOT / folder).rglob("*.py") if "migrations" not in p.parts)


def texts():
    """List every text file that git keeps."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    kept = (ROOT / name for name in listed.split("\0") if name)
    return sorted(p for p in kept if p.is_file() and (p.suffix in TEXT or p.name in ("Makefile", "run")))


def test_the_floors_hold():
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command; lint_imports_command()"]

    outcome = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)

    assert outcome.returncode == 0, outcome.stdout[-4000:]


def test_the_style_holds():
    outcome = subprocess.run(
        [sys.executable, "-m", "ruff", "check", "--quiet", "."], cwd=ROOT, capture_output=True, text=True, timeout=120
    )

    assert outcome.returncode == 0, outcome.stdout[-4000:]


def test_no_file_is_long():
    lengths = {str(path.relative_to(ROOT)): len(path.read_text().splitlines()) for path in sources(*PACKAGES, "tests")}

    assert {name: length for name, length in lengths.items() if length > LONGEST_FILE} == {}


def test_no_module_is_a_drawer_for_everything():
    drawers = {"utils", "helpers", "common", "misc", "signals"}

    assert [path for path in sources(*PACKAGES) if path.stem in drawers] == []


@pytest.mark.parametrize("task", TASKS)
def test_every_task_name_is_registered_and_routed(task):
    app.loader.import_default_modules()

    assert task in app.tasks
    assert app.amqp.router.route({}, task)["queue"].name in ("scheduler", "probes", "agents")


def test_beat_sends_only_tasks_that_exist_and_lets_them_expire():
    for entry in settings.CELERY_BEAT_SCHEDULE.values():
        assert entry["task"] in TASKS
        assert entry["options"]["expires"] <= entry["schedule"]


def test_no_long_work_can_be_delivered_twice():
    """C89: a broker that hands an unacknowledged task to a second worker."""
    assert settings.CELERY_BROKER_TRANSPORT_OPTIONS["visibility_timeout"] >= 3600
    assert not app.conf.task_acks_late


@pytest.mark.parametrize("variable", env.variables())
def test_every_setting_is_in_the_readme(variable):
    assert f"| `{variable}` |" in (ROOT / "README.md").read_text()


def test_the_readme_names_no_setting_that_does_not_exist():
    named = set(re.findall(r"^\| `([A-Z_]+)` \|", (ROOT / "README.md").read_text(), flags=re.MULTILINE))

    assert named - set(env.variables()) == set()


def test_nothing_names_a_folder_of_somebodys_machine():
    found = [
        f"{path.relative_to(ROOT)}: {line.strip()}"
        for path in texts()
        for line in path.read_text().splitlines()
        if MACHINE_PATHS.search(line)
    ]

    assert found == []


def test_templates_hold_no_inline_style_or_script():
    """The content security policy refuses both, silently for whoever does not open the console."""
    inline = re.compile(r"<script(?![^>]*(src=|application/json))|<style| style=| on[a-z]+=\"")
    found = [
        f"{path.relative_to(ROOT)}: {line.strip()}"
        for path in sorted((ROOT / "templates").rglob("*.html"))
        for line in path.read_text().splitlines()
        if inline.search(line)
    ]

    assert found == []


def test_dependencies_have_lower_and_upper_bounds():
    """A release of somebody else's must not break a fresh clone."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    packages = [*project["dependencies"], *chain.from_iterable(project["optional-dependencies"].values())]

    assert [
        package for package in packages if not re.fullmatch(r"[\w.-]+(\[[\w,-]+\])?>=[\w.]+,<[\w.]+", package)
    ] == []
