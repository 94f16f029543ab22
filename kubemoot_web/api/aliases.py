"""`/aliases`: addresses that operators know to lead to an endpoint which has another address already."""

from typing import Annotated, Any

from django.conf import settings
from ninja import Query, Router, Schema, Status
from pydantic import ConfigDict, Field

from kubemoot_web.access import AuthedRequest
from kubemoot_web.access.operating import told
from kubemoot_web.board import rfc3339
from scheduler import bootstrap
from scheduler.services.endpoint_aliases import Alias, alias_add, alias_remove, aliases_list

router = Router()

Address = Annotated[str, Field(min_length=1, max_length=2300)]


class AliasIn(Schema):
    """Two addresses of one endpoint, each as one would register it or as this API spells it."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"alias": "https://gpu-1", "canonical": "http://gpu-1:11434"}]},
    )

    alias: Address
    canonical: Address


class AliasOut(Schema):
    """An alias; `server` is the registered server that it means, null while there is none."""

    alias: str
    canonical: str
    server: str | None
    since: str | None


class AliasesOut(Schema):
    """All aliases."""

    aliases: list[AliasOut]


@router.get("", response=AliasesOut, summary="All aliases of endpoints")
async def listing(request: AuthedRequest) -> dict[str, Any]:
    """List the aliases, those of one endpoint beside each other."""
    request.auth.require("read")
    return {"aliases": [_doc(each) for each in await aliases_list()]}


@router.post("", response={201: AliasOut}, summary="Let an address mean an endpoint")
async def create(request: AuthedRequest, payload: AliasIn) -> Status[dict[str, Any]]:
    """Let the address `alias` mean the endpoint `canonical`: no second server is registered with it from now on.

    An alias leads to an endpoint, never to another alias. Two servers that are registered already are not made one
    this way: `POST /endpoints/{name}/merge` removes one of them in the same step.
    """
    request.auth.require("write")
    made = await alias_add(
        alias=payload.alias, canonical=payload.canonical, node=settings.KUBEMOOT.node, now=bootstrap.clock()
    )
    told(step=f"alias {made.alias} added", server=made.server or made.canonical, principal=request.auth)
    return Status(201, _doc(made))


@router.delete("", response={200: dict}, summary="Let an address stand for itself again")
async def delete(request: AuthedRequest, alias: Annotated[str, Query(min_length=1, max_length=2300)]) -> dict[str, Any]:
    """Remove an alias. Whatever is registered stays; another server may be registered with that address now."""
    request.auth.require("write")
    removed = await alias_remove(alias=alias, node=settings.KUBEMOOT.node)
    told(step="is no alias any more", server=removed, principal=request.auth)
    return {"alias": removed}


def _doc(alias: Alias) -> dict[str, Any]:
    return {
        "alias": alias.alias,
        "canonical": alias.canonical,
        "server": alias.server or None,
        "since": rfc3339(alias.created_at),
    }
