"""`manage.py token NAME`: make an API token."""

from argparse import ArgumentParser
from datetime import timedelta
from typing import Any

from asgiref.sync import async_to_sync
from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError

from kubemoot_web.access import SCOPES, token_create
from kubemoot_web.access.tokens import UnknownScope, full_name
from kubemoot_web.management.no_database import no_database
from scheduler.core.types import Priority

UNITS = {"d": "days", "h": "hours"}
MOST = 100_000


class Command(BaseCommand):
    """Makes an API token and prints it alone on one line; it cannot be shown again."""

    help = "Make an API token and print it alone on one line. It is stored hashed and cannot be shown again."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the arguments."""
        parser.add_argument("name", help="what the token is for, as it is shown in lists")
        parser.add_argument("--scopes", default="read,call", help=f"some of {','.join(SCOPES)} (default: read,call)")
        parser.add_argument(
            "--agent", default="", help="the agent that it belongs to: NAMESPACE/NAME, or NAME in default"
        )
        parser.add_argument(
            "--crew", default="", help="the crew that it belongs to: NAMESPACE/NAME, or NAME in default"
        )
        parser.add_argument("--crews", default="", help="the only crews that it may call for (default: any)")
        parser.add_argument("--models", default="", help="the only models that it may use (default: any)")
        parser.add_argument(
            "--ceiling",
            default=Priority.INTERACTIVE,
            choices=[each.value for each in Priority],
            help="the highest class of its calls (default: interactive)",
        )
        parser.add_argument("--max-calls", type=int, help="how many of its calls may run at once (default: any number)")
        parser.add_argument(
            "--expires", default="365d", help="when it ends: 90d, 12h or never (default: 365d)", metavar="WHEN"
        )

    def handle(self, *_: str, **options: Any) -> None:
        """Make the token."""
        if options["max_calls"] is not None and options["max_calls"] < 1:
            raise CommandError("--max-calls must be 1 or more.")
        try:
            token = async_to_sync(token_create)(
                name=options["name"],
                scopes=_listed(options["scopes"]),
                lifetime=_lifetime(options["expires"]),
                agent=full_name(options["agent"]) if options["agent"] else "",
                crew=full_name(options["crew"]) if options["crew"] else "",
                crews=_listed(options["crews"]),
                models=_listed(options["models"]),
                ceiling=Priority(options["ceiling"]),
                max_calls=options["max_calls"],
            )
        except UnknownScope as error:
            raise CommandError(str(error)) from None
        except DatabaseError as error:
            raise no_database(error) from None
        self.stdout.write(token)


def _listed(text: str) -> list[str]:
    """Read words with commas between them."""
    return [word.strip() for word in text.split(",") if word.strip()]


def _lifetime(text: str) -> timedelta | None:
    """Read how long a token lives; None: it never ends."""
    if text == "never":
        return None
    number, unit = text[:-1], text[-1:]
    if unit not in UNITS or not number.isdecimal() or not 0 < int(number) <= MOST:
        raise CommandError("--expires is a number of days or hours, such as 90d or 12h, or never.")
    return timedelta(**{UNITS[unit]: int(number)})
