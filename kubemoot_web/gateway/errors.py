"""Errors in the shape of each dialect: before the answer began, and inside it."""

import json
import math
from typing import Any, Final

from kubemoot_web.gateway.dialects import JSON, Dialect, Headers

STATUSES: Final = {
    "gpu-busy": 503,
    "queue-full": 503,
    "queue-cleared": 503,
    "ledger-unavailable": 503,
    "bodies-full": 503,
    "engine-unreachable": 502,
    "engine-error": 502,
    "stream-truncated": 502,
    "internal": 500,
    "model-too-large": 422,
    "prompt-too-large": 422,
    "bad-request": 400,
    "unauthorized": 401,
    "forbidden": 403,
    "model-not-found": 404,
    "not-found": 404,
    "too-large-body": 413,
    "too-slow-body": 408,
    "too-many-calls": 429,
}
ANTHROPIC_STATUS: Final = {422: 400, 503: 529, 502: 500}

OPENAI_TYPES: Final = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
    500: "api_error",
    502: "api_error",
    503: "overloaded_error",
}
ANTHROPIC_TYPES: Final = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    529: "overloaded_error",
}
INVALID: Final = "invalid_request_error"
ENGINE_REFUSED: Final = "engine-refused"
LONGEST_WAIT_S: Final = 86_400
ENDED_EARLY: Final = (
    "The model server ended its answer before it was complete: what came so far is not the whole answer."
)
NOT_SERVED: Final = (
    "The model server has no such call for this model. What a server answers depends on the model and on how it was "
    "started: embeddings, for one, come from servers of embedding models."
)
ROUTERS: Final = {404: "Not Found", 405: "Method Not Allowed"}
"""The words of a web framework for a path that is not there: the engine itself has said nothing."""
WORDS: Final = ("error", "message", "detail", "msg")
UNSAID: Final = "The model server refused the call and did not say why."
LONGEST_SENTENCE: Final = 2_000
INSIDE: Final = "Something went wrong inside Kubemoot; its log says where."
BROKE_OFF: Final = "The connection to the model server broke off: what came so far is not the whole answer."


def error_answer(
    dialect: Dialect,
    code: str,
    message: str,
    *,
    param: str | None = None,
    retry_after_s: float | None = None,
) -> tuple[int, Headers, bytes]:
    """Make the status, headers and body that tell a client why it gets no answer.

    Client libraries send a call again by themselves, at once and several times, unless they are told not to; whoever
    uses them reads `retry_after_s` and decides. Nobody is helped by three calls in line for one.
    """
    status = STATUSES[code]
    if dialect is Dialect.ANTHROPIC:
        status = ANTHROPIC_STATUS.get(status, status)
    body = _written(_shaped(dialect, status, code, message, param))
    headers: Headers = [
        (b"content-type", JSON),
        (b"content-length", str(len(body)).encode()),
        (b"x-should-retry", b"false"),
        (b"x-kubemoot-reason", code.encode()),
    ]
    if retry_after_s is not None:
        headers.append((b"retry-after", _whole_seconds(retry_after_s)))
    return status, headers, body


def error_frame(dialect: Dialect, stream: bool, code: str, message: str) -> bytes:
    """Make the bytes that tell a client, after its 200, that the answer has failed.

    No final mark follows: the clients raise what stands here. They begin a line of their own.
    """
    status = STATUSES[code]
    if dialect is Dialect.ANTHROPIC:
        status = ANTHROPIC_STATUS.get(status, status)
    written = _written(_shaped(dialect, status, code, message, None))
    if not stream:
        return written
    match dialect:
        case Dialect.OPENAI:
            return b"data: " + written + b"\n\n"
        case Dialect.OLLAMA:
            return written + b"\n"
        case Dialect.ANTHROPIC:
            return b"event: error\ndata: " + written + b"\n\n"


def truncation(dialect: Dialect, stream: bool, *, is_broken: bool) -> bytes:
    """Make the bytes that tell a client that its answer is not whole."""
    return error_frame(dialect, stream, "stream-truncated", BROKE_OFF if is_broken else ENDED_EARLY)


def engine_refusal(dialect: Dialect, status: int, body: bytes) -> tuple[int, Headers, bytes]:
    """Pass on what an engine says against a call (4xx or 501): as it is in the caller's dialect, else its words.

    A path that the engine has not becomes 501: by 404 a client would understand that the model is not there.
    """
    if not _is_shaped(dialect, body):
        words = engine_words(body)
        if status in ROUTERS and words in ("", ROUTERS[status]):
            status, words = 501, NOT_SERVED
        body = _written(_shaped(dialect, status, ENGINE_REFUSED, words or UNSAID, None))
    headers: Headers = [
        (b"content-type", JSON),
        (b"content-length", str(len(body)).encode()),
        (b"x-should-retry", b"false"),
        (b"x-kubemoot-reason", ENGINE_REFUSED.encode()),
    ]
    return status, headers, body


def engine_words(body: bytes) -> str:
    """Find the sentence in an engine's error body, whichever shape it has; empty where it has none."""
    value = _read(body)
    for _ in range(2):
        if isinstance(value, list) and value:  # what did not fit, of which the first is enough
            value = value[0]
        if isinstance(value, dict):
            value = next((value[name] for name in WORDS if value.get(name)), None)
    return value[:LONGEST_SENTENCE] if isinstance(value, str) else ""


def _is_shaped(dialect: Dialect, body: bytes) -> bool:
    document = _read(body)
    error = document.get("error") if isinstance(document, dict) else None
    match dialect:
        case Dialect.OPENAI:
            return isinstance(error, dict) and isinstance(error.get("message"), str)
        case Dialect.OLLAMA:
            return isinstance(error, str)
        case Dialect.ANTHROPIC:
            return False


def _read(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _shaped(dialect: Dialect, status: int, code: str, message: str, param: str | None) -> dict[str, Any]:
    match dialect:
        case Dialect.OPENAI:
            kind = OPENAI_TYPES.get(status, INVALID)
            return {"error": {"message": message, "type": kind, "param": param, "code": code}}
        case Dialect.OLLAMA:
            return {"error": message}
        case Dialect.ANTHROPIC:
            return {"type": "error", "error": {"type": ANTHROPIC_TYPES.get(status, INVALID), "message": message}}


def _written(value: dict[str, Any]) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def _whole_seconds(seconds: float) -> bytes:
    """Round up to whole seconds, at least one: nobody may come back at once."""
    if not seconds < LONGEST_WAIT_S:  # also what is no number
        return str(LONGEST_WAIT_S).encode()
    return str(max(1, math.ceil(seconds))).encode()
