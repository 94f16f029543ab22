"""Who may open a page that changes something: a signed-in person whose roles carry the scope."""

from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any

from asgiref.sync import sync_to_async
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import render
from django.views.decorators.cache import never_cache

from kubemoot_web.access import Forbidden, Principal, principal_of_user

View = Callable[..., Coroutine[Any, Any, HttpResponseBase]]


def needs(scope: str) -> Callable[[View], View]:
    """Let a view be used by whoever has the scope; it gets the principal after the request."""

    def guard(view: View) -> View:
        @never_cache
        @wraps(view)
        async def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            principal: Principal | None = await principal_of_user(await request.auser())
            if principal is None:
                return redirect_to_login(request.get_full_path())
            try:
                principal.require(scope)
            except Forbidden as error:
                return await sync_to_async(render)(request, "403.html", {"message": error.message}, status=403)
            return await view(request, principal, *args, **kwargs)

        return guarded

    return guard
