"""What a call asks for, read from its body once, without writing it anew."""

from dataclasses import dataclass, field
from typing import Any

from kubemoot_web.gateway.dialects import Dialect, Operation
from kubemoot_web.gateway.json_edit import Document


class BadAsk(Exception):
    """A body that cannot be read. The message never repeats any of it."""

    def __init__(self, message: str, param: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.param = param


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a call asks for. `prompt_tokens` is an estimate, None for short prompts and for embeddings."""

    dialect: Dialect
    operation: Operation
    model: str
    stream: bool
    wants_usage: bool = False
    num_ctx: int | None = None
    prompt_tokens: int | None = None
    body: bytes = field(repr=False)
    fields: dict[str, Any] = field(repr=False)
    document: Document = field(repr=False)


def read_asked(*, dialect: Dialect, operation: Operation, body: bytes) -> Asked:
    """Read what a call asks for.

    Raises:
        BadAsk: the body is no JSON object, names no model, or has a member of the wrong type.
    """
    raise NotImplementedError
