"""What service tests share."""

from collections.abc import AsyncIterator

import pytest

from providers.clients.engine import EngineHttp


@pytest.fixture
async def engine_http() -> AsyncIterator[EngineHttp]:
    """Give the real door to engines, closed afterwards."""
    door = EngineHttp()
    yield door
    await door.close()
