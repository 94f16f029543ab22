"""A replica of documents put in by hand."""

from typing import Any

from scheduler.core import ledger_docs as docs
from scheduler.core.config import SchedulerConfig
from scheduler.core.replica import Replica


def replica_of(*rows: tuple[str, str, Any]) -> Replica:
    """Make the copy of a ledger that holds these documents: (table, key, value)."""
    replica = Replica(config=SchedulerConfig())
    replica.reset(version=1, deltas=[(table, key, docs.to_doc(value)) for table, key, value in rows])
    return replica
