"""Fixtures that every folder of tests may use. Everything else belongs into the folder that needs it."""

import os
from collections.abc import Iterator

import pytest
import redis


@pytest.fixture
def valkey_url() -> Iterator[str]:
    """Give the address of a real, empty Valkey server, and leave it empty."""
    url = os.environ["REDIS_URL"]
    with redis.Redis.from_url(url) as client:
        client.flushall()
        yield url
        client.flushall()
