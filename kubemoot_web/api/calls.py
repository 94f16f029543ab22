"""`/calls`: finished and running calls with the decision that placed them; never a word of a prompt."""

from typing import Annotated, Any

from asgiref.sync import sync_to_async
from django.http import Http404
from ninja import Query, Router
from pydantic import Field

from kubemoot_web.access import AuthedRequest
from kubemoot_web.api.attempts import attempt_doc
from kubemoot_web.board import rfc3339
from scheduler import queries
from scheduler.core.attempt_history import split_attempt_id
from scheduler.core.decisions import code_of
from scheduler.models import Call

router = Router()

Filter = Annotated[str, Query(), Field(max_length=320)]


@router.get("", summary="Calls, newest first")
async def listing(
    request: AuthedRequest,
    agent: Filter = "",
    server: Filter = "",
    model: Filter = "",
    state: Filter = "",
    before: Annotated[str, Query(), Field(max_length=64)] = "",
    limit: Annotated[int, Query(), Field(ge=1, le=500)] = 100,
) -> dict[str, Any]:
    """List calls, newest first. `before` takes the id of the last call of the page before."""
    request.auth.require("read")
    wanted = {"agent": agent, "server": server, "model": model, "state": state}
    filters = {name: value for name, value in wanted.items() if value}
    rows = queries.calls(filters=filters, before=before).defer("decision")[:limit]
    calls = [call async for call in rows]
    return {"calls": [_doc(call) for call in calls], "next": calls[-1].id if len(calls) == limit else None}


@router.get("/{call}", summary="One call with its decision")
async def show(request: AuthedRequest, call: str) -> dict[str, Any]:
    """Show one call with everything that was weighed for it, and its attempts; the id of any of these finds it."""
    request.auth.require("read")
    found = await Call.objects.filter(id=split_attempt_id(call)[0]).afirst()
    if found is None:
        raise Http404
    attempts = await sync_to_async(queries.attempts_of)(call=found.id)
    return _doc(found) | {"attempts": [attempt_doc(attempt) for attempt in attempts], "decision": found.decision}


def _doc(call: Call) -> dict[str, Any]:
    end = call.started_at or call.finished_at
    return {
        "id": call.id,
        "agent": call.agent,
        "crew": call.crew or None,
        "thread": call.thread or None,
        "phase": call.phase or None,
        "purpose": call.purpose or None,
        "priority": call.priority,
        "key": call.key or None,
        "model": call.model or None,
        "server": call.server or None,
        "action": call.action or None,
        "state": call.state,
        "outcome": call.outcome or None,
        "attemptCount": call.attempts,
        "reason": code_of(reason=call.reason) or None,
        "evicted": call.evicted,
        "arrivedAt": rfc3339(call.arrived_at.timestamp()),
        "startedAt": None if call.started_at is None else rfc3339(call.started_at.timestamp()),
        "firstByteAt": None if call.first_byte_at is None else rfc3339(call.first_byte_at.timestamp()),
        "finishedAt": None if call.finished_at is None else rfc3339(call.finished_at.timestamp()),
        "waitedMs": None if end is None else round((end - call.arrived_at).total_seconds() * 1000),
        "promptTokens": call.prompt_tokens,
        "completionTokens": call.completion_tokens,
    }
