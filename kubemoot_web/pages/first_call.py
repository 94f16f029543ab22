"""`/start/call/`: the first placed call.

It claims a place the way any program does, shows what came of it, and gives the place back. No engine is asked to
answer anything.
"""

from datetime import timedelta
from typing import Any

from asgiref.sync import sync_to_async
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from kubemoot_web.access import Principal, token_create
from kubemoot_web.board import still_waiting_doc
from kubemoot_web.pages.guard import needs
from providers import queries
from scheduler import bootstrap
from scheduler.core import messages
from scheduler.core.ledger import Outcome, Settled
from scheduler.ports import TicketGone
from scheduler.services.callers import Wanted, call_of
from scheduler.services.submit import StillWaiting, call_submit, call_wait
from scheduler.services.tickets import ticket_release

PURPOSE = "first_call"
SCOPES = ("read", "call")
LIFETIME = timedelta(days=1)
LOOK_S = 0.8
"""How long one look at a wait may take: the page asks again, so no request lasts as long as a load."""


@require_http_methods(["GET", "HEAD", "POST"])
@needs("call")
async def place(request: HttpRequest, principal: Principal) -> HttpResponseBase:
    """Ask which model to call, then claim a place for it."""
    names = sorted({model.model for model in await sync_to_async(queries.models)()})
    if request.method != "POST":
        return await _page(request, {"models": names})
    model = request.POST.get("model", "")
    if model not in names:
        return await _page(request, {"models": names, "wrong": "Choose one of the models."}, status=422)
    rt = await bootstrap.runtime()
    call = await call_of(catalog=rt.catalog, wanted=Wanted(caller=principal.name, model=model, purpose=PURPOSE))
    settled = await call_submit(
        ledger=rt.ledger, effects=rt.effects, config=rt.config, ids=rt.ids, now=rt.now, call=call, wait_s=LOOK_S
    )
    if isinstance(settled, StillWaiting):
        return redirect("start-wait", settled.waiter.id)
    return await _page(request, {"models": names, **await _end(rt, settled)})


@require_http_methods(["GET", "HEAD", "POST"])
@needs("call")
async def wait(request: HttpRequest, principal: Principal, waiter: str) -> HttpResponseBase:
    """Show what a call waits for; a POST looks whether the wait is over, and ends it."""
    rt = await bootstrap.runtime()
    names = sorted({model.model for model in await sync_to_async(queries.models)()})
    known = rt.ledger.replica.waiters.get(waiter)
    if request.method == "POST" and known is not None and known.purpose == PURPOSE:
        try:
            settled = await call_wait(ledger=rt.ledger, config=rt.config, now=rt.now, waiter=waiter, wait_s=LOOK_S)
        except TicketGone:
            return await _page(request, {"models": names, "gone": True})
        if not isinstance(settled, StillWaiting):
            return await _page(request, {"models": names, **await _end(rt, settled)})
        known = settled.waiter
    if known is None or known.purpose != PURPOSE:
        return await _page(request, {"models": names, "gone": True})
    doc = still_waiting_doc(replica=rt.ledger.replica, config=rt.config, waiter=known, now=rt.now())
    return await _page(request, {"models": names, "waiting": doc})


@require_POST
@needs("call")
async def token(request: HttpRequest, principal: Principal) -> HttpResponseBase:
    """Make a token for the lines that do the same from a shell; it is shown once."""
    user = await request.auser()
    made = await token_create(name=f"first call of {principal.name}", scopes=SCOPES, lifetime=LIFETIME, user_id=user.pk)
    names = sorted({model.model for model in await sync_to_async(queries.models)()})
    address = f"{request.scheme}://{request.get_host()}"
    return await _page(
        request, {"models": names, "token": made, "address": address, "model": names[0] if names else ""}
    )


async def _end(rt: bootstrap.Runtime, settled: Settled) -> dict[str, Any]:
    """Give the place back, and say what it was."""
    ticket = settled.ticket
    if ticket is None:
        return {"aside": messages.stood_aside(reason=settled.reason or "", model=settled.model)}
    await ticket_release(
        ledger=rt.ledger,
        effects=rt.effects,
        config=rt.config,
        ticket=ticket.id,
        outcome=Outcome(ok=True),
        now=rt.now(),
    )
    return {
        "placed": messages.call_placed(
            action=ticket.action, model=ticket.model, server=ticket.server, evicts=ticket.evicted
        ),
        "waited": messages.seconds(max(ticket.started_at - ticket.arrived_at, 0.0)),
        "server": ticket.server,
        "called": ticket.model,
    }


async def _page(request: HttpRequest, context: dict[str, Any], *, status: int = 200) -> HttpResponseBase:
    template = "start/_call.html" if request.headers.get("HX-Request") else "start/call.html"
    return await sync_to_async(render)(request, template, context, status=status)
