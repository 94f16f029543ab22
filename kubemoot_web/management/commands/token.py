"""`manage.py token NAME`: make an API token."""

from argparse import ArgumentParser
from datetime import timedelta
from typing import Any

from asgiref.sync import async_to_sync
from django.core.management.base import BaseCommand, CommandError

from kubemoot_web.access import SCOPES, token_create
from kubemoot_web.access.tokens import UnknownScope
from providers.core.naming import agent_name, split_agent_name


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
        parser.add_argument("--days", type=int, default=365, help="days until it expires (default: 365)")

    def handle(self, *_: str, **options: Any) -> None:
        """Make the token."""
        if options["days"] < 1:
            raise CommandError("--days must be 1 or more.")
        try:
            token = async_to_sync(token_create)(
                name=options["name"],
                scopes=[scope.strip() for scope in options["scopes"].split(",") if scope.strip()],
                lifetime=timedelta(days=options["days"]),
                agent=_full_name(options["agent"]),
                crew=_full_name(options["crew"]),
            )
        except UnknownScope as error:
            raise CommandError(str(error)) from None
        self.stdout.write(token)


def _full_name(name: str) -> str:
    """Put a bare name into the default namespace; nothing stays nothing."""
    if not name:
        return ""
    namespace, bare = split_agent_name(name)
    return agent_name(namespace=namespace, name=bare)
