"""What one cycle came to, said shortly: who got what, who waits for what, who stands aside, what is drained."""

from collections.abc import Mapping, Sequence
from typing import Any

from scheduler.core import cycle
from scheduler.core.config import SchedulerConfig
from scheduler.core.ledger import Change, DrainChange, GrantChange, StandAsideChange, WaitChange
from scheduler.core.placement.held import HeldPlace
from scheduler.core.snapshot import ClusterSnapshot
from scheduler.core.types import Waiter

CONFIG = SchedulerConfig()


def planned(
    snapshot: ClusterSnapshot,
    *waiters: Waiter,
    held: Mapping[str, HeldPlace] | None = None,
    config: SchedulerConfig = CONFIG,
    is_weighted: bool = False,
) -> list[tuple[Any, ...]]:
    """Plan one cycle for the waiters."""
    changes, _ = cycle.plan(snapshot=snapshot, waiters=waiters, held=held or {}, config=config, is_weighted=is_weighted)
    return [said(change) for change in changes]


def grants(said_changes: Sequence[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Keep the grants alone."""
    return [each for each in said_changes if each[0] in ("use", "join", "load", "evict")]


def said(change: Change) -> tuple[Any, ...]:
    """Say a change shortly."""
    match change:
        case GrantChange(ticket=ticket):
            evicts = () if change.load is None else change.load.evicts
            return (ticket.action, ticket.call, ticket.model, ticket.server, *([evicts] if evicts else []))
        case WaitChange(waiter=waiter):
            return (waiter.action, waiter.id, waiter.model, *([waiter.server] if waiter.server else []))
        case StandAsideChange():
            return ("stand_aside", change.waiter, change.model, change.reason)
        case DrainChange(drain=None):
            return ("drain ends", change.server)
        case DrainChange(drain=drain):
            assert drain is not None
            return ("drain", drain.waiter, drain.model, change.server, drain.victims)
