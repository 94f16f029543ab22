"""`/resources`: configuration, one object at a time. Kinds answer to their plural, singular and short names."""

from typing import Annotated, Any

from django.conf import settings
from ninja import Query, Router, Status

from kubemoot_web.access import AuthedRequest
from kubemoot_web.crds.bundle import decoded
from kubemoot_web.crds.errors import KindUnknown
from kubemoot_web.crds.importing import document_put
from kubemoot_web.crds.kinds import API_VERSION, Kind, find_kind, known_kinds
from kubemoot_web.crds.mapping import key_of, manifest
from kubemoot_web.crds.reading import object_show, objects_show
from scheduler import bootstrap
from scheduler.services.resources import resource_delete

ONE_DOCUMENT = {
    "requestBody": {
        "required": True,
        "description": "The object; what the address says may be left out",
        "content": {
            "application/json": {"schema": {"type": "object"}},
            "application/yaml": {"schema": {"type": "string"}},
        },
    }
}

router = Router()


@router.get("/{kind}", summary="All objects of a kind")
async def list_all(
    request: AuthedRequest, kind: str, namespace: Annotated[str | None, Query()] = None
) -> dict[str, Any]:
    """List the objects of a kind, of every namespace unless one is named."""
    request.auth.require("read")
    found = _kind(kind)
    return {
        "apiVersion": API_VERSION,
        "kind": f"{found.name}List",
        "metadata": {},
        "items": await objects_show(kind=found.name, namespace=namespace, live=bootstrap.replica),
    }


@router.get("/{kind}/{namespace}/{name}", summary="One object")
async def show(request: AuthedRequest, kind: str, namespace: str, name: str) -> dict[str, Any]:
    """Show an object with its status. The namespace says nothing for a kind of the whole cluster."""
    request.auth.require("read")
    key = key_of(kind=_kind(kind), namespace=namespace, name=name)
    return await object_show(key=key, live=bootstrap.replica)


@router.put(
    "/{kind}/{namespace}/{name}",
    response={200: dict, 201: dict},
    openapi_extra=ONE_DOCUMENT,
    summary="Create or replace one object",
)
async def put(request: AuthedRequest, kind: str, namespace: str, name: str) -> Status[dict[str, Any]]:
    """Create or replace an object. With `metadata.resourceVersion` it is replaced only if it is still that version."""
    request.auth.require("write")
    applied = await document_put(
        source=decoded(file="request body", data=request.body),
        kind=_kind(kind),
        namespace=namespace,
        name=name,
        node=settings.KUBEMOOT.node,
        now=bootstrap.clock(),
        changed=bootstrap.resources_changed,
    )
    return Status(201 if applied.before is None else 200, manifest(applied.after))


@router.delete("/{kind}/{namespace}/{name}", summary="Delete one object")
async def delete(request: AuthedRequest, kind: str, namespace: str, name: str) -> dict[str, Any]:
    """Delete an object, and show it a last time."""
    request.auth.require("write")
    deleted = await resource_delete(
        key=key_of(kind=_kind(kind), namespace=namespace, name=name),
        now=bootstrap.clock(),
        changed=bootstrap.resources_changed,
    )
    return manifest(deleted)


def _kind(text: str) -> Kind:
    found = find_kind(text)
    if found is None:
        raise KindUnknown(text, known=known_kinds())
    return found
