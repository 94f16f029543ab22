"""What one asks for next: servers, models, the line."""

from collections.abc import Mapping
from typing import Any

from asgiref.sync import sync_to_async
from django.http import HttpRequest, HttpResponseBase

from kubemoot_web.access import may
from kubemoot_web.access.key_list import key_names
from kubemoot_web.board.details.day import SPANS, Flights, window_of
from kubemoot_web.board.details.model import Registration, begin_of_hours, model_sheet_of
from kubemoot_web.board.details.models import models_of
from kubemoot_web.board.details.server import DAY_S, Past, first_known_at, server_sheet_of
from kubemoot_web.board.details.servers import servers_of
from kubemoot_web.board.details.waiting import waiting_room_of
from kubemoot_web.board.duplicates import pairs_of, pairs_with
from kubemoot_web.pages.looking import HAVE, Page, look, people_only
from providers import queries as providers
from scheduler import queries
from scheduler.bootstrap import Runtime
from scheduler.core.messages.missing import no_model, no_server

FEW_CALLS = 8
MOST_EVENTS = 2000
MOST_ASIDE = 100

SERVERS = Page(template="details/servers.html", parts={"servers-list": "details/_servers.html"})
SERVER = Page(
    template="details/server.html",
    parts={
        "sheet-state": "details/_server_state.html",
        "sheet-day": "details/_day.html",
        "sheet-holds": "details/_server_now.html",
        "sheet-refusals": "details/_refusals.html",
        "sheet-events": "details/_events.html",
        "last-calls": "details/_last_calls.html",
    },
)
MODELS = Page(template="details/models.html", parts={"models-list": "details/_models.html"})
MODEL = Page(
    template="details/model.html",
    parts={
        "model-state": "details/_model_state.html",
        "model-places": "details/_places.html",
        "model-hours": "details/_hours.html",
        "last-calls": "details/_last_calls.html",
    },
)
WAITING = Page(
    template="details/waiting.html",
    parts={
        "waiting-count": "details/_waiting_count.html",
        "waiting-wishes": "details/_wishes.html",
        "waiting-line": "details/_line.html",
    },
)


@people_only
async def servers(request: HttpRequest) -> HttpResponseBase:
    """List the servers."""

    async def draw(rt: Runtime) -> Mapping[str, Any]:
        now, replica = rt.now(), rt.ledger.replica
        calls, tallies = await sync_to_async(_counts)(now - DAY_S)
        return {
            "servers": servers_of(replica=replica, calls=calls, tallies=tallies, now=now),
            "pairs": pairs_of(records=replica.servers),
        }

    more = None if HAVE in request.GET else {"may_write": await may(await request.auser(), scope="write")}
    return await look(request, page=SERVERS, draw=draw, more=more)


@people_only
async def server(request: HttpRequest, name: str) -> HttpResponseBase:
    """Show one server."""
    span = request.GET.get("span", "")

    async def draw(rt: Runtime) -> Mapping[str, Any] | None:
        now = rt.now()
        past = await sync_to_async(_past)(name, span, now)
        replica = rt.ledger.replica
        if name not in replica.servers:
            return None
        sheet = server_sheet_of(replica=replica, name=name, past=past, span=span, now=now)
        return {
            "sheet": sheet,
            "pairs": pairs_with(records=replica.servers, server=name),
            "day": sheet.day,
            "calls": sheet.calls,
            "all_calls": {"server": name},
        }

    return await look(request, page=SERVER, draw=draw, missing=no_server(name=name))


@people_only
async def models(request: HttpRequest) -> HttpResponseBase:
    """List the models."""

    async def draw(rt: Runtime) -> Mapping[str, Any]:
        now = rt.now()
        counts = await sync_to_async(_model_counts)(now - DAY_S)
        return {"models": models_of(replica=rt.ledger.replica, now=now, **counts)}

    return await look(request, page=MODELS, draw=draw)


@people_only
async def model(request: HttpRequest, name: str) -> HttpResponseBase:
    """Show one model."""

    async def draw(rt: Runtime) -> Mapping[str, Any] | None:
        now = rt.now()
        known = await sync_to_async(_known_of_model)(name, now)
        sheet = model_sheet_of(replica=rt.ledger.replica, name=name, now=now, **known)
        if sheet is None:
            return None
        return {"sheet": sheet, "users": sheet.users, "calls": sheet.calls, "all_calls": {"model": name}}

    return await look(request, page=MODEL, draw=draw, missing=no_model(name=name))


@people_only
async def waiting(request: HttpRequest) -> HttpResponseBase:
    """Show who waits."""

    async def draw(rt: Runtime) -> Mapping[str, Any]:
        return {"room": waiting_room_of(replica=rt.ledger.replica, config=rt.config, now=rt.now())}

    return await look(request, page=WAITING, draw=draw)


def _counts(since: float) -> tuple[dict[str, int], dict[str, dict[str, int]]]:
    return queries.calls_by(what="server", since=since), queries.server_tallies(since=since)


def _past(name: str, span: str, now: float) -> Past:
    events = queries.server_events(server=name, since=now - DAY_S, limit=MOST_EVENTS)
    calls = queries.call_page(filters={"server": name}, since=None, before="", limit=FEW_CALLS).calls
    first_at = None if span in SPANS else first_known_at(past_events=events, calls=calls, now=now)
    begin = window_of(span=span, first_at=first_at, now=now).begin
    begun, changes = queries.calls_in_flight(server=name, since=begin, until=now)
    return Past(
        events=events,
        flights=Flights(begun=begun, changes=changes),
        calls=calls,
        keys=key_names(prefixes=[call.key for call in calls]),
        stood_aside=queries.stood_aside(since=now - DAY_S, limit=MOST_ASIDE),
    )


def _model_counts(since: float) -> dict[str, Any]:
    return {
        "registered": tuple(spec.model for spec in providers.models()),
        "agents": queries.users_by_model(),
        "calls": queries.calls_by(what="model", since=since),
    }


def _known_of_model(name: str, now: float) -> dict[str, Any]:
    specs = [spec for spec in providers.models() if spec.model == name]
    servers = [spec.server for spec in specs]
    bound = frozenset(server for server in servers if server is not None)
    calls = queries.call_page(filters={"model": name}, since=None, before="", limit=FEW_CALLS).calls
    return {
        "registration": Registration(
            names=tuple(spec.name for spec in specs),
            labels={key: value for spec in specs for key, value in spec.labels.items()},
            servers=None if None in servers or not servers else bound,
        ),
        "by_hour": queries.calls_by_hour(model=name, since=begin_of_hours(now)),
        "calls": calls,
        "keys": key_names(prefixes=[call.key for call in calls]),
        "uses": queries.agents_using(model=name),
    }
