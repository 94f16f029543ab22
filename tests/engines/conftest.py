from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.engine_server import engine_in_thread

RECORDED = Path(__file__).parent / "recorded"


@pytest.fixture
def recorded():
    """Read a recorded payload by its file's name."""
    return lambda name: (RECORDED / name).read_bytes()


@pytest.fixture
def engine_url() -> Iterator[str]:
    """Give the address of a simulated engine that runs in a thread."""
    with engine_in_thread() as url:
        yield url
