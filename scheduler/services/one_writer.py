"""One change of resources at a time: two at once would each rank without seeing what the other wrote."""

from django.db import connection

LOCK = 0x6B6D_6D6F  # any number that nothing else in this database locks


def one_writer() -> None:
    """Wait, inside a transaction, until no other change of resources is under way.

    SQLite lets one writer in anyway (transactions are immediate).
    """
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [LOCK])
