"""`/endpoints`: who may contact a server, who waits for it, and what operators do about it; never a text."""

from typing import Annotated, Any, Literal

from django.conf import settings
from ninja import Query, Router, Schema
from pydantic import AfterValidator, ConfigDict, Field, model_validator

from kubemoot_web.access import AuthedRequest
from kubemoot_web.access.operating import LONGEST_REASON, limits_told, one_line, told
from kubemoot_web.board.endpoints import admission_doc, endpoints_doc, queue_doc
from kubemoot_web.crds.limits import limits_get, limits_put
from providers.core.naming import server_name, split_server_name
from scheduler import bootstrap
from scheduler.core.operator_steps import Step
from scheduler.ports import UnknownServer
from scheduler.services.endpoint_aliases import endpoint_merge
from scheduler.services.endpoint_steps import endpoint_step

router = Router()

MOST = 10_000
LIMITS = ("maxConcurrent", "interactiveReserve", "abortsOnDisconnect", "quarantineOnAmbiguous", "failMode")


class GroupIn(Schema):
    """The cap of the resource group that an endpoint is in; which one that is, its ModelServer says."""

    model_config = ConfigDict(extra="forbid")

    maxConcurrent: Annotated[int, Field(ge=1, le=MOST)]


class AdmissionIn(Schema):
    """What to change: `maxConcurrent` null is no cap; what is left out stays.

    `abortsOnDisconnect` false is for an engine that works on when a client leaves; `quarantineOnAmbiguous` takes the
    server out when nobody knows whether its engine still works on a call.
    """

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {"maxConcurrent": 4, "interactiveReserve": 1, "failMode": "closed"},
                {"resourceGroup": {"maxConcurrent": 2}},
            ]
        },
    )

    maxConcurrent: Annotated[int, Field(ge=1, le=MOST)] | None = None
    interactiveReserve: Annotated[int, Field(ge=0, le=MOST)] = 0
    abortsOnDisconnect: Annotated[bool, Field(strict=True)] = True
    quarantineOnAmbiguous: Annotated[bool, Field(strict=True)] = False
    failMode: Literal["closed", "local"] = "closed"
    resourceGroup: GroupIn | None = None
    resourceVersion: Annotated[str, Field(max_length=20)] | None = None

    @model_validator(mode="after")
    def _says_something(self) -> "AdmissionIn":
        """Refuse a change that changes nothing: it was meant to."""
        if not self.limits() and self.group_cap() is None:
            raise ValueError(f"say at least one of {', '.join(LIMITS)}, or resourceGroup with its maxConcurrent")
        return self

    def limits(self) -> dict[str, int | str | None]:
        """Give what was sent of the endpoint's own limits, no defaults."""
        said = self.model_fields_set - {"resourceGroup", "resourceVersion"}
        return {name: getattr(self, name) for name in sorted(said)}

    def group_cap(self) -> int | None:
        """Give what was sent of its resource group's cap."""
        return None if self.resourceGroup is None else self.resourceGroup.maxConcurrent


class StepIn(Schema):
    """Why, in words that are shown wherever the server is."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"reason": "new fans"}]})

    reason: Annotated[str, Field(max_length=LONGEST_REASON), AfterValidator(one_line)] = ""


class MergeIn(Schema):
    """The server that goes, by its name."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"duplicate": "gpu-2"}]})

    duplicate: Annotated[str, Field(min_length=1, max_length=320)]


