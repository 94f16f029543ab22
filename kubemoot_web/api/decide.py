"""`POST /decide`: what would be decided, on a snapshot given or on the living cluster. Nothing is claimed."""

from collections import Counter
from typing import Annotated, Any, Literal

from ninja import Router, Schema
from pydantic import ConfigDict, Field, model_validator

from kubemoot_web.access import AuthedRequest
from providers.core.resource_groups import contradictions
from providers.core.specs import ResourceGroup
from scheduler import bootstrap
from scheduler.core.explain import decision_doc
from scheduler.core.placement.decide import decide
from scheduler.core.snapshot_json import read_request, read_snapshot

router = Router()

Name = Annotated[str, Field(min_length=1, max_length=320)]
Count = Annotated[int, Field(ge=0, le=10**9)]
Mib = Annotated[float, Field(ge=0, le=1e12, allow_inf_nan=False)]
Positive = Annotated[float, Field(gt=0, le=1e12, allow_inf_nan=False)]
NotNegative = Annotated[float, Field(ge=0, le=1e12, allow_inf_nan=False)]
Moment = Annotated[float, Field(allow_inf_nan=False, ge=-1e12, le=1e12)]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


class Part(Schema):
    """A part of a snapshot: unknown fields are refused, so that a misspelt one is not silently ignored."""

    model_config = ConfigDict(extra="forbid")


class ResidentIn(Part):
    """A model in a server's memory."""

    model: Name
    footprintMiB: Mib | None = None
    contextLength: Count | None = None
    lastUsed: Moment | None = None
    spilling: bool | None = None
    queued: Count | None = None


class TicketIn(Part):
    """A reservation of a slot and memory."""

    id: Name
    agent: str | None = None
    model: Name
    state: Literal["planned", "loading", "active"]
    startedAt: Moment | None = None
    footprintMiB: Mib | None = None
    evicts: list[Name] | None = None
    priority: Literal["interactive", "background"] | None = None


class DrainIn(Part):
    """A server being emptied for one waiter."""

    model: Name
    agent: str
    victims: list[Name]
    since: Moment


class ResourceGroupIn(Part):
    """Servers of one group share a cap on calls; each of them says the same one."""

    name: Name
    maxConcurrent: Annotated[int, Field(ge=1, le=10**9)]


class ServerIn(Part):
    """A server; null means unknown, and no resource group."""

    name: Name
    ready: bool | None = None
    circuitOpen: bool | None = None
    weight: NotNegative | None = None
    totalMiB: Mib | None = None
    reserveMiB: Mib | None = None
    slots: Annotated[int, Field(ge=1, le=100_000)] | None = None
    maxConcurrent: Count | None = None
    interactiveReserve: Count | None = None
    resourceGroup: ResourceGroupIn | None = None
    contextLength: Count | None = None
    loadMiBPerSecond: Positive | None = None
    callSeconds: NotNegative | None = None
    successRate: Share | None = None
    canLoad: bool | None = None
    models: list[Name] | None = None
    drain: DrainIn | None = None
    residents: list[ResidentIn] | None = None
    tickets: list[TicketIn] | None = None

    @model_validator(mode="after")
    def _no_twins(self) -> "ServerIn":
        """Refuse two residents of one model."""
        twice = _twice(resident.model for resident in self.residents or ())
        if twice:
            raise ValueError(f"{twice} is listed twice among the residents of {self.name}")
        return self


class KnownModelIn(Part):
    """What is known of a model wherever it runs."""

    footprintMiB: Mib | None = None


class DemandIn(Part):
    """Who needs a model; times since when."""

    waiting: list[Moment] | None = None
    intents: list[Moment] | None = None
    use: NotNegative | None = None
    predicted: NotNegative | None = None
    lastUsed: Moment | None = None


class CandidateIn(Part):
    """A model the request may use; `servers`: only there."""

    model: Name
    score: Annotated[float, Field(allow_inf_nan=False)]
    servers: list[Name] | None = None


class RequestIn(Part):
    """The call to place."""

    agent: str | None = None
    candidates: Annotated[list[CandidateIn], Field(min_length=1, max_length=1000)]
    tolerance: NotNegative | None = None
    promptTokens: Count | None = None
    priority: Literal["interactive", "background"] | None = None
    arrivedAt: Moment | None = None


class DecideIn(Part):
    """A snapshot with its request, or a request alone: then the living cluster is the snapshot."""

    now: Moment | None = None
    servers: Annotated[list[ServerIn], Field(max_length=10_000)] | None = None
    models: dict[str, KnownModelIn] | None = None
    demand: dict[str, DemandIn] | None = None
    request: RequestIn

    @model_validator(mode="after")
    def _whole(self) -> "DecideIn":
        """Refuse half a snapshot, two servers of one name, and a resource group with two caps."""
        if self.servers is not None and self.now is None:
            raise ValueError("now is missing: a snapshot says when it was taken, in Unix seconds")
        if self.servers is None and (self.models is not None or self.demand is not None):
            raise ValueError("servers is missing: give a whole snapshot, or only its request")
        twice = _twice(server.name for server in self.servers or ())
        if twice:
            raise ValueError(f"two servers are called {twice}")
        said = (
            (
                server.name,
                ResourceGroup(name=server.resourceGroup.name, max_concurrent=server.resourceGroup.maxConcurrent),
            )
            for server in self.servers or ()
            if server.resourceGroup is not None
        )
        for wrong in contradictions(said):
            raise ValueError(f"resourceGroup.maxConcurrent of {wrong.server} {wrong.message()}")
        return self


@router.post("", summary="What would be decided; nothing is claimed")
async def what_if(request: AuthedRequest, payload: DecideIn) -> dict[str, Any]:
    """Decide for a request on the snapshot given with it, or on the living cluster when it comes alone."""
    request.auth.require("read")
    doc = payload.model_dump()
    if payload.servers is None:
        rt = await bootstrap.runtime()
        snapshot = rt.ledger.replica.snapshot(now=rt.now())
    else:
        snapshot = read_snapshot(doc)
    return decision_doc(decide(request=read_request(doc["request"], now=snapshot.now), snapshot=snapshot))


def _twice(names: Any) -> str | None:
    return next((name for name, count in Counter(names).items() if count > 1), None)
