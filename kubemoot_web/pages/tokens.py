"""`/tokens`: the keys of programs. Each is shown once, when it is made; what is stored cannot be turned into it."""

from collections.abc import Mapping
from typing import Any

from asgiref.sync import sync_to_async
from django.contrib import messages as notices
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from kubemoot_web.access import Principal, principal_of_user, token_create
from kubemoot_web.access.key_list import MANAGES, Key, key_revoke, keys_seen
from kubemoot_web.board.details.keys import KeyRow, limits_of
from kubemoot_web.board.ids import dom_id
from kubemoot_web.board.times import dated
from kubemoot_web.pages.guard import needs
from kubemoot_web.pages.key_forms import KeyForm
from kubemoot_web.pages.looking import Page, look, people_only
from providers import queries as providers
from scheduler import queries
from scheduler.bootstrap import Runtime

KEYS = Page(template="tokens/tokens.html", parts={"keys-list": "tokens/_keys.html"})


async def tokens(request: HttpRequest) -> HttpResponseBase:
    """List keys, and make one."""
    return await (_make(request) if request.method == "POST" else _list(request))


@people_only
async def _list(request: HttpRequest) -> HttpResponseBase:
    """List the keys that this person may see, with the form of a new one."""
    principal = await principal_of_user(await request.auser())
    assert principal is not None  # people_only has looked
    return await _page(request, principal, form=await _form(principal))


@needs("read")
async def _make(request: HttpRequest, principal: Principal) -> HttpResponseBase:
    """Make a key and show it, this once."""
    form = await _form(principal, request.POST)
    if not form.is_valid():
        return await _page(request, principal, form=form, status=422)
    made = await token_create(**form.wanted(), user_id=await _user_id(request))
    return await _page(
        request, principal, form=await _form(principal), made=made, made_name=form.cleaned_data["name"], status=201
    )


@require_POST
@needs("read")
async def revoke(request: HttpRequest, principal: Principal) -> HttpResponseBase:
    """Take a key away."""
    name = await sync_to_async(key_revoke)(
        prefix=request.POST.get("key", ""), principal=principal, user_id=await _user_id(request)
    )
    if name is None:
        notices.warning(request, "That key is gone already, or is not yours.")
    else:
        notices.success(request, f"The key {name} is revoked. Whoever still has it is refused within five seconds.")
    return redirect("tokens")


async def _user_id(request: HttpRequest) -> int:
    user = await request.auser()
    assert user.pk is not None  # the guards have let in only people who are signed in
    return int(user.pk)


async def _form(principal: Principal, data: Any = None) -> KeyForm:
    models = sorted({model.model for model in await sync_to_async(providers.models)()})
    _, crews = await sync_to_async(queries.agent_and_crew_names)()
    return KeyForm(data, principal=principal, crews=sorted(crews), models=models)


async def _page(
    request: HttpRequest, principal: Principal, *, form: KeyForm, status: int = 200, **more: Any
) -> HttpResponseBase:
    user_id = await _user_id(request)
    is_manager, may_call = (scope in principal.scopes for scope in (MANAGES, "call"))

    async def draw(rt: Runtime) -> Mapping[str, Any]:
        keys = await sync_to_async(keys_seen)(principal=principal, user_id=user_id)
        now = rt.now()
        return {"keys": tuple(_row(key, now) for key in keys), "is_manager": is_manager, "may_call": may_call}

    answer = await look(request, page=KEYS, draw=draw, more={"form": form, **more}, reader=str(user_id))
    if answer.status_code == 200:
        answer.status_code = status
    return answer


def _row(key: Key, now: float) -> KeyRow:
    limits = limits_of(
        agent=key.agent,
        crew=key.crew,
        crews=key.crews,
        models=key.models,
        ceiling=key.ceiling,
        max_calls=key.max_calls,
    )
    return KeyRow(
        id=dom_id("key", key.prefix),
        prefix=key.prefix,
        name=key.name,
        owner=key.owner,
        scopes=key.scopes,
        limits=limits,
        used=dated(key.last_used_at),
        ends=dated(key.expires_at),
        is_over=key.expires_at is not None and key.expires_at <= now,
    )
