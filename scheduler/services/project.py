"""Writes the journal down as history."""

from scheduler.ports import History, Ledger

BATCH = 500


async def project(*, ledger: Ledger, history: History) -> int:
    """Write down what was committed since the last time; give how many entries. Idempotent by the journal's ids."""
    written = 0
    while True:
        entries = await ledger.journal(after=await history.cursor(), count=BATCH)
        if not entries:
            return written
        await history.write(entries=entries)
        written += len(entries)
