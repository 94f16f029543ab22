"""`/attempts`: each contact with a server that calls asked for, and what they say about the servers; never a text."""

from datetime import datetime
from typing import Annotated, Any

from asgiref.sync import sync_to_async
from ninja import Query, Router
from pydantic import Field

from kubemoot_web.access import AuthedRequest
from kubemoot_web.board import rfc3339
from scheduler import bootstrap, queries
from scheduler.core.attempt_history import AttemptRecord
from scheduler.core.attempt_summary import HOUR_S, ServerSummary, summaries_of

router = Router()

MOST_SUMMED = 20_000
"""How many attempts a summary looks at, so that it stays quick: the newest. `since` says how far back they reach."""

Filter = Annotated[str, Query(), Field(max_length=2300)]
Since = Annotated[datetime | None, Query()]


@router.get("", summary="Attempts, newest first")
async def listing(
    request: AuthedRequest,
    endpoint: Filter = "",
    server: Filter = "",
    outcome: Filter = "",
    since: Since = None,
    before: Annotated[str, Query(), Field(max_length=80)] = "",
    limit: Annotated[int, Query(), Field(ge=1, le=500)] = 100,
) -> dict[str, Any]:
    """List attempts, newest first. `before` takes the id of the last attempt of the page before."""
    request.auth.require("read")
    wanted = {"endpoint": endpoint, "server": server, "outcome": outcome}
    page = await sync_to_async(queries.attempt_page)(
        filters={name: value for name, value in wanted.items() if value},
        since=None if since is None else since.timestamp(),
        before=before,
        limit=limit,
    )
    return {"attempts": [attempt_doc(attempt) for attempt in page.attempts], "next": page.next or None}


@router.get("/summary", summary="What attempts say about each server")
async def summary(request: AuthedRequest, since: Since = None) -> dict[str, Any]:
    """Sum up the attempts of the last hour, or since a moment, by server: ends, queue delays, model switches."""
    request.auth.require("read")
    now = (await bootstrap.runtime()).now()
    begin = now - HOUR_S if since is None else since.timestamp()
    found = await sync_to_async(queries.newest_attempts)(since=begin, limit=MOST_SUMMED)
    if len(found) == MOST_SUMMED:
        begin = found[-1].queued_at
    summed = summaries_of(attempts=found, since=begin, until=now)
    return {"since": rfc3339(begin), "until": rfc3339(now), "servers": [_summary_doc(one) for one in summed]}


def attempt_doc(attempt: AttemptRecord) -> dict[str, Any]:
    """Write an attempt for programs."""
    return {
        "id": attempt.id,
        "call": attempt.call,
        "number": attempt.number,
        "server": attempt.server or None,
        "endpoint": attempt.endpoint or None,
        "model": attempt.model or None,
        "agent": attempt.agent,
        "crew": attempt.crew or None,
        "purpose": attempt.purpose or None,
        "priority": attempt.priority,
        "key": attempt.key or None,
        "queuedAt": rfc3339(attempt.queued_at),
        "admittedAt": rfc3339(attempt.admitted_at),
        "startedAt": rfc3339(attempt.started_at),
        "firstByteAt": rfc3339(attempt.first_byte_at),
        "finishedAt": rfc3339(attempt.finished_at),
        "queueDelayMs": _ms(attempt.queue_delay_s),
        "execMs": _ms(attempt.exec_s),
        "outcome": attempt.outcome,
        "status": attempt.status,
        "promptTokens": attempt.prompt_tokens,
        "completionTokens": attempt.completion_tokens,
    }


def _summary_doc(summary: ServerSummary) -> dict[str, Any]:
    return {
        "server": summary.server or None,
        "endpoint": summary.endpoint or None,
        "attempts": summary.attempts,
        "outcomes": dict(summary.outcomes),
        "queueP50Ms": _ms(summary.queue_p50_s),
        "queueP95Ms": _ms(summary.queue_p95_s),
        "modelSwitches": summary.switches.switches,
        "avoidableSwitches": summary.switches.avoidable,
        "switchesPerHour": round(summary.switches_per_hour, 2),
    }


def _ms(seconds: float | None) -> int | None:
    return None if seconds is None else round(seconds * 1000)
