"""Sets how a server takes calls, as part of its ModelServer: the one place where that is written."""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from kubemoot_web.crds.bundle import Source
from kubemoot_web.crds.importing import document_put
from kubemoot_web.crds.kinds import MODEL_SERVER
from kubemoot_web.crds.mapping import desired, key_of
from providers.core.naming import split_server_name
from scheduler.core.resources import Applied, Conflict, ResourceKey, Stored
from scheduler.services.resources import Changed, resource_get

TRIES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How many calls a server takes at once, how many of these places background calls never take, whether its engine
    ends its work when a client leaves, and whether it is taken out when nobody knows what its engine works on.
    """

    max_concurrent: int | None
    interactive_reserve: int
    aborts_on_disconnect: bool
    quarantine_on_ambiguous: bool
    resource_version: str


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
        resource_version=str(stored.resource_version),
    )


async def limits_put(
    *,
    server: str,
    limits: Mapping[str, int | None],
    resource_version: str | None,
    node: str,
    now: float,
    changed: Changed,
) -> Applied:
    """Set the limits of a server that are named, by their names in the resource; None takes one away.

    Without a version the rest of the resource stays as whoever else changes it meanwhile leaves it.

    Raises:
        NotFound: there is no such server.
        Conflict: it was changed since the version that was named.
        ImportRefused: they are not right.
    """
    for attempt in range(1, TRIES + 1):
        stored = await resource_get(key=key_of_server(server))
        try:
            return await document_put(
                source=Source(file="limits", text=json.dumps(_limited(stored, limits, resource_version))),
                kind=MODEL_SERVER,
                namespace=stored.key.namespace,
                name=stored.key.name,
                node=node,
                now=now,
                changed=changed,
            )
        except Conflict:
            if resource_version is not None or attempt == TRIES:
                raise
    raise AssertionError("the last try returned or raised")


def key_of_server(server: str) -> ResourceKey:
    """Name the resource of a server."""
    namespace, name = split_server_name(server)
    return key_of(kind=MODEL_SERVER, namespace=namespace, name=name)


def _limited(stored: Stored, limits: Mapping[str, int | None], resource_version: str | None) -> dict[str, object]:
    """Write the resource with its new limits, resting on the version that was named, else on the one that was read."""
    document = desired(stored)
    scheduling = {**document["spec"].get("scheduling", {}), **limits}
    document["spec"]["scheduling"] = {name: value for name, value in scheduling.items() if value is not None}
    document["metadata"]["resourceVersion"] = resource_version or str(stored.resource_version)
    return document
