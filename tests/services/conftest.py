"""What service tests share."""

from collections.abc import AsyncIterator

import pytest

from providers.clients.engine import EngineHttp
from tests.services.lost import LostWorld, lost_world


@pytest.fixture
async def engine_http() -> AsyncIterator[EngineHttp]:
    """Give the real door to engines, closed afterwards."""
    door = EngineHttp()
    yield door
    await door.close()


@pytest.fixture
async def world() -> AsyncIterator[LostWorld]:
    """Give a world whose ledger a test may lose."""
    made = await lost_world()
    yield made
    await made.doors.local.close()
    await made.doors.held.close()
