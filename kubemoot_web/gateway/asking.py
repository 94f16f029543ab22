"""What a call asks for, read from its body without writing it anew."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from kubemoot_web.gateway.dialects import STREAMS_BY_DEFAULT, Dialect, Operation, Route
from kubemoot_web.gateway.json_edit import Document, NotAnObject

CHARACTERS_PER_TOKEN: Final = 4
LARGE_CHARACTERS: Final = 4096
LARGE_BODY: Final = 256 * 1024
"""Of a body above this size the text and values are not kept while its call waits: reading it again is cheaper."""

MOST_NESTED: Final = 100
"""So many lists and objects may lie in one another: what reads them recurses, and so do engines."""

MOST_PARTS: Final = 1_000_000
"""So many commas may stand in a body. Pictures have none, however large; of twenty million empty lists a process is
busy for twenty seconds, and serves nobody else meanwhile."""

PROMPTS: Final = ("messages", "prompt", "system", "suffix", "tools")
EMBEDDINGS: Final = frozenset({Operation.EMBED, Operation.EMBED_OLD})
NOTHING: Final = Document(b"{}")
NO_TEXT: Final = frozenset({"images", "image_url", "source", "input_audio", "file", "type", "role", "id", "signature"})


class BadAsk(Exception):
    """A body that cannot be read. The message never repeats any of it."""

    def __init__(self, message: str, param: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.param = param


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a call asks for. `prompt_tokens` is an estimate, None for short prompts and for embeddings.

    Nothing that a client wrote but its model shows in the repr.
    """

    dialect: Dialect
    operation: Operation
    model: str
    stream: bool
    wants_usage: bool = False
    num_ctx: int | None = None
    prompt_tokens: int | None = None
    document: Document = field(repr=False, compare=False)

    @property
    def fields(self) -> Mapping[str, Any]:
        """The members of the body by folded name."""
        return self.document.fields

    def fold_up(self) -> None:
        """Keep of a large body its bytes alone for as long as nothing more of it is asked."""
        if len(self.document) > LARGE_BODY:
            self.document.fold_up()

    def without_body(self) -> "Asked":
        """Keep what its answer depends on."""
        return replace(self, document=NOTHING)


def read_asked(*, dialect: Dialect, operation: Operation, body: bytes) -> Asked:
    """Read what a call asks for.

    Raises:
        BadAsk: the body is no JSON object, names no model, has a member of the wrong type, is nested too deeply
            or has too many parts.
    """
    if len(body) > MOST_PARTS and body.count(b",") > MOST_PARTS:
        raise BadAsk(f"The body has more than {MOST_PARTS:,} parts: send them in several calls.")
    try:
        document = Document(body)
    except NotAnObject as error:
        raise BadAsk(f"The body {error}.") from None
    fields = document.fields
    model = fields.get("model")
    if not isinstance(model, str) or not model.strip():
        raise BadAsk("The field model is required." if not model else "The field model must be a text.", "model")
    stream = fields.get("stream")
    if stream is not None and not isinstance(stream, bool):
        raise BadAsk("The field stream must be true or false.", "stream")
    return Asked(
        dialect=dialect,
        operation=operation,
        model=model,
        stream=_streams(dialect, operation, stream),
        wants_usage=dialect is Dialect.OPENAI and _inside(fields, "stream_options", "include_usage") is True,
        num_ctx=_context(fields) if dialect is Dialect.OLLAMA else None,
        prompt_tokens=None if operation in EMBEDDINGS else _large_estimate(fields),
        document=document,
    )


def estimated_tokens(fields: Mapping[str, Any]) -> int:
    """Estimate the tokens of a prompt: a quarter of its characters, images left out."""
    return -(-_characters(fields) // CHARACTERS_PER_TOKEN)


def _streams(dialect: Dialect, operation: Operation, wish: bool | None) -> bool:
    if operation in EMBEDDINGS or operation is Operation.COUNT_TOKENS:  # engines ignore the wish there
        return False
    return Route(dialect, operation) in STREAMS_BY_DEFAULT if wish is None else wish


def _large_estimate(fields: Mapping[str, Any]) -> int | None:
    characters = _characters(fields)
    return characters // CHARACTERS_PER_TOKEN if characters >= LARGE_CHARACTERS else None


def _characters(fields: Mapping[str, Any]) -> int:
    given = [fields[name] for name in PROMPTS if name in fields and name != "prompt"]
    prompt = fields.get("prompt")
    many = prompt if isinstance(prompt, list) and prompt and not isinstance(prompt[0], int) else [prompt]
    return _length(given) + max(map(_length, many)) + _length(fields.get("context"))


def _length(value: Any, room: int = MOST_NESTED) -> int:
    """Count the characters of all texts inside; a number where text may stand is a token."""
    if isinstance(value, str):
        return len(value)
    if not room:
        raise BadAsk("The body is nested too deeply.")
    if isinstance(value, list):
        if value and isinstance(value[0], int):
            return len(value) * CHARACTERS_PER_TOKEN
        return sum(_length(each, room - 1) for each in value)
    if isinstance(value, dict):
        return sum(_length(each, room - 1) for name, each in value.items() if name not in NO_TEXT)
    return 0


def _inside(fields: Mapping[str, Any], outer: str, inner: str) -> Any:
    value = fields.get(outer)
    if not isinstance(value, dict):
        return None
    return next((each for name, each in reversed(value.items()) if name.casefold() == inner), None)


def _context(fields: Mapping[str, Any]) -> int | None:
    value = _inside(fields, "options", "num_ctx")
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return int(value) if is_number and 0 < value < 2**31 else None
