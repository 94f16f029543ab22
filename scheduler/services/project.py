"""Writes the journal down as history, and forgets what is older than it is kept."""

from dataclasses import dataclass

from scheduler.core.config import SchedulerConfig
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


async def history_forget(*, history: History, config: SchedulerConfig, now: float) -> int:
    """Forget what is older than history is kept; give how many rows. In small steps, so that writing never waits."""
    if config.keep_history_s is None:
        return 0
    before = now - config.keep_history_s
    count = 0
    while step := await history.forget(before=before, most=BATCH):
        count += step
    return count
