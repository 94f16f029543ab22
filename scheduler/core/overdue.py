"""Granted callers whose load does not come: when their wait ends although their place is reserved."""

from collections.abc import Iterable

from scheduler.core.config import SchedulerConfig
from scheduler.core.decisions import Reason
from scheduler.core.ledger import Change, StandAsideChange
from scheduler.core.snapshot import ClusterSnapshot
from scheduler.core.types import Waiter


def overdue_loads(*, snapshot: ClusterSnapshot, waiters: Iterable[Waiter], config: SchedulerConfig) -> Iterable[Change]:
    """End the waits of granted callers whose load has outlived both their limit and all patience with it."""
    granted = [waiter for waiter in waiters if waiter.ticket is not None and snapshot.now >= waiter.limit_at]
    if not granted:
        return
    loading = {
        ticket.waiter: (server, ticket)
        for server in snapshot.servers.values()
        for tickets in server.loading.values()
        for ticket in tickets
        if ticket.waiter is not None
    }
    for waiter in granted:
        if waiter.id not in loading:
            continue
        server, ticket = loading[waiter.id]
        footprint = snapshot.footprint(server=server, model=ticket.model)
        patience = config.load_patience * server.load_seconds(footprint or 0)
        started_at = min((x.started_at for x in server.loads if x.model == ticket.model), default=ticket.started_at)
        if snapshot.now >= started_at + patience:
            yield StandAsideChange(waiter=waiter.id, reason=Reason.LOAD_OVERDUE.value, model=ticket.model)
