"""`/start/`: from an empty installation to a server and its models, in two steps; the third is `first_call`.

Reading asks, writing registers: a page that is opened contacts this machine's usual ports or the server it is about,
and nothing is stored before somebody presses a button. What is stored goes the same way as `manage.py apply`.
"""

import json
from collections.abc import Sequence
from typing import Any

from asgiref.sync import sync_to_async
from django.conf import settings
from django.forms import formset_factory
from django.http import Http404, HttpRequest, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from kubemoot_web.access import Principal
from kubemoot_web.crds.bundle import Source
from kubemoot_web.crds.errors import ImportRefused
from kubemoot_web.crds.importing import bundle_apply
from kubemoot_web.crds.names import object_name
from kubemoot_web.pages.forms import ModelForm, ServerForm
from kubemoot_web.pages.guard import needs
from providers import queries
from providers.core.endpoint_key import EndpointRefused, endpoint_base
from providers.core.endpoint_safety import check_endpoint
from providers.core.engines import ENGINES
from providers.core.engines.base import ProbeFailure
from providers.core.naming import DEFAULT_NAMESPACE
from providers.core.specs import ServerSpec
from providers.core.suggestions import suggest
from providers.core.types import AvailableModel, EngineKind, Observation
from providers.services.discovery import Found, look_around
from providers.services.probe import probe_server
from scheduler import bootstrap

ModelForms = formset_factory(ModelForm, extra=0, max_num=500)


@require_http_methods(["GET", "HEAD", "POST"])
@needs("write")
async def servers(request: HttpRequest, principal: Principal) -> HttpResponseBase:
    """Offer what runs on this machine, and take an address; register what is chosen once it answers."""
    form = ServerForm(request.POST or None)
    if request.method == "POST" and form.is_valid() and await _registers(form):
        return redirect("start-models", form.cleaned_data["name"])
    registered = await sync_to_async(queries.servers)()
    known = {server.endpoint for server in registered}
    rt = await bootstrap.runtime()
    own_port = request.get_port()
    found = await look_around(engine=rt.engine, own_port=int(own_port) if own_port.isdecimal() else None)
    offers = [_offer(one, taken={s.name for s in registered}) for one in found if one.endpoint not in known]
    context = {"form": form, "offers": offers, "registered": registered, "is_told": request.method == "POST"}
    return await _page(request, "start/servers.html", context, is_wrong=request.method == "POST")


@require_POST
@needs("write")
async def check(request: HttpRequest, principal: Principal) -> HttpResponseBase:
    """Ask the server at an address, and say what it answers or what is wrong. Nothing is registered."""
    kind, endpoint = request.POST.get("kind", ""), request.POST.get("endpoint", "").strip()
    if not endpoint or kind not in set(EngineKind):
        return await _page(request, "start/_check.html", {})
    outcome = await _look(kind=EngineKind(kind), endpoint=endpoint)
    return await _page(request, "start/_check.html", {"outcome": _told(outcome), "is_wrong": _is_wrong(outcome)})


@require_http_methods(["GET", "HEAD", "POST"])
@needs("write")
async def models(request: HttpRequest, principal: Principal, name: str) -> HttpResponseBase:
    """List what lies on a server's disk with suggested labels, and register what is chosen."""
    server = next((one for one in await sync_to_async(queries.servers)() if one.name == name), None)
    if server is None:
        raise Http404
    if request.method == "POST":
        forms = ModelForms(request.POST)
        wanted = [form for form in forms if form.is_valid() and form.cleaned_data["wanted"]]
        if forms.is_valid() and (not wanted or await _applies(wanted)):
            return redirect("start-call")
        return await _page(request, "start/models.html", {"server": server, "forms": forms}, is_wrong=True)
    outcome = await _look(kind=server.kind, endpoint=server.endpoint, secret=server.secret)
    context: dict[str, Any] = {"server": server, "outcome": _told(outcome), "is_wrong": _is_wrong(outcome)}
    if isinstance(outcome, Observation):
        context["forms"] = ModelForms(initial=await _suggested(outcome.available or (), server=server))
    return await _page(request, "start/models.html", context)


