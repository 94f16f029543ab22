"""What a client says to unload a model: heard, and left undone.

On Ollama's wire that is a call without anything to answer, whose keep-alive is zero: `ollama stop` sends it. Who needs
memory gets it by the scheduler alone. Passed on like a call it would even do the contrary: load a model that is cold,
and unload another for it.
"""

import re
from typing import Any, Final

from kubemoot_web.gateway.asking import Asked
from kubemoot_web.gateway.dialects import Dialect, Operation

QUESTIONS: Final = {Operation.GENERATE: "prompt", Operation.CHAT: "messages"}
NO_TIME: Final = re.compile(r"[-+]?0+(\.0*)?(ns|us|µs|ms|s|m|h)?")
"""Zero, as Go writes durations."""


def is_unload(asked: Asked) -> bool:
    """Say whether a call only wants its model unloaded."""
    question = QUESTIONS.get(asked.operation)
    return (
        asked.dialect is Dialect.OLLAMA
        and question is not None
        and not asked.fields.get(question)
        and _is_no_time(asked.fields.get("keep_alive"))
    )


def unload_answer(asked: Asked) -> dict[str, Any]:
    """Write what Ollama answers: the wish is taken, and there is no text."""
    nothing: dict[str, Any] = {"response": ""}
    if asked.operation is Operation.CHAT:
        nothing = {"message": {"role": "assistant", "content": ""}}
    return {"model": asked.model, **nothing, "done": True, "done_reason": "unload"}


def _is_no_time(value: Any) -> bool:
    if isinstance(value, str):
        return NO_TIME.fullmatch(value) is not None
    return isinstance(value, int | float) and not isinstance(value, bool) and value == 0