ENDPOINT = {
    "name": "gpu-1",
    "endpoint": "http://gpu-1:11434",
    "health": "ready",
    "takesCalls": False,
    "state": "paused",
    "isDrained": False,
    "reason": "new fans",
    "since": "2026-11-29T12:03:00.000Z",
    "by": "operator",
    "cause": None,
    "message": "Paused: new fans. What runs here goes on; nothing new is placed here until it is resumed.",
    "circuit": {"state": "closed", "failures": 0, "since": None, "until": None, "status": None},
    "maxConcurrent": 4,
    "interactiveReserve": 1,
    "abortsOnDisconnect": True,
    "quarantineOnAmbiguous": False,
    "failMode": "closed",
    "capShared": True,
    "localCalls": 0,
    "resourceGroup": {"name": "bus-1", "maxConcurrent": 4, "inFlight": 4, "endpoints": ["gpu-1", "gpu-2"]},
    "inFlight": {"total": 3, "interactive": 2, "background": 1, "loading": 0, "held": 0, "left": 0},
    "waiting": 1,
    "possibleDuplicates": [],
}
WAITING = {
    "id": "6b1f0c",
    "agent": "default/analyst",
    "crew": "default/lab",
    "model": "qwen3:14b",
    "server": "gpu-1",
    "reason": "gpu-busy",
    "message": "waiting for a free slot of qwen3:14b on gpu-1",
    "priority": "interactive",
    "position": 1,
    "etaSeconds": 12.5,
    "since": "2026-11-29T12:03:08.000Z",
    "until": "2026-11-29T12:04:38.000Z",
    "key": None,
    "purpose": "mulling",
    "elsewhere": [],
    "isCleared": True,
}


def example(value: object) -> dict[str, Any]:
    """Show on the API page what an answer looks like."""
    return {"responses": {200: {"content": {"application/json": {"example": value}}}}}


@router.get("", summary="All endpoints", openapi_extra=example({"endpoints": [ENDPOINT]}))
async def listing(request: AuthedRequest) -> dict[str, Any]:
    """List the endpoints with the state of their admission, by name.

    `possibleDuplicates` names the endpoints whose address leads to the same place as this one's once its name is looked
    up, with the `address` that both share and what to do.
    """
    request.auth.require("read")
    rt = await bootstrap.runtime()
    return endpoints_doc(replica=rt.ledger.replica, local=rt.doors.local.state(), now=rt.now())


@router.get(
    "/{path:name}/admission",
    summary="Who may contact one endpoint",
    openapi_extra=example({**ENDPOINT, "resourceVersion": "3"}),
)
async def show(request: AuthedRequest, name: str) -> dict[str, Any]:
    """Show state, reason, since when, cap, reserve, circuit, and what is in flight by class.

    `name` is the server's: `gpu-1`, or `team-b/gpu-1` outside of the default namespace. `held` are places held for
    selected agents, `loading` those whose model is still loaded, `left` those of calls whose callers have left while
    the engine works on (`abortsOnDisconnect` false); all count against the cap. `cause` is what the system took the
    server out for: `silent`, or, with `quarantineOnAmbiguous`, a call after which nobody knows whether the engine still
    works on it: `ambiguous_timeout`, `ambiguous_transport`, `incomplete_response`, `worker_terminated`.
    `resourceGroup` is null, or the group whose cap it shares with other `endpoints`: `inFlight` there counts the places
    on all of them.
    `capShared` is false while the web process that answers lets calls in by its own count, because the ledger does not
    answer (`failMode`), and as long as such calls, `localCalls`, still run.
    """
    request.auth.require("read")
    return await _admission(_name(name))


@router.put(
    "/{path:name}/admission",
    summary="Set how many calls an endpoint takes at once",
    openapi_extra=example({**ENDPOINT, "resourceVersion": "4"}),
)
async def put(request: AuthedRequest, name: str, payload: AdmissionIn) -> dict[str, Any]:
    """Set the cap, the part of it that background calls never take, what its engine does: fields of its ModelServer.

    `resourceGroup` sets the cap of the group that the server is in, on all of its servers at once.
    `failMode` says what becomes of clients' calls there while the ledger cannot be reached: `closed`, none is placed;
    `local`, each web process goes on by its own count, with the models that were in memory. Tickets over REST are
    never handed out without the ledger.

    With `resourceVersion` they are set only if the resource is still that version. A cap below what is in flight ends
    nothing: new calls wait until there is room. To let nobody in, pause it. `abortsOnDisconnect` false keeps the place
    of a call that came through the gateway and was left by its client, until the engine ends; it says nothing of
    tickets, whose holders call the engine themselves.
    """
    request.auth.require("write")
    server = _name(name)
    await limits_put(
        server=server,
        limits=payload.limits(),
        group_cap=payload.group_cap(),
        resource_version=payload.resourceVersion,
        node=settings.KUBEMOOT.node,
        now=bootstrap.clock(),
        changed=bootstrap.resources_changed,
    )
    told(step=limits_told(payload.limits(), group_cap=payload.group_cap()), server=server, principal=request.auth)
    return await _admission(server)


