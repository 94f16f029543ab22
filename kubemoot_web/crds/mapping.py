"""Resources to and from the documents that people see. Pure."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from kubemoot_web.crds.kinds import API_VERSION, Kind
from kubemoot_web.crds.schemas import Metadata, Schema
from providers.core.naming import DEFAULT_NAMESPACE
from scheduler.core.resources import ResourceKey, ResourceWrite, Stored


def write_of(*, kind: Kind, metadata: Metadata, spec: Schema) -> ResourceWrite:
    """Make the write that a checked document asks for."""
    return ResourceWrite(
        key=key_of(kind=kind, namespace=metadata.namespace, name=metadata.name),
        labels=dict(metadata.labels),
        annotations=dict(metadata.annotations),
        spec=spec.wire(),
        resource_version=metadata.resource_version or None,
    )


def key_of(*, kind: Kind, namespace: str | None, name: str) -> ResourceKey:
    """Name a resource; no namespace means the default one, and a kind of the whole cluster has none."""
    return ResourceKey(kind=kind.name, namespace=(namespace or DEFAULT_NAMESPACE) if kind.namespaced else "", name=name)


def manifest(stored: Stored) -> dict[str, Any]:
    """Write a stored resource as a document that can be applied again."""
    document = desired(stored)
    document["metadata"] |= {
        "uid": stored.uid,
        "resourceVersion": str(stored.resource_version),
        "generation": stored.generation,
        "creationTimestamp": datetime.fromtimestamp(stored.created_at, tz=UTC).isoformat(timespec="seconds")[:-6] + "Z",
    }
    return {**document, "status": dict(stored.status)}


def desired(resource: Stored | ResourceWrite) -> dict[str, Any]:
    """Write the part of a resource that people decide: no counters, no status."""
    metadata: dict[str, Any] = {"name": resource.key.name}
    if resource.key.namespace:
        metadata["namespace"] = resource.key.namespace
    for field, pairs in (("labels", resource.labels), ("annotations", resource.annotations)):
        if pairs:
            metadata[field] = dict(pairs)
    spec: Mapping[str, Any] = resource.spec
    return {"apiVersion": API_VERSION, "kind": resource.key.kind, "metadata": metadata, "spec": dict(spec)}
