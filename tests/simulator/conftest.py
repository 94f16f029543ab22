"""A simulated engine, and a door to it."""

import httpx
import pytest

from tests.fakes.engine_server import simulated_engine


@pytest.fixture
async def server():
    async with simulated_engine(memory_mib=24576) as server:
        yield server


@pytest.fixture
async def http(server):
    async with httpx.AsyncClient(base_url=server.url, trust_env=False, timeout=10) as http:
        yield http
