"""Middleware: what every answer carries."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from asgiref.sync import iscoroutinefunction, markcoroutinefunction
from django.http import HttpRequest, HttpResponseBase

CONTENT_SECURITY_POLICY = (
    "default-src 'self'; img-src 'self' data:; style-src 'self'; script-src 'self'; connect-src 'self'; "
    "object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)


class AnswerMiddleware(ABC):
    """A layer that works on the answer alone, in front of synchronous and asynchronous layers alike."""

    sync_capable = async_capable = True

    def __init__(self, get_response: Callable[[HttpRequest], Any]) -> None:
        """Remember the next layer, and whether it is asynchronous."""
        self.get_response = get_response
        self.is_async = iscoroutinefunction(get_response)
        if self.is_async:
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> Any:
        """Pass the request on, and finish the answer."""
        return self._later(request) if self.is_async else self.finish(request, self.get_response(request))

    async def _later(self, request: HttpRequest) -> HttpResponseBase:
        """Finish an answer that is awaited."""
        return self.finish(request, await self.get_response(request))

    @abstractmethod
    def finish(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        """Work on the answer."""


class ContentSecurityPolicy(AnswerMiddleware):
    """Pages run our own scripts and styles alone, so that text from a model can never become one."""

    def finish(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:  # noqa: ARG002 - the hook
        """Add the header."""
        response.headers.setdefault("Content-Security-Policy", CONTENT_SECURITY_POLICY)
        return response
