"""`/tickets`: a place for one call; held by renewing it, given back when the call is over."""

from typing import Annotated, Any, Literal

from ninja import Router, Schema, Status
from pydantic import ConfigDict, Field, model_validator

from kubemoot_web.access import AuthedRequest
from kubemoot_web.access.limits import capped
from kubemoot_web.api.ownership import require_own
from kubemoot_web.board import settled_doc, standing_aside_doc, still_waiting_doc
from scheduler import bootstrap
from scheduler.core.gate import QuarantineCause
from scheduler.core.ledger import Outcome, Settled
from scheduler.core.types import Priority
from scheduler.services.callers import Wanted, call_of
from scheduler.services.submit import StillWaiting, call_submit
from scheduler.services.tickets import ticket_release, ticket_renew

router = Router()

MAX_WAIT_S = 300
Text = Annotated[str, Field(min_length=1, max_length=320)]


class TicketIn(Schema):
    """What wants a place: an agent, or any caller by the model or the capabilities it needs."""

    model_config = ConfigDict(extra="forbid")

    agent: Text | None = None
    model: Text | None = None
    capabilities: Annotated[list[Text], Field(min_length=1, max_length=32)] | None = None
    thread: Annotated[str, Field(max_length=200)] = ""
    phase: Literal["mulling", "triage"] = "mulling"
    promptTokens: Annotated[int, Field(ge=0, le=10**9)] | None = None
    priority: Literal["interactive", "background"] = "interactive"
    purpose: Annotated[str, Field(max_length=64, pattern=r"^[a-z_]*$")] = ""
    plan: Annotated[str, Field(max_length=64)] | None = None
    wait: Annotated[float, Field(ge=0, le=MAX_WAIT_S)] = 30

    @model_validator(mode="after")
    def _one_way(self) -> "TicketIn":
        """Refuse a call that says in two ways, or in none, what may serve it."""
        if sum(each is not None for each in (self.agent, self.model, self.capabilities)) != 1:
            raise ValueError("say who calls in exactly one of the fields agent, model and capabilities")
        return self


class OutcomeIn(Schema):
    """How the call ended. `ambiguity`: nobody knows whether the engine still works on it, and why."""

    model_config = ConfigDict(extra="forbid")

    ok: bool = True
    promptTokens: Annotated[int, Field(ge=0, le=10**9)] | None = None
    completionTokens: Annotated[int, Field(ge=0, le=10**9)] | None = None
    ambiguity: Literal["ambiguous_timeout", "ambiguous_transport", "incomplete_response"] | None = None

    @model_validator(mode="after")
    def _knows(self) -> "OutcomeIn":
        """Refuse a call that went well and ended in doubt."""
        if self.ok and self.ambiguity is not None:
            raise ValueError("ambiguity is for calls that did not go well: say ok false with it, or leave it out")
        return self


@router.post("", response={201: dict, 202: dict, 409: dict}, summary="Claim a place for a call")
async def claim(request: AuthedRequest, payload: TicketIn) -> Status[dict[str, Any]]:
    """Answer 201 with the ticket once its model is ready, 202 when `wait` seconds ran out, 409 when it stands aside.

    The wait goes on after a 202: ask for it at `/waiters/{id}`.
    """
    request.auth.require("call")
    rt = await bootstrap.runtime()
    call = await call_of(
        catalog=rt.catalog,
        wanted=Wanted(
            caller=request.auth.agent or request.auth.name,
            agent=payload.agent,
            model=payload.model,
            capabilities=tuple(payload.capabilities or ()),
            thread=payload.thread,
            phase=payload.phase,
            purpose=payload.purpose,
            priority=Priority(payload.priority),
            prompt_tokens=payload.promptTokens,
            plan=payload.plan,
        ),
    )
    request.auth.require_agent(agent=call.agent, crew=call.crew or None)
    call = capped(principal=request.auth, call=call)
    if payload.plan is not None:
        await require_own(principal=request.auth, ledger=rt.ledger, id=payload.plan)
    settled = await call_submit(
        ledger=rt.ledger,
        effects=rt.effects,
        config=rt.config,
        ids=rt.ids,
        now=rt.now,
        call=call,
        wait_s=payload.wait,
    )
    return answer(rt=rt, settled=settled, created=201)


@router.post("/{ticket}/renew", summary="Keep holding a ticket")
async def renew(request: AuthedRequest, ticket: str) -> dict[str, Any]:
    """Renew the lease; 404 with the code `ticket-gone` when it is not held any more."""
    request.auth.require("call")
    rt = await bootstrap.runtime()
    await require_own(principal=request.auth, ledger=rt.ledger, id=ticket)
    return {"id": ticket, "leaseSeconds": await ticket_renew(ledger=rt.ledger, ticket=ticket)}


@router.delete("/{ticket}", summary="Give a ticket back")
async def release(request: AuthedRequest, ticket: str, payload: OutcomeIn | None = None) -> dict[str, Any]:
    """Give the place back. A ticket that is gone already stays gone: `released` is then false, and nothing changed.

    Do it when the engine has ended. Whoever leaves a call at an engine that works on without its client keeps renewing
    the ticket until then: a server's `abortsOnDisconnect` is about calls through the gateway alone. Where the holder
    does not know whether the engine still works on the call, `ambiguity` says why, and a server with
    `quarantineOnAmbiguous` is taken out for it, as for a ticket that is not renewed any more.
    """
    request.auth.require("call")
    rt = await bootstrap.runtime()
    await require_own(principal=request.auth, ledger=rt.ledger, id=ticket)
    outcome = payload or OutcomeIn()
    released = await ticket_release(
        ledger=rt.ledger,
        effects=rt.effects,
        config=rt.config,
        ticket=ticket,
        outcome=Outcome(
            ok=outcome.ok,
            prompt_tokens=outcome.promptTokens,
            completion_tokens=outcome.completionTokens,
            ambiguity=None if outcome.ambiguity is None else QuarantineCause(outcome.ambiguity),
        ),
        now=rt.now(),
    )
    return {"id": ticket, "released": released}


def answer(*, rt: bootstrap.Runtime, settled: Settled | StillWaiting, created: int) -> Status[dict[str, Any]]:
    """Write how a claim or a look at a wait ended."""
    replica = rt.ledger.replica
    if isinstance(settled, StillWaiting):
        return Status(202, still_waiting_doc(replica=replica, config=rt.config, waiter=settled.waiter, now=rt.now()))
    if settled.ticket is None:
        return Status(409, standing_aside_doc(settled=settled))
    return Status(created, settled_doc(replica=replica, config=rt.config, ticket=settled.ticket))
