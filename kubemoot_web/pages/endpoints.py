"""`/endpoints`: who runs on each server, who waits for it, and what an operator does about it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from asgiref.sync import sync_to_async
from django.conf import settings
from django.contrib import messages as notices
from django.core.exceptions import BadRequest
from django.http import Http404, HttpRequest, HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse

from kubemoot_web.access import Principal, may
from kubemoot_web.access.operating import limits_told, one_line, told
from kubemoot_web.board.details.endpoints import endpoint_sheet_of, endpoints_of
from kubemoot_web.board.duplicates import pairs_of, pairs_with
from kubemoot_web.crds.errors import Conflict, ImportRefused, NotFound
from kubemoot_web.crds.limits import limits_get, limits_put
from kubemoot_web.pages.addresses import Addresses, Do, addresses_act, addresses_of
from kubemoot_web.pages.guard import needs
from kubemoot_web.pages.limits_form import LimitsForm
from kubemoot_web.pages.looking import HAVE, Page, look, people_only
from scheduler import bootstrap, queries
from scheduler.bootstrap import Runtime
from scheduler.core.attempt_history import AttemptRecord
from scheduler.core.attempt_summary import HOUR_S
from scheduler.core.messages.endpoints import last_span, step_done, step_unknown
from scheduler.core.messages.missing import no_server
from scheduler.core.operator_steps import Step
from scheduler.ports import LedgerUnavailable, UnknownServer
from scheduler.services.endpoint_steps import endpoint_step

MOST_SUMMED = 5000
"""How many attempts the last hour is told by, the newest: the page sums them up every other second."""
LIMITS = "limits"
LIST = Page(template="endpoints/endpoints.html", parts={"endpoints-list": "endpoints/_list.html"})
ONE = Page(
    template="endpoints/endpoint.html",
    parts={
        "endpoint-state": "endpoints/_state.html",
        "endpoint-places": "endpoints/_places.html",
        "endpoint-queue": "endpoints/_queue.html",
        "endpoint-hour": "endpoints/_hour.html",
        "endpoint-steps": "endpoints/_steps.html",
    },
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Forms:
    """What of an endpoint's page is filled in, for whoever may write. None: there is no such server."""

    limits: LimitsForm | None
    addresses: Addresses | None


@people_only
async def endpoints(request: HttpRequest) -> HttpResponseBase:
    """List the endpoints."""

    async def draw(rt: Runtime) -> Mapping[str, Any]:
        now, replica = rt.now(), rt.ledger.replica
        attempts, since = await _attempts(server="", now=now)
        return {
            "endpoints": endpoints_of(
                replica=replica, local=rt.doors.local.state(), attempts=attempts, since=since, now=now
            ),
            "pairs": pairs_of(records=replica.servers),
            "span": last_span(span_s=now - since),
        }

    more = None if HAVE in request.GET else {"may_write": await may(await request.auser(), scope="write")}
    return await look(request, page=LIST, draw=draw, more=more)


async def endpoint(request: HttpRequest, name: str) -> HttpResponseBase:
    """Show one endpoint, and do something to it."""
    return await (_act(request, name) if request.method == "POST" else _show(request, name))


@people_only
async def _show(request: HttpRequest, name: str) -> HttpResponseBase:
    """Show one endpoint; whoever may change it gets what it takes."""
    may_write = await may(await request.auser(), scope="write")
    forms = await _forms(name) if may_write and HAVE not in request.GET else None
    return await _page(request, name, may_write=may_write, forms=forms)


@needs("write")
async def _act(request: HttpRequest, principal: Principal, name: str) -> HttpResponseBase:
    """Do what a button says."""
    wanted = request.POST.get("do", "")
    try:
        if wanted == LIMITS:
            return await _set_limits(request, principal, name)
        if wanted in set(Do):
            return await _set_addresses(request, principal, name)
        return await _step(request, principal, name, wanted)
    except LedgerUnavailable:
        notices.error(request, step_unknown(server=name))
        return redirect("endpoint", name)


