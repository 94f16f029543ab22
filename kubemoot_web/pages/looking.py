"""Pages that look again by themselves: drawn once per process for everybody who looks, answered with what changed.

A page is made of parts, each with an id, and remembers the fingerprint of each. Every two seconds it asks with these
fingerprints and gets the parts that look different now, or nothing at all. The server keeps nothing per reader.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass
from functools import wraps
from hashlib import blake2b
from typing import Any
from weakref import WeakKeyDictionary

from asgiref.sync import sync_to_async
from django.contrib.auth.views import redirect_to_login
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils.safestring import SafeString, mark_safe
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from kubemoot_web.access import principal_of_user
from kubemoot_web.board.ledger_problem import ledger_problem
from kubemoot_web.board.times import moment
from scheduler import bootstrap
from scheduler.bootstrap import Runtime
from scheduler.ports import LedgerUnavailable

KEPT_S = 1.5
"""How long a drawing is good enough for whoever asks meanwhile."""
MOST_KEPT = 64
HAVE = "have"
"""The parameter by which a page says what it shows."""
STOP_ASKING = 286
"""On this status htmx polls no more."""
PROBLEM = "problem"

View = Callable[..., Coroutine[Any, Any, HttpResponseBase]]
Draw = Callable[[Runtime], Awaitable[Mapping[str, Any] | None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A page's template, and the templates of its parts by their element ids."""

    template: str
    parts: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """The parts of a page at one moment, with the fingerprint of each."""

    at: float
    context: Mapping[str, Any]
    parts: Mapping[str, SafeString]
    have: str

    def newer_than(self, have: str) -> str:
        """Give the parts whose fingerprints differ; all of them where the page was made of others."""
        mine, theirs = self.have.split("."), have.split(".")
        if len(mine) != len(theirs):
            return "\n".join(self.parts.values())
        return "\n".join(part for part, a, b in zip(self.parts.values(), mine, theirs, strict=True) if a != b)


class Desk:
    """Keeps the last drawings of one event loop, for those who ask at about the same time."""

    def __init__(self, *, kept_s: float) -> None:
        self._kept_s = kept_s
        self._drawings: OrderedDict[str, Drawing] = OrderedDict()
        self._drawing: dict[str, asyncio.Lock] = {}

    async def drawing(self, *, key: str, page: Page, draw: Draw, is_fresh: bool) -> Drawing | None:
        """Give a page's drawing, a new one where it must be fresh or the kept one is old; one at a time for each page.

        None: there is nothing of that name.
        """
        lock = self._drawing.setdefault(key, asyncio.Lock())
        try:
            async with lock:
                return await self._kept_or_new(key=key, page=page, draw=draw, is_fresh=is_fresh)
        finally:
            if not lock.locked():
                self._drawing.pop(key, None)

    async def _kept_or_new(self, *, key: str, page: Page, draw: Draw, is_fresh: bool) -> Drawing | None:
        kept = self._drawings.get(key)
        now = asyncio.get_running_loop().time()
        if kept is not None and not is_fresh and now - kept.at < self._kept_s:
            return kept
        rt = await bootstrap.runtime()
        problem = await _problem(rt)
        context = await draw(rt)
        if context is None:
            self._drawings.pop(key, None)
            return None
        drawing = await sync_to_async(_drawn)(page=page, context={**context, PROBLEM: problem}, at=now)
        self._drawings[key] = drawing
        self._drawings.move_to_end(key)
        if len(self._drawings) > MOST_KEPT:
            self._drawings.popitem(last=False)
        return drawing


_desks: WeakKeyDictionary[asyncio.AbstractEventLoop, Desk] = WeakKeyDictionary()


def people_only(view: View) -> View:
    """Let whoever is signed in read a view; send others to the sign-in, and end the asking of a page left open."""

    @never_cache
    @require_safe
    @wraps(view)
    async def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if await principal_of_user(await request.auser()) is not None:
            return await view(request, *args, **kwargs)
        if HAVE in request.GET:
            context = {"address": request.path}
            return await sync_to_async(render)(request, "details/_signed_out.html", context, status=STOP_ASKING)
        return redirect_to_login(request.get_full_path())

    return guarded


async def look(
    request: HttpRequest,
    *,
    page: Page,
    draw: Draw,
    more: Mapping[str, Any] | None = None,
    reader: str = "",
    missing: str = "",
) -> HttpResponse:
    """Answer with the whole page, or, where it says what it shows already, with what changed since then.

    `more` is what only the whole page needs. `reader` says whose page it is, where it is not the same for everybody.
    `missing` says what is not there, where nothing can be drawn; a page that shows it from before is told, and to stop.

    Raises:
        Http404: there is nothing of that name.
    """
    desk = _desks.setdefault(asyncio.get_running_loop(), Desk(kept_s=KEPT_S))
    have = request.GET.get(HAVE)
    drawing = await desk.drawing(key=f"{_address(request)} {reader}", page=page, draw=draw, is_fresh=have is None)
    if drawing is None and have is None:
        raise Http404(missing)
    if drawing is None:
        gone = {"missing": missing}
        return await sync_to_async(render)(request, "details/_gone.html", gone, status=STOP_ASKING)
    if have is None:
        context = {
            "is_live": True,
            **drawing.context,
            **(more or {}),
            "parts": {name.replace("-", "_"): part for name, part in drawing.parts.items()},
            "have": drawing.have,
            "look": _address(request),
            "at": moment(bootstrap.clock()),
        }
        return await sync_to_async(render)(request, page.template, context)
    if have == drawing.have:
        return HttpResponse(status=204)
    have_now = await sync_to_async(render_to_string)("details/_have.html", {"have": drawing.have})
    return HttpResponse(drawing.newer_than(have) + have_now)


def _address(request: HttpRequest) -> str:
    asked = request.GET.copy()
    asked.pop(HAVE, None)
    query = asked.urlencode()
    return f"{request.path}?{query}" if query else request.path


async def _problem(rt: Runtime) -> str:
    """Say whether what is shown may be old."""
    try:
        await rt.ledger.catch_up()
    except LedgerUnavailable as problem:
        rt.doors.local.lost(problem)
        return ledger_problem(state=rt.doors.local.state())
    return ""


def _drawn(*, page: Page, context: Mapping[str, Any], at: float) -> Drawing:
    parts = {
        name: mark_safe(render_to_string(template, dict(context)).strip())  # noqa: S308 - a template's own output
        for name, template in {PROBLEM: "details/_problem.html", **page.parts}.items()
    }
    have = ".".join(blake2b(part.encode(), digest_size=4).hexdigest() for part in parts.values())
    return Drawing(at=at, context=context, parts=parts, have=have)
