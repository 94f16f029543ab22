"""ASGI layer: requests that carry a token and no cookie skip everything that is made for browsers.

Django gives each request a thread for its synchronous middleware and keeps it until the answer: a hundred callers that
wait for a GPU would hold a hundred threads. A program with a token needs no session, no CSRF check, no messages; what
is synchronous about its request (the database) takes turns on one thread and gives it back at once.
"""

from collections.abc import Awaitable, Callable
from typing import Any

from django.conf import settings
from django.core.handlers.asgi import ASGIHandler

App = Callable[[Any, Any, Any], Awaitable[None]]
PREFIX = "/api/v1/"


class TokenHandler(ASGIHandler):
    """Django's handler with the middleware of `TOKEN_MIDDLEWARE` alone, and without a thread of its own per request."""

    def load_middleware(self, is_async: bool = False) -> None:
        """Build the short chain."""
        everything = settings.MIDDLEWARE
        settings.MIDDLEWARE = settings.TOKEN_MIDDLEWARE
        try:
            super().load_middleware(is_async=is_async)
        finally:
            settings.MIDDLEWARE = everything

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Handle a request outside of any thread-sensitive context."""
        await self.handle(scope, receive, send)


class ByToken:
    """Chooses the handler of a request."""

    def __init__(self, *, people: App, programs: App) -> None:
        """Remember both."""
        self.people = people
        self.programs = programs

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Pass the request on."""
        app = self.programs if is_of_program(scope) else self.people
        await app(scope, receive, send)


def is_of_program(scope: Any) -> bool:
    """Say whether a request goes to the REST API, carries a token, and no cookie that might speak for a person."""
    headers = {name for name, _ in scope["headers"]}
    return scope["path"].startswith(PREFIX) and b"authorization" in headers and b"cookie" not in headers