async def _step(request: HttpRequest, principal: Principal, name: str, wanted: str) -> HttpResponseBase:
    if wanted not in set(Step):
        raise BadRequest("There is no such button.")
    rt = await bootstrap.runtime()
    step, reason = Step(wanted), one_line(request.POST.get("reason", ""))
    try:
        done = await endpoint_step(
            ledger=rt.ledger, effects=rt.effects, config=rt.config, server=name, step=step, reason=reason, now=rt.now()
        )
    except UnknownServer as error:
        raise Http404(no_server(name=name)) from error
    if done.is_news:
        told(step=step.value, server=name, principal=principal, reason=reason)
    notices.success(request, step_done(step=step, server=name, is_news=done.is_news, sent_away=done.sent_away))
    return redirect("endpoint", name)


async def _set_limits(request: HttpRequest, principal: Principal, name: str) -> HttpResponseBase:
    try:
        form = LimitsForm(request.POST, limits=await limits_get(server=name))
    except NotFound as error:
        raise Http404(no_server(name=name)) from error
    if form.is_valid() and await _stored(form, name):
        said = limits_told(form.limits(), group_cap=form.new_group_cap())
        told(step=said, server=name, principal=principal)
        notices.success(request, f"The limits of {name} are set. Calls that run go on.")
        return _top(name)
    return await _again(request, name, replace(await _forms(name), limits=form))


async def _set_addresses(request: HttpRequest, principal: Principal, name: str) -> HttpResponseBase:
    wrong = await addresses_act(request, principal, name)
    if wrong is None:
        return _top(name)
    return await _again(request, name, replace(await _forms(name), addresses=wrong))


def _top(name: str) -> HttpResponseBase:
    """Lead to where it is said what was done: a form leads to itself, for what was wrong with it."""
    return redirect(f"{reverse('endpoint', args=[name])}#main")


async def _again(request: HttpRequest, name: str, forms: Forms) -> HttpResponseBase:
    """Show the page again, with what was wrong beside its field."""
    answer = await _page(request, name, may_write=True, forms=forms)
    answer.status_code = 422
    return answer


async def _stored(form: LimitsForm, name: str) -> bool:
    """Store what was typed; say beside its field why it was not."""
    try:
        await limits_put(
            server=name,
            limits=form.limits(),
            group_cap=form.new_group_cap(),
            resource_version=form.cleaned_data["version"],
            node=settings.KUBEMOOT.node,
            now=bootstrap.clock(),
            changed=bootstrap.resources_changed,
        )
    except NotFound as error:
        raise Http404(no_server(name=name)) from error
    except Conflict:
        form.add_error(None, f"{name} was changed meanwhile. Open this page again to see how, then set the limits.")
        return False
    except ImportRefused as refused:
        form.blame(refused.problems)
        return False
    return True


async def _page(request: HttpRequest, name: str, *, may_write: bool, forms: Forms | None) -> HttpResponseBase:
    async def draw(rt: Runtime) -> Mapping[str, Any] | None:
        now, replica = rt.now(), rt.ledger.replica
        attempts, since = await _attempts(server=name, now=now)
        sheet = endpoint_sheet_of(
            replica=replica,
            local=rt.doors.local.state(),
            name=name,
            config=rt.config,
            attempts=attempts,
            since=since,
            now=now,
        )
        if sheet is None:
            return None
        pairs = pairs_with(records=replica.servers, server=name)
        return {"sheet": sheet, "one": sheet.one, "pairs": pairs, "may_write": may_write}

    more = {} if forms is None else {"form": forms.limits, "addresses": forms.addresses}
    reader = "writes" if may_write else ""
    return await look(request, page=ONE, draw=draw, more=more, reader=reader, missing=no_server(name=name))


async def _forms(name: str) -> Forms:
    """Fill the forms with what holds now; none for a server that has just been deleted, or never was."""
    try:
        limits = LimitsForm(limits=await limits_get(server=name))
        return Forms(limits=limits, addresses=await addresses_of(name))
    except NotFound:
        return Forms(limits=None, addresses=None)


async def _attempts(*, server: str, now: float) -> tuple[tuple[AttemptRecord, ...], float]:
    """Read the attempts of the last hour, and since when they are all there."""
    since = now - HOUR_S
    found = await sync_to_async(queries.attempts_to_sum)(since=since, limit=MOST_SUMMED, server=server)
    return found, found[-1].queued_at if len(found) == MOST_SUMMED else since