async def _registers(form: ServerForm) -> bool:
    """Register a server that answers, or that shall be registered anyway; say beside the address why it was not."""
    if not await _applies([form], dry_run=True):
        return False
    if not form.cleaned_data["anyway"]:
        kind = EngineKind(form.cleaned_data["kind"])
        outcome = await _look(kind=kind, endpoint=form.cleaned_data["endpoint"])
        if not isinstance(outcome, Observation):
            form.add_error("endpoint", _told(outcome))
            return False
        if ENGINES[kind].loader is not None and _has_more(outcome) and form.need_memory():
            return False
    return await _applies([form])


async def _applies(forms: Sequence[ServerForm | ModelForm], *, dry_run: bool = False) -> bool:
    """Apply what the forms describe, all or nothing, as `manage.py apply` does; tell each form what was refused."""
    try:
        await bundle_apply(
            sources=[Source(file=str(place), text=json.dumps(form.document())) for place, form in enumerate(forms)],
            dry_run=dry_run,
            node=settings.KUBEMOOT.node,
            now=bootstrap.clock(),
            changed=bootstrap.resources_changed,
        )
    except ImportRefused as refused:
        for place, form in enumerate(forms):
            form.blame(problem for problem in refused.problems if problem.file == str(place))
        return False
    return True


async def _look(
    *, kind: EngineKind, endpoint: str, secret: str | None = None
) -> Observation | ProbeFailure | EndpointRefused:
    try:
        check_endpoint(endpoint)
        base = endpoint_base(endpoint)
    except EndpointRefused as refused:
        return refused
    rt = await bootstrap.runtime()
    return (await probe_server(engine=rt.engine, kind=kind, endpoint=base, now=rt.now(), secret=secret)).outcome


def _has_more(seen: Observation) -> bool:
    """Say whether a server has models that are not in its memory."""
    there = {name for copy in seen.loaded for name in (copy.model, *copy.aliases)}
    return any(model.model not in there for model in seen.available or ())


def _is_wrong(outcome: Observation | ProbeFailure | EndpointRefused) -> bool:
    return not isinstance(outcome, Observation)


def _told(outcome: Observation | ProbeFailure | EndpointRefused) -> str:
    match outcome:
        case Observation(available=available, version=version, slots=slots):
            number = len(available or ())
            count = f"has {number} {'model' if number == 1 else 'models'}"
            if available is None:
                count = "does not say which models it has"
            at_once = f". It takes {slots} {'call' if slots == 1 else 'calls'} at once" if slots else ""
            return f"It answers{f' (version {version})' if version else ''} and {count}{at_once}."
        case ProbeFailure(detail=detail):
            return detail
        case _:
            return f"The address {outcome.message}."


def _offer(found: Found, *, taken: set[str]) -> dict[str, Any]:
    """Fill a form with what was found; the name is one that nobody has."""
    names = [found.kind.value, *(f"{found.kind.value}-{number}" for number in range(2, len(taken) + 3))]
    name = next(name for name in names if name not in taken)
    initial = {"kind": found.kind.value, "endpoint": found.endpoint, "name": name, "slots": str(found.slots or 1)}
    return {"found": found, "form": ServerForm(initial=initial, auto_id=f"{name}-%s")}


async def _suggested(available: Sequence[AvailableModel], *, server: ServerSpec) -> list[dict[str, Any]]:
    """Fill a form for each model that is not registered yet. No name is one that another Model has."""
    registered = await sync_to_async(queries.models)()
    known = {model.model for model in registered if model.server in (None, server.name)}
    taken = {model.name for model in registered}
    return [_initial(model, server=server, taken=taken) for model in available if model.model not in known]


def _initial(model: AvailableModel, *, server: ServerSpec, taken: set[str]) -> dict[str, Any]:
    guess = suggest(model=model.model, size_mib=model.size_mib)
    name = object_name(model.model)
    return {
        "model": model.model,
        "name": object_name(f"{name} {server.name}") if f"{DEFAULT_NAMESPACE}/{name}" in taken else name,
        "wanted": True,
        "latency": guess.latency_class,
        "family": guess.family,
        "params": guess.params,
        "capabilities": ", ".join(guess.capabilities),
        "memory": "" if guess.vram_mib is None else str(guess.vram_mib),
    }


async def _page(
    request: HttpRequest, template: str, context: dict[str, Any], *, is_wrong: bool = False
) -> HttpResponseBase:
    return await sync_to_async(render)(request, template, context, status=422 if is_wrong else 200)