@router.get(
    "/{path:name}/queue",
    summary="Who waits for one endpoint",
    openapi_extra=example({"endpoint": "gpu-1", "count": 1, "queue": [WAITING]}),
)
async def queue(
    request: AuthedRequest, name: str, limit: Annotated[int, Query(), Field(ge=1, le=500)] = 100
) -> dict[str, Any]:
    """List who waits for an endpoint, in order: who queues there, and who would be placed there once there is room.

    `elsewhere` are the other endpoints that could take the call too; `isCleared` says that `clear-queue` would send
    it away. `count` counts all, however few are listed.
    """
    request.auth.require("read")
    rt = await bootstrap.runtime()
    server = _name(name)
    found = queue_doc(replica=rt.ledger.replica, server=server, config=rt.config, limit=limit, now=rt.now())
    if found is None:
        raise UnknownServer(server)
    return found


@router.post(
    "/{path:name}/merge",
    summary="Merge a server that is this one under a second name",
    openapi_extra=example({**ENDPOINT, "resourceVersion": "3"}),
)
async def merge(request: AuthedRequest, name: str, payload: MergeIn) -> dict[str, Any]:
    """Remove the server `duplicate`, and let its address mean this endpoint from now on (an alias, see `/aliases`).

    It must be drained before, so that nothing is cut off, and no Model may be bound to it.
    """
    request.auth.require("write")
    rt = await bootstrap.runtime()
    server, into = _name(payload.duplicate), _name(name)
    await endpoint_merge(ledger=rt.ledger, server=server, into=into, now=rt.now(), changed=bootstrap.resources_changed)
    told(step=f"merged into {into}", server=server, principal=request.auth)
    return await _admission(into)


@router.post(
    "/{path:name}/{step}",
    summary="Pause, resume, drain, take out, take back, clear the queue",
    openapi_extra=example({**ENDPOINT, "resourceVersion": "3", "changed": True, "sentAway": 0}),
)
async def act(request: AuthedRequest, name: str, step: Step, payload: StepIn | None = None) -> dict[str, Any]:
    """Do something to an endpoint. What runs there always goes on; `changed` says whether anything is different now.

    - `pause`: place nothing new there; `resume` ends it.
    - `drain`: the same, and `isDrained` says when nothing runs there any more; `resume` ends it.
    - `quarantine`: take it out for how its engine behaves; whoever was granted a place there and has not got it yet
      waits again; `clear-quarantine` takes it back, also what the system took out.
    - `clear-queue`: send away who waits for it alone, with `queue-cleared`; `sentAway` counts them.
    """
    request.auth.require("write")
    rt = await bootstrap.runtime()
    server, reason = _name(name), "" if payload is None else payload.reason
    done = await endpoint_step(
        ledger=rt.ledger,
        effects=rt.effects,
        config=rt.config,
        server=server,
        step=step,
        reason=reason,
        now=rt.now(),
    )
    if done.is_news:
        told(step=step.value, server=server, principal=request.auth, reason=reason)
    return {**await _admission(server), "changed": done.is_news, "sentAway": done.sent_away}


async def _admission(server: str) -> dict[str, Any]:
    rt = await bootstrap.runtime()
    await rt.ledger.catch_up()
    found = admission_doc(replica=rt.ledger.replica, local=rt.doors.local.state(), server=server, now=rt.now())
    if found is None:
        raise UnknownServer(server)
    return {**found, "resourceVersion": (await limits_get(server=server)).resource_version}


def _name(text: str) -> str:
    """Read a server's name as a path spells it: with its namespace, or bare in the default one."""
    namespace, name = split_server_name(text)
    return server_name(namespace=namespace, name=name)
