"""`manage.py apply -f FILE...`: apply files of documents, all or none."""

import sys
from argparse import ArgumentParser
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from asgiref.sync import async_to_sync
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError

from kubemoot_web.crds.bundle import Source, decoded
from kubemoot_web.crds.diff import ObjectDiff
from kubemoot_web.crds.errors import ImportRefused
from kubemoot_web.crds.importing import Imported, bundle_apply
from kubemoot_web.management.no_database import no_database
from scheduler import bootstrap

STDIN = "-"


class Command(BaseCommand):
    """Applies files of documents, like kubectl, but all or none."""

    help = "Apply files of Kubemoot resources: all of them, or none when any is wrong."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the arguments."""
        parser.add_argument(
            "-f", "--filename", nargs="+", action="extend", required=True, metavar="FILE", help="a file; - reads stdin"
        )
        parser.add_argument("--dry-run", action="store_true", help="say what would change, and change nothing")

    def handle(self, *_: str, **options: Any) -> None:
        """Apply the files."""
        try:
            sources = [_read(name) for name in options["filename"]]
            imported = async_to_sync(_apply)(sources, dry_run=options["dry_run"])
        except ImportRefused as error:
            for problem in error.problems:
                self.stderr.write(problem.text(), self.style.NOTICE)
            count = len(error.problems)
            raise CommandError(f"{count} problem{'s' if count > 1 else ''}; nothing was changed.") from None
        except DatabaseError as error:
            raise no_database(error) from None
        for diff in imported.diffs:
            self.stdout.writelines(f"{line}\n" for line in _lines(diff, dry_run=imported.dry_run))


async def _apply(sources: Iterable[Source], *, dry_run: bool) -> Imported:
    try:
        return await bundle_apply(
            sources=sources,
            dry_run=dry_run,
            node=settings.KUBEMOOT.node,
            now=bootstrap.clock(),
            changed=bootstrap.resources_changed,
        )
    finally:
        await bootstrap.close()


def _read(name: str) -> Source:
    if name == STDIN:
        return decoded(file="stdin", data=sys.stdin.buffer.read())
    try:
        return decoded(file=name, data=Path(name).read_bytes())
    except OSError as error:
        raise CommandError(f"{name} cannot be read: {error.strerror}. Nothing was changed.") from None


def _lines(diff: ObjectDiff, *, dry_run: bool) -> list[str]:
    """Write what became of one object, the way kubectl does, and each field that changed."""
    place = f"{diff.namespace}/{diff.name}" if diff.namespace else diff.name
    head = f"{diff.kind} {place} {diff.outcome}{' (dry run)' if dry_run else ''}"
    return [head, *(f"  {change.field}: {_shown(change.before)} -> {_shown(change.after)}" for change in diff.changes)]


def _shown(value: object) -> str:
    return "(none)" if value is None else repr(value)
