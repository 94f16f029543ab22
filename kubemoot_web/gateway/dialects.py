"""The dialects that clients speak: which path means what, how an answer is labelled, how a client is kept patient."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

Headers = list[tuple[bytes, bytes]]


class Dialect(StrEnum):
    """Whose way of speaking a path belongs to."""

    OPENAI = "openai"
    OLLAMA = "ollama"
    ANTHROPIC = "anthropic"


class Operation(StrEnum):
    """What a client wants from a model."""

    CHAT = "chat"
    COMPLETION = "completion"
    EMBED = "embed"
    EMBED_OLD = "embed_old"
    GENERATE = "generate"
    MESSAGES = "messages"
    COUNT_TOKENS = "count_tokens"


@dataclass(frozen=True, slots=True)
class Route:
    """What a path means."""

    dialect: Dialect
    operation: Operation


ROUTES: Final = {
    "/v1/chat/completions": Route(Dialect.OPENAI, Operation.CHAT),
    "/v1/completions": Route(Dialect.OPENAI, Operation.COMPLETION),
    "/v1/embeddings": Route(Dialect.OPENAI, Operation.EMBED),
    "/v1/messages": Route(Dialect.ANTHROPIC, Operation.MESSAGES),
    "/v1/messages/count_tokens": Route(Dialect.ANTHROPIC, Operation.COUNT_TOKENS),
    "/api/chat": Route(Dialect.OLLAMA, Operation.CHAT),
    "/api/generate": Route(Dialect.OLLAMA, Operation.GENERATE),
    "/api/embed": Route(Dialect.OLLAMA, Operation.EMBED),
    "/api/embeddings": Route(Dialect.OLLAMA, Operation.EMBED_OLD),
}
PATHS: Final = {route: path for path, route in ROUTES.items()}

OPENAI_PATHS: Final = "/v1"
ANTHROPIC_PATHS: Final = "/v1/messages/"
ANTHROPIC_MARK: Final = "anthropic-version"
"""The header that every client of Anthropic sends, also where it asks by a path that OpenAI's have too."""

_slashes = re.compile("/+")

STREAMS_BY_DEFAULT: Final = frozenset(
    {Route(Dialect.OLLAMA, Operation.CHAT), Route(Dialect.OLLAMA, Operation.GENERATE)}
)

SSE: Final = b"text/event-stream"
NDJSON: Final = b"application/x-ndjson"
JSON: Final = b"application/json"

COMMENT: Final = b": wait\n\n"
PING: Final = b'event: ping\ndata: {"type": "ping"}\n\n'
SPACE: Final = b" "


def dialect_of(*, path: str, headers: Mapping[str, str]) -> Dialect:
    """Say whose way of speaking a request has, also one for a path that means nothing here."""
    route = ROUTES.get(path)
    if route is not None:
        return route.dialect
    if path.startswith(ANTHROPIC_PATHS) or ANTHROPIC_MARK in headers:
        return Dialect.ANTHROPIC
    return Dialect.OPENAI if f"{path}/".startswith(f"{OPENAI_PATHS}/") else Dialect.OLLAMA


def tidied(path: str) -> str:
    """Take away the slashes of a path that are too many: some come of an address that was typed with one at its end."""
    if len(path) > 1 and (path.endswith("/") or "//" in path):
        return _slashes.sub("/", path).rstrip("/") or "/"
    return path


def beat(dialect: Dialect, stream: bool) -> bytes:
    """Give the bytes that keep a client waiting and mean nothing: only before the first byte of an answer."""
    if not stream or dialect is Dialect.OLLAMA:
        return SPACE
    return PING if dialect is Dialect.ANTHROPIC else COMMENT


def content_type(dialect: Dialect, stream: bool) -> bytes:
    """Say what kind of body an answer is."""
    if not stream:
        return JSON
    return NDJSON if dialect is Dialect.OLLAMA else SSE


def answer_headers(dialect: Dialect, stream: bool) -> Headers:
    """Give the headers of an answer of unknown length, which nothing on the way to the client may hold back."""
    headers: Headers = [(b"content-type", content_type(dialect, stream))]
    if stream:
        headers += [(b"cache-control", b"no-cache"), (b"x-accel-buffering", b"no")]
    return headers
