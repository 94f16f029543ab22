"""Every error of the REST API in one shape: `{"error": {"code", "message", "details"}}`.

This is the only place that turns an exception into a status code. A domain error gets a row in `DOMAIN_ERRORS`; its
text is the message, and its `details` (where it has some) the details.
"""

import json
from collections.abc import Callable, Sequence
from typing import Any

from django.core.exceptions import RequestDataTooBig
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from ninja import NinjaAPI
from ninja.errors import AuthenticationError, HttpError, ValidationError

from kubemoot_web.access import Forbidden
from kubemoot_web.access.middleware import AnswerMiddleware
from kubemoot_web.crds.errors import Conflict, ImportRefused, KindUnknown, NotFound
from providers.core.endpoint_aliases import AliasRefused, AliasUnknown, AliasUnreadable
from scheduler.core.merging import MergeRefused
from scheduler.core.placement.decide import NoCandidates
from scheduler.ports import LedgerUnavailable, LineFull, TicketGone, UnknownAgent, UnknownServer
from scheduler.services.callers import NothingMatches

CODES = {
    400: ("bad-request", "The request cannot be understood."),
    401: ("unauthorized", "Send a token: `Authorization: Bearer <token>` (made by `manage.py token NAME`)."),
    403: ("forbidden", "This is not allowed."),
    404: ("not-found", "There is nothing at this address."),
    405: ("method-not-allowed", "This address does not answer to this method."),
    413: ("too-large", "The body is larger than KUBEMOOT_MAX_BODY_BYTES allows."),
    415: ("unsupported-media-type", "Send JSON or YAML."),
    422: ("invalid", "Some fields are not right."),
    429: ("too-many-requests", "Too many requests: wait a little."),
    500: ("internal", "Something went wrong inside Kubemoot; its log says more."),
    503: ("unavailable", "Kubemoot cannot answer right now: try again in a moment."),
}
Handler = Callable[[HttpRequest, Any], HttpResponse]
DOMAIN_ERRORS: dict[type[Exception], tuple[int, str]] = {
    AliasRefused: (409, "alias-refused"),
    AliasUnknown: (404, "unknown-alias"),
    AliasUnreadable: (422, "invalid"),
    Conflict: (409, "conflict"),
    Forbidden: (403, "forbidden"),
    ImportRefused: (422, "import-refused"),
    KindUnknown: (404, "unknown-kind"),
    LedgerUnavailable: (503, "ledger-unavailable"),
    LineFull: (503, "line-full"),
    MergeRefused: (409, "merge-refused"),
    NoCandidates: (422, "no-candidates"),
    NotFound: (404, "not-found"),
    NothingMatches: (422, "no-candidates"),
    TicketGone: (404, "ticket-gone"),
    UnknownAgent: (404, "unknown-agent"),
    UnknownServer: (404, "unknown-server"),
}


def error_body(*, code: str, message: str, details: Sequence[Any] = ()) -> dict[str, Any]:
    """Make the body of an error answer."""
    return {"error": {"code": code, "message": message, "details": list(details)}}


def error_response(
    *, status: int, code: str | None = None, message: str | None = None, details: Sequence[Any] = ()
) -> JsonResponse:
    """Make an error answer; what is not said comes from the table."""
    usual_code, usual_message = CODES.get(status, CODES[400] if status < 500 else CODES[500])
    body = error_body(code=code or usual_code, message=message or usual_message, details=details)
    response = JsonResponse(body, status=status)
    if status == 401:
        response["WWW-Authenticate"] = "Bearer"
    return response


def register(api: NinjaAPI) -> None:
    """Teach the API to answer errors in this shape."""
    handlers: dict[type[Exception], Handler] = {
        AuthenticationError: _plain(status=401),
        Http404: _plain(status=404),
        RequestDataTooBig: _plain(status=413),
        ValidationError: _invalid,
        HttpError: _http_error,
        **dict.fromkeys(DOMAIN_ERRORS, _domain_error),
    }
    for kind, handler in handlers.items():
        api.add_exception_handler(kind, handler)


def _plain(*, status: int) -> Handler:
    """Make a handler that says what the table says."""

    def handler(request: HttpRequest, exc: Exception) -> HttpResponse:
        return error_response(status=status)

    return handler


def _domain_error(request: HttpRequest, exc: Exception) -> HttpResponse:
    """Answer a domain error by the row of its nearest class."""
    status, code = next(DOMAIN_ERRORS[kind] for kind in type(exc).__mro__ if kind in DOMAIN_ERRORS)
    return error_response(status=status, code=code, message=str(exc), details=getattr(exc, "details", ()))


def _http_error(request: HttpRequest, exc: HttpError) -> HttpResponse:
    """Answer an error that names its status itself."""
    return error_response(status=exc.status_code, message=exc.message)


def _invalid(request: HttpRequest, exc: ValidationError) -> HttpResponse:
    """Answer a request with wrong fields, each with its path, never repeating what was sent: it may be a prompt."""
    details = [
        {"field": _path(problem["loc"]), "message": problem["msg"].removeprefix("Value error, ")}
        for problem in exc.errors
    ]
    first = details[0]
    return error_response(status=422, message=f"{first['field']}: {first['message']}", details=details)


def _path(loc: Sequence[Any]) -> str:
    """Write a field's path without the name of the schema that ninja puts in it."""
    source, *rest = loc
    if source == "body":
        rest = rest[1:]
    path = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in rest).lstrip(".")
    return path or str(source)


class OneErrorShape(AnswerMiddleware):
    """What Django itself refuses below /api/v1 (no such address, wrong method) takes the same shape."""

    def finish(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        """Put an error that is no JSON yet into the one shape, keeping the header that says what is allowed."""
        is_json = "json" in response.get("Content-Type", "")
        if response.status_code < 400 or is_json or not request.path.startswith("/api/v1"):
            return response
        translated = error_response(status=response.status_code)
        if response.has_header("Allow"):
            translated["Allow"] = response["Allow"]
        return translated


def error_bytes(*, status: int) -> bytes:
    """Make an error body for those who answer below Django."""
    code, message = CODES[status]
    return json.dumps(error_body(code=code, message=message)).encode()
