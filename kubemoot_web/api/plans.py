"""`/plans`: holding places for agents the moment they are selected."""

from typing import Annotated, Any

from ninja import Router, Schema, Status
from pydantic import ConfigDict, Field, model_validator

from kubemoot_web.access import AuthedRequest
from kubemoot_web.access.limits import capped_profile
from kubemoot_web.api.ownership import require_own
from kubemoot_web.board import planned_doc
from scheduler import bootstrap
from scheduler.services.callers import profiles
from scheduler.services.selection import agents_select, plan_drop

router = Router()

Name = Annotated[str, Field(min_length=1, max_length=320)]


class PlanIn(Schema):
    """One selected agent, or all that were selected at once."""

    model_config = ConfigDict(extra="forbid")

    agent: Name | None = None
    agents: Annotated[list[Name], Field(min_length=1, max_length=200)] | None = None
    thread: Annotated[str, Field(min_length=1, max_length=200)]
    promptTokens: Annotated[int, Field(ge=0, le=10**9)] | None = None

    @model_validator(mode="after")
    def _one_way(self) -> "PlanIn":
        """Refuse both ways at once, and none."""
        if (self.agent is None) == (self.agents is None):
            raise ValueError("name the selected agents in exactly one of the fields agent and agents")
        return self


@router.post("", response={201: dict}, summary="Place selected agents and hold their places")
async def create(request: AuthedRequest, payload: PlanIn) -> Status[dict[str, Any]]:
    """Answer the plan of one agent, or `{"plans": [...]}` for several; `held` says whether a place is."""
    request.auth.require("call")
    rt = await bootstrap.runtime()
    names = payload.agents if payload.agents is not None else [payload.agent or ""]
    agents = await profiles(catalog=rt.catalog, names=names)
    for agent in agents:
        request.auth.require_agent(agent=agent.name, crew=agent.crew or None)
    agents = [capped_profile(principal=request.auth, profile=agent) for agent in agents]
    planned = await agents_select(
        ledger=rt.ledger,
        effects=rt.effects,
        config=rt.config,
        ids=rt.ids,
        agents=agents,
        thread=payload.thread,
        prompt_tokens=payload.promptTokens,
        now=rt.now(),
    )
    docs = [planned_doc(planned=each) for each in planned]
    return Status(201, docs[0] if payload.agents is None else {"plans": docs})


@router.delete("/{plan}", summary="Give back what was held for a selected agent")
async def drop(request: AuthedRequest, plan: str) -> dict[str, Any]:
    """Drop the plan. One that is gone already stays gone: `dropped` is then false, and nothing changed."""
    request.auth.require("call")
    rt = await bootstrap.runtime()
    await require_own(principal=request.auth, ledger=rt.ledger, id=plan)
    dropped = await plan_drop(ledger=rt.ledger, effects=rt.effects, config=rt.config, plan=plan, now=rt.now())
    return {"id": plan, "dropped": dropped}
