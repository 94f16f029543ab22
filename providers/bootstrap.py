"""Composition root: the only place of this package that knows every driver."""

from providers.clients.engine import EngineHttp
from providers.ports import EngineApi


def engine_api() -> EngineApi:
    """Make the door to engines for the running event loop."""
    return EngineHttp()
