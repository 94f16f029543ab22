"""`/`: the GPU board for a browser, the Ollama greeting for everybody else."""

from asgiref.sync import sync_to_async
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.utils.cache import patch_vary_headers
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from kubemoot_web.access import principal_of_user
from kubemoot_web.board.choices import SHOWN
from kubemoot_web.board.picture import Picture, picture_of
from scheduler import bootstrap, queries

GREETING = "Ollama is running"
"""What clients of Ollama look for, to the letter."""


@never_cache
@require_safe
async def index(request: HttpRequest) -> HttpResponseBase:
    """Show the board, or greet."""
    answer = await _board(request) if wants_page(request) else HttpResponse(GREETING, content_type="text/plain")
    patch_vary_headers(answer, ["Accept"])
    return answer


def wants_page(request: HttpRequest) -> bool:
    """Say whether HTML is asked for by name: programs accept anything."""
    return any((kind.main_type, kind.sub_type) == ("text", "html") for kind in request.accepted_types)


async def _board(request: HttpRequest) -> HttpResponseBase:
    user = await request.auser()
    if await principal_of_user(user) is None:
        return redirect_to_login(request.get_full_path())
    return await sync_to_async(render)(request, "board/index.html", {"picture": await _picture()})


async def _picture() -> Picture:
    rt = await bootstrap.runtime()
    calls = await sync_to_async(queries.recent_calls)(limit=SHOWN)
    return picture_of(replica=rt.ledger.replica, config=rt.config, calls=calls, now=rt.now())
