"""`/calls`: what was called, found by filters in the address; and one call with the decision that placed it."""

from collections.abc import Mapping
from typing import Any

from asgiref.sync import sync_to_async
from django.http import HttpRequest, HttpResponseBase, HttpResponseRedirect

from kubemoot_web.board.details.call import call_sheet_of
from kubemoot_web.board.details.calls import PAGE, calls_of, offered
from kubemoot_web.board.details.filters import Filters, filters_of
from kubemoot_web.pages.looking import HAVE, Page, look, people_only
from scheduler import bootstrap, queries
from scheduler.bootstrap import Runtime
from scheduler.core.attempt_history import AttemptRecord
from scheduler.core.call_history import CallPage, CallRecord

CALLS = Page(template="details/calls.html", parts={"calls-list": "details/_calls.html"})
CALL = Page(
    template="details/call.html",
    parts={
        "call-state": "details/_call_state.html",
        "call-bar": "details/_call_bar.html",
        "call-waits": "details/_call_waits.html",
        "call-attempts": "details/_call_attempts.html",
        "call-decision": "details/_call_decision.html",
        "call-facts": "details/_call_facts.html",
    },
)


@people_only
async def calls(request: HttpRequest) -> HttpResponseBase:
    """List calls, newest first. An address with empty filters leads to the one without them, which is worth keeping."""
    filters = filters_of({name: str(value) for name, value in request.GET.items()})
    if any(value == "" for name, value in request.GET.items() if name != HAVE):
        return HttpResponseRedirect(request.path + filters.address())

    async def draw(rt: Runtime) -> Mapping[str, Any]:
        now = rt.now()
        page = await sync_to_async(_page)(filters, now)
        shown = calls_of(filters=filters, page=page, replica=rt.ledger.replica, now=now)
        return {"calls": shown, "is_live": shown.is_newest}

    if HAVE in request.GET:
        return await look(request, page=CALLS, draw=draw)
    agents, crews = await sync_to_async(queries.agent_and_crew_names)()
    replica = (await bootstrap.runtime()).ledger.replica
    more = {"offered": offered(filters=filters, replica=replica, agents=agents, crews=crews), "filters": filters}
    return await look(request, page=CALLS, draw=draw, more=more)


@people_only
async def call(request: HttpRequest, id: str) -> HttpResponseBase:
    """Show one call."""

    async def draw(rt: Runtime) -> Mapping[str, Any] | None:
        known, attempts = await sync_to_async(_one)(id)
        sheet = call_sheet_of(
            call=known, attempts=attempts, id=id, replica=rt.ledger.replica, config=rt.config, now=rt.now()
        )
        return None if sheet is None else {"sheet": sheet}

    return await look(request, page=CALL, draw=draw)


def _one(id: str) -> tuple[CallRecord | None, tuple[AttemptRecord, ...]]:
    known = queries.one_call(id=id)
    return known, () if known is None else queries.attempts_of(call=known.id)


def _page(filters: Filters, now: float) -> CallPage:
    since = None if filters.since_s is None else now - filters.since_s
    return queries.call_page(filters=filters.columns, since=since, before=filters.before, limit=PAGE)
