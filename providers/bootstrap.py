"""Composition root: the only place of this package that knows every driver."""

from pathlib import Path

from providers.clients.engine import EngineHttp
from providers.clients.relay import RelayClient
from providers.clients.resolver import HostResolver
from providers.clients.secret_files import SecretFiles
from providers.ports import EngineApi, EngineRelay, Resolver


def engine_api(*, secrets: Path | None = None) -> EngineApi:
    """Make the door to engines for the running event loop; `secrets` is the folder of their keys, None for nobody's."""
    return EngineHttp(secrets=_files(secrets))


def engine_relay(*, secrets: Path | None = None) -> EngineRelay:
    """Make the door to engines for the calls of clients, for the running event loop."""
    return RelayClient(secrets=_files(secrets))


def _files(folder: Path | None) -> SecretFiles | None:
    return None if folder is None else SecretFiles(folder=folder)


def host_resolver() -> Resolver:
    """Make the one who looks up where endpoints lead."""
    return HostResolver()
