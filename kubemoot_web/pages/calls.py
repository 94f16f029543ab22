"""`/calls`: what was called, found by filters in the address; and one call with the decision that placed it."""

from collections.abc import Mapping
from typing import Any

from asgiref.sync import sync_to_async
from django.http import HttpRequest, HttpResponseBase, HttpResponseRedirect

from kubemoot_web.access.key_list import key_names
from kubemoot_web.board.details.call import call_sheet_of
from kubemoot_web.board.details.calls import PAGE, calls_of, offered
from kubemoot_web.board.details.filters import Filters, filters_of
from kubemoot_web.pages.looking import HAVE, Page, look, people_only
from scheduler import bootstrap, queries
from scheduler.bootstrap import Runtime
from scheduler.core.attempt_history import AttemptRecord
from scheduler.core.call_history import CallPage, CallRecord
from scheduler.core.messages.missing import no_call

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
        page, keys = await sync_to_async(_page)(filters, now)
        shown = calls_of(filters=filters, page=page, keys=keys, replica=rt.ledger.replica, now=now)
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
        known, attempts, keys = await sync_to_async(_one)(id)
        sheet = call_sheet_of(
            call=known,
            attempts=attempts,
            keys=keys,
            id=id,
            replica=rt.ledger.replica,
            config=rt.config,
            now=rt.now(),
        )
        return None if sheet is None else {"sheet": sheet}

    return await look(request, page=CALL, draw=draw, missing=no_call(id=id))


def _one(id: str) -> tuple[CallRecord | None, tuple[AttemptRecord, ...], Mapping[str, str]]:
    known = queries.one_call(id=id)
    if known is None:
        return None, (), {}
    return known, queries.attempts_of(call=known.id), key_names(prefixes=[known.key])


def _columns(filters: Filters) -> Mapping[str, str]:
    """Take a name for that of a key where calls came under it: such a call has no agent."""
    typed = filters.values.get("agent", "")
    is_key = typed and "/" not in typed and queries.has_calls(agent=typed)
    return {**filters.columns, "agent": typed} if is_key else filters.columns


def _page(filters: Filters, now: float) -> tuple[CallPage, Mapping[str, str]]:
    since = None if filters.since_s is None else now - filters.since_s
    page = queries.call_page(filters=_columns(filters), since=since, before=filters.before, limit=PAGE)
    return page, key_names(prefixes=[call.key for call in page.calls])
