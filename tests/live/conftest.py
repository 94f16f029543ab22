"""A hub whose ledger is fed by hand."""

import pytest

from kubemoot_web.live.hub import Hub
from scheduler.core.config import SchedulerConfig
from scheduler.services.held import HeldTickets
from scheduler.services.local import LocalPlaces
from tests.board.views import NOON, copy, record
from tests.fakes.fed_ledger import FedLedger
from tests.fakes.manual_clock import ManualClock


@pytest.fixture
def ledger():
    fed = FedLedger()
    fed.put("server", "gpu-1", record(residents=[copy()]))
    fed.put("server", "gpu-2", record("gpu-2"))
    return fed


@pytest.fixture
def calls():
    return []


@pytest.fixture
def hub(ledger, calls):
    async def recent():
        return tuple(calls)

    return hub_of(ledger, recent)


def hub_of(ledger, recent):
    """Make a hub whose process gives no place by itself unless a test loses its ledger."""
    config, now = SchedulerConfig(), ManualClock(at=NOON + 10)

    async def nothing(*_):
        return

    local = LocalPlaces(
        ledger=ledger,
        held=HeldTickets(ledger=ledger, config=config),
        now=now,
        on_back=nothing,
        withdraw=nothing,
    )
    return Hub(ledger=ledger, local=local, config=config, now=now, recent_calls=recent)
