"""Writes the journal down as history."""

from dataclasses import dataclass

from scheduler.ports import History, Ledger

BATCH = 500


@dataclass(slots=True, kw_only=True)
class Written:
    """What a process remembers of history: the version up to which it knows the journal to be written down."""

    version: int = -1


async def project(*, ledger: Ledger, history: History, written: Written) -> int:
    """Write down what was committed since the last time; give how many entries. Idempotent by the journal's ids."""
    version = ledger.replica.version
    count = 0
    while True:
        entries = await ledger.journal(after=await history.cursor(), count=BATCH)
        if not entries:
            written.version = version
            return count
        await history.write(entries=entries)
        count += len(entries)
