"""`/connect`: the exact lines that point a client here, with a key that one button makes."""

from datetime import timedelta

from asgiref.sync import sync_to_async
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import render
from django.views.decorators.http import require_POST, require_safe

from kubemoot_web.access import Principal, token_create
from kubemoot_web.board.details.connect import connection_of, model_to_try
from kubemoot_web.pages.guard import needs
from providers import queries as providers
from scheduler import bootstrap, queries

SCOPES = ("read", "call")
LIFETIME = timedelta(days=365)
LONGEST = 100


@require_safe
@needs("read")
async def connect(request: HttpRequest, principal: Principal) -> HttpResponseBase:
    """Show the lines, with a place for the key."""
    return await _page(request, principal)


@require_POST
@needs("call")
async def key(request: HttpRequest, principal: Principal) -> HttpResponseBase:
    """Make a key and show the lines with it, this once."""
    user = await request.auser()
    asked = request.POST.get("name", "").replace("/", " ").strip()  # with a slash it would pass for an agent's name
    name = (asked or f"client of {principal.name}")[:LONGEST]
    made = await token_create(name=name, scopes=SCOPES, lifetime=LIFETIME, user_id=user.pk)
    return await _page(request, principal, made=made, name=name, status=201)


async def _page(
    request: HttpRequest, principal: Principal, *, made: str = "", name: str = "", status: int = 200
) -> HttpResponseBase:
    rt = await bootstrap.runtime()
    registered = sorted({model.model for model in await sync_to_async(providers.models)()})
    agents, _ = await sync_to_async(queries.agent_and_crew_names)()
    connection = connection_of(
        address=f"{request.scheme}://{request.get_host()}",
        key=made,
        model=model_to_try(replica=rt.ledger.replica, registered=registered, now=rt.now()),
        agents=sorted(agents),
    )
    context = {"to": connection, "may_call": "call" in principal.scopes, "name": name}
    return await sync_to_async(render)(request, "connect/connect.html", context, status=status)
