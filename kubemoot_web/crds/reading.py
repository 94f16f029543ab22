"""Shows stored objects with their status as it is now."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from kubemoot_web.crds.live import LIVE_KINDS, live_status
from kubemoot_web.crds.mapping import manifest
from scheduler.core.ledger import ServerRecord
from scheduler.core.replica import Replica
from scheduler.core.resources import ResourceKey, Stored
from scheduler.services.resources import resource_get, resources_list

LiveView = Callable[[], Awaitable[Replica | None]]


async def object_show(*, key: ResourceKey, live: LiveView) -> dict[str, Any]:
    """Show one object. While the ledger cannot be reached, servers and models show no status.

    Raises:
        NotFound: it is not there.
    """
    stored = await resource_get(key=key)
    return _shown(stored, await _records(kind=key.kind, live=live))


async def objects_show(*, kind: str, namespace: str | None, live: LiveView) -> list[dict[str, Any]]:
    """Show the objects of a kind, of one namespace or of all."""
    stored = await resources_list(kind=kind, namespace=namespace)
    records = await _records(kind=kind, live=live)
    return [_shown(one, records) for one in stored]


async def _records(*, kind: str, live: LiveView) -> Mapping[str, ServerRecord] | None:
    """Look up what the ledger holds of servers, for those kinds that need it."""
    replica = await live() if kind in LIVE_KINDS else None
    return None if replica is None else replica.servers


def _shown(stored: Stored, records: Mapping[str, ServerRecord] | None) -> dict[str, Any]:
    document = manifest(stored)
    return document if records is None else {**document, "status": live_status(stored=stored, records=records)}
