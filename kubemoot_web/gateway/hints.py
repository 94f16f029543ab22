"""What a client of Ollama says to load or unload a model: calls without anything to answer.

House rules: a wish to unload is heard and left undone (`ollama stop` sends it). Who needs memory gets it by the
scheduler alone; passed on like a call it would even do the contrary, load a model that is cold, and unload another for
it. A wish to load goes to Ollama like a call. The other engines' wire has no word for it, and would refuse a call that
asks nothing: where one of them has the model, the wish is answered at once, for its next call loads it anyway.
"""

import re
from collections.abc import Collection, Iterable
from typing import Any, Final

from kubemoot_web.gateway.asking import Asked
from kubemoot_web.gateway.dialects import Dialect, Operation
from providers.core.types import EngineKind
from scheduler.core.ledger import ServerRecord

QUESTIONS: Final = {
    Operation.GENERATE: "prompt",
    Operation.CHAT: "messages",
    Operation.EMBED: "input",
    Operation.EMBED_OLD: "prompt",
}
NO_TIME: Final = re.compile(r"[-+]?0+(\.0*)?(ns|us|µs|ms|s|m|h)?")
"""Zero, as Go writes durations."""


def hint_answer(asked: Asked, *, models: Collection[str], servers: Iterable[ServerRecord]) -> dict[str, Any] | None:
    """Write what is answered at once to a call that may run on these models; None for every other call."""
    if is_unload(asked):
        return _nothing(asked, reason="unload")
    if _asks_nothing(asked) and _is_beyond_ollama(models=models, servers=servers):
        return _nothing(asked, reason="load")
    return None


def is_unload(asked: Asked) -> bool:
    """Say whether a call only wants its model unloaded."""
    is_text = asked.operation in (Operation.GENERATE, Operation.CHAT)
    return is_text and _asks_nothing(asked) and _is_no_time(asked.fields.get("keep_alive"))


def _asks_nothing(asked: Asked) -> bool:
    question = QUESTIONS.get(asked.operation)
    return asked.dialect is Dialect.OLLAMA and question is not None and not asked.fields.get(question)


def _is_beyond_ollama(*, models: Collection[str], servers: Iterable[ServerRecord]) -> bool:
    """Say whether a server that is none of Ollama has one of the models, in memory or on its disk."""
    return any(
        server.config.kind != EngineKind.OLLAMA
        and any(
            model in (server.seen.models or ()) or any(model in copy.names for copy in server.seen.residents)
            for model in models
        )
        for server in servers
    )


def _nothing(asked: Asked, *, reason: str) -> dict[str, Any]:
    """Write what Ollama answers: the wish is taken, and there is no text or vector."""
    match asked.operation:
        case Operation.EMBED:
            return {"model": asked.model, "embeddings": []}
        case Operation.EMBED_OLD:
            return {"embedding": []}
        case Operation.CHAT:
            nothing: dict[str, Any] = {"message": {"role": "assistant", "content": ""}}
        case _:
            nothing = {"response": ""}
    return {"model": asked.model, **nothing, "done": True, "done_reason": reason}


def _is_no_time(value: Any) -> bool:
    if isinstance(value, str):
        return NO_TIME.fullmatch(value) is not None
    return isinstance(value, int | float) and not isinstance(value, bool) and value == 0
