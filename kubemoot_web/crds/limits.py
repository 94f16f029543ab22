"""Sets how a server takes calls, as part of its ModelServer: the one place where that is written.

The cap of a resource group stands in each of its servers, so that it is set on all of them in one step.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kubemoot_web.crds.bundle import Source
from kubemoot_web.crds.errors import ImportProblem, ImportRefused
from kubemoot_web.crds.importing import documents_put
from kubemoot_web.crds.kinds import MODEL_SERVER
from kubemoot_web.crds.mapping import desired, key_of
from providers.core.naming import server_name, split_server_name
from providers.core.resource_groups import resource_group_of
from providers.core.specs import ResourceGroup
from scheduler.core.resources import Applied, Conflict, ResourceKey, Stored
from scheduler.services.resources import Changed, resource_get, resources_list

TRIES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How many calls a server takes at once, how many of these places background calls never take, whether its engine
    ends its work when a client leaves, whether it is taken out when nobody knows what its engine works on, and what
    becomes of calls there while the ledger cannot be reached.

    `group` is its resource group, whose cap it shares with the servers `beside` it.
    """

    max_concurrent: int | None
    interactive_reserve: int
    aborts_on_disconnect: bool
    quarantine_on_ambiguous: bool
    fail_mode: str
    resource_version: str
    group: ResourceGroup | None = None
    beside: tuple[str, ...] = ()


async def limits_get(*, server: str) -> Limits:
    """Read the limits of a server, with the version of the resource that they are part of.

    Raises:
        NotFound: there is no such server.
    """
    stored = await resource_get(key=key_of_server(server))
    scheduling = stored.spec.get("scheduling", {})
    return Limits(
        max_concurrent=scheduling.get("maxConcurrent"),
        interactive_reserve=scheduling.get("interactiveReserve", 0),
        aborts_on_disconnect=scheduling.get("abortsOnDisconnect", True),
        quarantine_on_ambiguous=scheduling.get("quarantineOnAmbiguous", False),
        fail_mode=scheduling.get("failMode", "closed"),
        resource_version=str(stored.resource_version),
        group=_group_of(stored),
        beside=tuple(
            server_name(namespace=other.key.namespace, name=other.key.name) for other in await _beside(stored)
        ),
    )


async def limits_put(
    *,
    server: str,
    limits: Mapping[str, int | str | None],
    group_cap: int | None = None,
    resource_version: str | None,
    node: str,
    now: float,
    changed: Changed,
) -> Applied:
    """Set the limits of a server that are named, by their names in the resource; None takes one away.

    `group_cap` is set on every server of its resource group at once. Without a version the rest of the resources stays
    as whoever else changes them meanwhile leaves it.

    Raises:
        NotFound: there is no such server.
        Conflict: it was changed since the version that was named.
        ImportRefused: they are not right, or it is in no resource group.
    """
    for attempt in range(1, TRIES + 1):
        stored = await resource_get(key=key_of_server(server))
        documents = [_limited(stored, limits, resource_version)]
        if group_cap is not None:
            if _group_of(stored) is None:
                raise _in_no_group(server)
            documents += [_limited(other, {}, None) for other in await _beside(stored)]
            for document in documents:
                scheduling = document["spec"]["scheduling"]
                scheduling["resourceGroup"] = {**scheduling["resourceGroup"], "maxConcurrent": group_cap}
        try:
            applied = await documents_put(
                source=Source(file="limits", text=json.dumps(documents)), node=node, now=now, changed=changed
            )
        except Conflict as conflict:
            is_named = resource_version is not None and conflict.key == stored.key
            if is_named or attempt == TRIES:
                raise
        else:
            return applied[0]
    raise AssertionError("the last try returned or raised")


def key_of_server(server: str) -> ResourceKey:
    """Name the resource of a server."""
    namespace, name = split_server_name(server)
    return key_of(kind=MODEL_SERVER, namespace=namespace, name=name)


def _limited(stored: Stored, limits: Mapping[str, int | str | None], resource_version: str | None) -> dict[str, Any]:
    """Write the resource with its new limits, resting on the version that was named, else on the one that was read."""
    document = desired(stored)
    scheduling = {**document["spec"].get("scheduling", {}), **limits}
    document["spec"]["scheduling"] = {name: value for name, value in scheduling.items() if value is not None}
    document["metadata"]["resourceVersion"] = resource_version or str(stored.resource_version)
    return document


def _group_of(stored: Stored) -> ResourceGroup | None:
    return resource_group_of(namespace=stored.key.namespace, spec=stored.spec)


async def _beside(stored: Stored) -> tuple[Stored, ...]:
    """List the other servers of a server's resource group."""
    group = _group_of(stored)
    if group is None:
        return ()
    servers = await resources_list(kind=MODEL_SERVER.name, namespace=None)
    groups = ((other, _group_of(other)) for other in servers if other.key != stored.key)
    return tuple(other for other, its in groups if its is not None and its.name == group.name)


def _in_no_group(server: str) -> ImportRefused:
    message = f"is not set: {server} is in no resource group that could have a cap; name one in its ModelServer"
    return ImportRefused(
        [ImportProblem(file="limits", document=1, line=0, field="spec.scheduling.resourceGroup", message=message)]
    )
