"""The dialects that clients speak: which path means what, how an answer is labelled, how a client is kept patient."""

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

STREAMS_BY_DEFAULT: Final = frozenset(
    {Route(Dialect.OLLAMA, Operation.CHAT), Route(Dialect.OLLAMA, Operation.GENERATE)}
)

SSE: Final = b"text/event-stream"
NDJSON: Final = b"application/x-ndjson"
JSON: Final = b"application/json"

COMMENT: Final = b": wait\n\n"
PING: Final = b'event: ping\ndata: {"type": "ping"}\n\n'
SPACE: Final = b" "


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
