"""Fixtures that every folder of tests may use. Everything else belongs into the folder that needs it."""

import os
from collections.abc import Iterator

import pytest
import redis
from hypothesis import HealthCheck, settings

# No test asserts a time: on a busy machine an example takes what it takes.
settings.register_profile("kubemoot", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("kubemoot")


@pytest.fixture
def valkey_url() -> Iterator[str]:
    """Give the address of a real, empty Valkey server, and leave it empty."""
    url = os.environ["REDIS_URL"]
    with redis.Redis.from_url(url) as client:
        client.flushall()
        yield url
        client.flushall()
