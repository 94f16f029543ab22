"""History that is kept as it comes."""

from collections.abc import Sequence

from scheduler.core.ledger import JournalEntry


class ListedHistory:
    """Remembers the entries that were written down. `old` rows are to be forgotten yet."""

    def __init__(self) -> None:
        self.entries: list[JournalEntry] = []
        self.old = 0
        self.asked: list[tuple[float, int]] = []

    async def cursor(self) -> str:
        """Give the id of the last entry; empty before the first."""
        return self.entries[-1].id if self.entries else ""

    async def write(self, *, entries: Sequence[JournalEntry]) -> None:
        """Write entries down."""
        self.entries.extend(entries)

    async def forget(self, *, before: float, most: int) -> int:
        """Forget so many of the old rows."""
        self.asked.append((before, most))
        step = min(self.old, most)
        self.old -= step
        return step
