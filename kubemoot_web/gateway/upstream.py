"""Which path of an engine a call takes, with which body, and who reads the answer."""

from dataclasses import dataclass, field

from kubemoot_web.gateway.asking import Asked
from kubemoot_web.gateway.readers import AnswerReader
from providers.core.types import EngineKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Upstream:
    """A request to an engine, and the reader of its answer (of status 200 alone)."""

    path: str
    body: bytes = field(repr=False)
    reader: AnswerReader = field(repr=False)


def upstream(
    asked: Asked,
    *,
    engine: EngineKind,
    model: str,
    context_length: int | None,
    is_context_set: bool,
    call_id: str,
    created: int,
) -> Upstream:
    """Choose path, body and reader for a call that runs `model` on this engine.

    Raises:
        BadAsk: the call asks for what this engine cannot do.
    """
    raise NotImplementedError
