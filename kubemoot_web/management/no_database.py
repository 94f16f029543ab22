"""What a command says that finds no database it could use."""

from django.core.management.base import CommandError
from django.db import DatabaseError


def no_database(error: DatabaseError) -> CommandError:
    """Make the error of a command, with what to do about it."""
    return CommandError(
        f"The database cannot be used ({error}). Set it up first: make up, or manage.py migrate. "
        "What make demo runs has a database of its own: KUBEMOOT_DATA=data/demo."
    )
