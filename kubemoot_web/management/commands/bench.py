"""`manage.py bench`: what this machine reaches, each figure beside its floor measured in the same run.

To add a bench: a module in `kubemoot_web/management/benches` with a class like `figures.Bench`, and its name here.
"""

import json
from argparse import SUPPRESS, ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand

from kubemoot_web.management.benches.board import BoardBench
from kubemoot_web.management.benches.claims import ClaimsBench
from kubemoot_web.management.benches.decide import DecideBench
from kubemoot_web.management.benches.figures import Bench
from kubemoot_web.management.benches.gateway import GatewayBench
from kubemoot_web.management.benches.idle import IdleBench
from kubemoot_web.management.benches.table import document, table
from kubemoot_web.management.benches.wake import WakeBench

BENCHES: tuple[Bench, ...] = (DecideBench(), ClaimsBench(), WakeBench(), BoardBench(), GatewayBench(), IdleBench())


class Command(BaseCommand):
    """Measures one subject, or each in turn, and prints tables."""

    help = "Measure how fast Kubemoot is on this machine: one subject, or everything where none is named."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare a subcommand for each bench."""
        _add_json(parser, default=None)
        subjects = parser.add_subparsers(dest="bench", metavar="BENCH")
        for bench in BENCHES:
            subject = subjects.add_parser(bench.name, help=bench.help, description=bench.help)
            _add_json(subject, default=SUPPRESS)
            bench.add_arguments(subject)

    def handle(self, *_: str, **options: Any) -> None:
        """Measure, print, write."""
        documents = []
        for bench in BENCHES:
            if options["bench"] not in (None, bench.name):
                continue
            own = options if options["bench"] else _defaults(bench)
            figures = bench.run(options=own, progress=self._say)
            self.stdout.write(f"{bench.name}\n{table(figures)}\n")
            self.stdout.flush()
            documents.append(document(bench=bench.name, figures=figures))
        path: Path | None = options["json"]
        if path is not None:
            path.write_text(json.dumps(documents, indent=2) + "\n", encoding="utf-8")

    def _say(self, sentence: str) -> None:
        self.stderr.write(sentence)


def _add_json(parser: ArgumentParser, *, default: str | None) -> None:
    parser.add_argument(
        "--json", metavar="FILE", type=Path, default=default, help="also write the figures there, as JSON"
    )


def _defaults(bench: Bench) -> dict[str, Any]:
    """Give the options of a bench that nobody gave any."""
    parser = ArgumentParser()
    bench.add_arguments(parser)
    return vars(parser.parse_args([]))
