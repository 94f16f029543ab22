"""`manage.py bench`: what this machine reaches, each figure beside its floor measured in the same run.

To add a bench: a module in `kubemoot_web/management/benches` with a class like `figures.Bench`, and its name here.
"""

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand

from kubemoot_web.management.benches.claims import ClaimsBench
from kubemoot_web.management.benches.decide import DecideBench
from kubemoot_web.management.benches.figures import Bench
from kubemoot_web.management.benches.idle import IdleBench
from kubemoot_web.management.benches.table import document, table
from kubemoot_web.management.benches.wake import WakeBench

BENCHES: tuple[Bench, ...] = (DecideBench(), ClaimsBench(), WakeBench(), IdleBench())


class Command(BaseCommand):
    """Measures one subject and prints a table."""

    help = "Measure how fast Kubemoot is on this machine."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare a subcommand for each bench."""
        subjects = parser.add_subparsers(dest="bench", required=True, metavar="BENCH")
        for bench in BENCHES:
            subject = subjects.add_parser(bench.name, help=bench.help, description=bench.help)
            subject.add_argument("--json", metavar="FILE", type=Path, help="also write the figures there, as JSON")
            bench.add_arguments(subject)

    def handle(self, *_: str, **options: Any) -> None:
        """Measure, print, write."""
        bench = next(each for each in BENCHES if each.name == options["bench"])
        figures = bench.run(options=options, progress=self._say)
        self.stdout.write(table(figures))
        if options["json"] is not None:
            path: Path = options["json"]
            path.write_text(json.dumps(document(bench=bench.name, figures=figures), indent=2) + "\n", encoding="utf-8")

    def _say(self, sentence: str) -> None:
        self.stderr.write(sentence)
