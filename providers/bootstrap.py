"""Composition root: the only place of this package that knows every driver."""

from providers.clients.engine import EngineHttp
from providers.clients.relay import RelayClient
from providers.clients.resolver import HostResolver
from providers.ports import EngineApi, EngineRelay, Resolver


def engine_api() -> EngineApi:
    """Make the door to engines for the running event loop."""
    return EngineHttp()


def engine_relay() -> EngineRelay:
    """Make the door to engines for the calls of clients, for the running event loop."""
    return RelayClient()


def host_resolver() -> Resolver:
    """Make the one who looks up where endpoints lead."""
    return HostResolver()
