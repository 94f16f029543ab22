"""A hub whose ledger is fed by hand."""

import pytest

from kubemoot_web.live.hub import Hub
from scheduler.core.config import SchedulerConfig
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

    return Hub(ledger=ledger, config=SchedulerConfig(), now=ManualClock(at=NOON + 10), recent_calls=recent)
