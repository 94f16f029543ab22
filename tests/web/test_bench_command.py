"""`manage.py bench`: one subject with its own options, or all of them."""

import json

import pytest
from django.core.management import call_command

from kubemoot_web.management.benches.figures import Figure
from kubemoot_web.management.commands import bench


class Counted:
    """A bench that shows what it was asked."""

    help = "Count."

    def __init__(self, name):
        self.name = name

    def add_arguments(self, parser):
        parser.add_argument("--rounds", type=int, default=7)

    def run(self, *, options, progress):
        progress(f"{self.name} ...")
        return [Figure(case=self.name, measure="rounds", value=options["rounds"], unit="")]


@pytest.fixture(autouse=True)
def benches(monkeypatch):
    monkeypatch.setattr(bench, "BENCHES", (Counted("one"), Counted("two")))


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((), {"one": 7, "two": 7}),
        (("two",), {"two": 7}),
        (("one", "--rounds", "3"), {"one": 3}),
    ],
)
def test_everything_is_measured_where_nothing_is_named(arguments, expected, tmp_path, capsys):
    path = tmp_path / "figures.json"

    call_command("bench", "--json", str(path), *arguments)

    said = capsys.readouterr()
    assert {each["bench"]: each["figures"][0]["value"] for each in json.loads(path.read_text())} == expected
    assert [line for line in said.out.splitlines() if line in ("one", "two")] == list(expected)
    assert said.err.splitlines() == [f"{name} ..." for name in expected]


def test_the_file_may_be_named_behind_the_subject_too(tmp_path):
    path = tmp_path / "figures.json"

    call_command("bench", "one", "--json", str(path))

    assert [each["bench"] for each in json.loads(path.read_text())] == ["one"]
