"""History that is kept as it comes."""

from collections.abc import Sequence

from scheduler.core.ledger import JournalEntry


class ListedHistory:
    """Remembers the entries that were written down."""

    def __init__(self) -> None:
        self.entries: list[JournalEntry] = []

    async def cursor(self) -> str:
        """Give the id of the last entry; empty before the first."""
        return self.entries[-1].id if self.entries else ""

    async def write(self, *, entries: Sequence[JournalEntry]) -> None:
        """Write entries down."""
        self.entries.extend(entries)
