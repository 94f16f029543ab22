"""Calls of Ollama's own wire, said on OpenAI's, for engines that speak no other.

House rules: what is about the engine's memory and not about the answer is left out (context, stay, batches), Kubemoot
has settled that already; sampling that was not asked for is left to the engine; what would silently answer something
else than was asked is refused.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from kubemoot_web.gateway.asking import BadAsk
from kubemoot_web.gateway.dialects import PATHS, Dialect, Operation, Route
from kubemoot_web.gateway.ollama_request import options_of, stops
from kubemoot_web.gateway.openai_messages import Messages, content
from providers.core.types import EngineKind

CHAT_PATH: Final = PATHS[Route(Dialect.OPENAI, Operation.CHAT)]
COMPLETION_PATH: Final = PATHS[Route(Dialect.OPENAI, Operation.COMPLETION)]
EMBEDDING_PATH: Final = PATHS[Route(Dialect.OPENAI, Operation.EMBED)]

SAMPLING: Final = {
    name: name for name in ("temperature", "top_p", "top_k", "min_p", "presence_penalty", "frequency_penalty")
}
REPEATING: Final = {
    EngineKind.LLAMACPP: ("repeat_penalty",),
    EngineKind.VLLM: ("repetition_penalty",),
    EngineKind.OPENAI: ("repeat_penalty", "repetition_penalty"),
}
"""What the penalty for repeating is called: OpenAI has no word for it, so each engine has its own."""

EFFORTS: Final = {"low": "low", "medium": "medium", "high": "high", "max": "high"}
FORMAT_NAME: Final = "answer"
NOT_RAW: Final = ("system", "images")
UNSAID: Final = ("template", "context")
"""What Ollama would heed and nobody can say on OpenAI's wire."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """A call as it is said: the path, and the members of the request."""

    path: str
    request: dict[str, Any] = field(repr=False)


def said_on_openai(
    *,
    operation: Operation,
    fields: Mapping[str, Any],
    engine: EngineKind,
    model: str,
    context_length: int | None,
    stream: bool,
) -> Said:
    """Say `/api/chat`, `/api/generate`, `/api/embed` or `/api/embeddings`, of these members, on OpenAI's wire.

    `context_length` is how much the copy reads and writes together, as far as known.

    Raises:
        BadAsk: the call cannot be said there.
    """
    match operation:
        case Operation.EMBED | Operation.EMBED_OLD:
            question = _embedding(fields, "input" if operation is Operation.EMBED else "prompt")
            return Said(
                path=EMBEDDING_PATH, request={"model": model, **question, **_cut(fields, engine, context_length)}
            )
        case Operation.CHAT:
            path, question = CHAT_PATH, _conversation(fields, engine)
        case _ if fields.get("raw") is True or fields.get("suffix"):
            path, question = COMPLETION_PATH, _completion(fields, engine)
        case _:
            path, question = CHAT_PATH, _prompt(fields)
    request: dict[str, Any] = {"model": model, **question, "stream": stream}
    if stream:
        request["stream_options"] = {"include_usage": True}
    options = _options(fields.get("options"), engine)
    request |= _reachable(options, path, engine, context_length) | _format(fields.get("format"))
    if path == CHAT_PATH:
        request |= _thinking(fields.get("think"), engine) | _logprobs(fields)
    return Said(path=path, request=request)


def _conversation(fields: Mapping[str, Any], engine: EngineKind) -> dict[str, Any]:
    messages = Messages(says_more=engine is not EngineKind.OPENAI).say(fields.get("messages") or [])
    if not messages:
        raise _nothing("messages")
    tools = fields.get("tools") or []
    if not isinstance(tools, list) or not all(isinstance(each, dict) for each in tools):
        raise BadAsk("The field tools must be a list of objects.", "tools")
    said = [{"type": "function", **each} for each in tools]
    return {"messages": messages} | ({"tools": said} if said else {})


def _prompt(fields: Mapping[str, Any]) -> dict[str, Any]:
    for name in UNSAID:
        if fields.get(name):
            raise BadAsk(f"The field {name} cannot be said to the server that has this model: leave it out.", name)
    prompt, system = _text(fields, "prompt"), _text(fields, "system")
    if not prompt:
        raise _nothing("prompt")
    asked = {"role": "user", "content": content(prompt, fields.get("images"), param="images")}
    return {"messages": [{"role": "system", "content": system}, asked] if system else [asked]}


def _completion(fields: Mapping[str, Any], engine: EngineKind) -> dict[str, Any]:
    for name in (*UNSAID, *NOT_RAW, "logprobs"):
        if fields.get(name):
            raise BadAsk(f"The field {name} cannot be given together with raw or suffix.", name)
    prompt, suffix = _text(fields, "prompt"), _text(fields, "suffix")
    if not prompt:
        raise _nothing("prompt")
    if suffix and engine is EngineKind.LLAMACPP:  # it would answer as if there were none
        raise BadAsk("The server that has this model cannot fill in before a suffix: leave it out.", "suffix")
    return {"prompt": prompt} | ({"suffix": suffix} if suffix else {})


def _embedding(fields: Mapping[str, Any], param: str) -> dict[str, Any]:
    given = fields.get(param)
    if not given:
        raise _nothing(param)
    texts = given if isinstance(given, list) and param == "input" else [given]
    if not all(isinstance(each, str) for each in texts):
        raise BadAsk(f"The field {param} must be a text{' or a list of texts' if param == 'input' else ''}.", param)
    dimensions = fields.get("dimensions") if param == "input" else None
    return {"input": texts, "encoding_format": "float"} | ({"dimensions": dimensions} if dimensions else {})


def _cut(fields: Mapping[str, Any], engine: EngineKind, context_length: int | None) -> dict[str, Any]:
    """Let texts that are too long for the model be cut at their ends, as Ollama does unless it is told not to.

    vLLM has words for that; other engines refuse such texts.
    """
    if engine is not EngineKind.VLLM or context_length is None or fields.get("truncate") is False:
        return {}
    return {"truncate_prompt_tokens": context_length, "truncation_side": "right"}


def _options(given: Any, engine: EngineKind) -> dict[str, Any]:
    if given is None:
        return {}
    if not isinstance(given, dict):
        raise BadAsk("The field options must be an object.", "options")
    said = options_of(given, SAMPLING)
    if given.get("stop"):
        said["stop"] = stops(given["stop"], "options")
    seed, most = _whole(given, "seed"), _whole(given, "num_predict")
    if seed is not None and seed >= 0:  # below is any seed
        said["seed"] = seed
    if most is not None and most > 0:  # zero and below are without a bound
        said["max_tokens"] = most
    if given.get("repeat_penalty") is not None:
        said |= dict.fromkeys(REPEATING.get(engine, ()), given["repeat_penalty"])
    return said


def _reachable(options: dict[str, Any], path: str, engine: EngineKind, context_length: int | None) -> dict[str, Any]:
    """Leave out a bound that no answer can reach: where Ollama writes on to the end of its context, vLLM refuses it.

    A completion needs one: by OpenAI's wire it ends after 16 tokens where none is given, and at vLLM it does.
    """
    if context_length is None or options.get("max_tokens", context_length) < context_length:
        return options
    others = {name: value for name, value in options.items() if name != "max_tokens"}
    if path == COMPLETION_PATH and ("max_tokens" in options or engine is EngineKind.VLLM):
        return {**others, "max_tokens": context_length}
    return others


def _whole(given: dict[str, Any], name: str) -> int | None:
    """Read a whole number; clients also write one as 5.0."""
    value = given.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value // 1:
        raise BadAsk(f"The option {name} must be a whole number.", "options")
    return int(value)


def _format(wanted: Any) -> dict[str, Any]:
    if wanted is None or wanted == "":
        return {}
    if wanted == "json":
        return {"response_format": {"type": "json_object"}}
    if not isinstance(wanted, dict):
        raise BadAsk('The field format must be "json" or a JSON schema.', "format")
    return {"response_format": {"type": "json_schema", "json_schema": {"name": FORMAT_NAME, "schema": wanted}}}


def _thinking(wish: Any, engine: EngineKind) -> dict[str, Any]:
    """Say whether a model shall think, to its template; and how much, where OpenAI says it, and to its template too."""
    if wish is None or wish == "":
        return {}
    if isinstance(wish, bool):
        return {"chat_template_kwargs": {"enable_thinking": wish}}
    if not isinstance(wish, str) or wish not in EFFORTS:
        raise BadAsk(f"The field think must be true, false or one of: {', '.join(EFFORTS)}.", "think")
    effort = {"reasoning_effort": EFFORTS[wish]}
    if engine is EngineKind.OPENAI:
        return effort
    return {**effort, "chat_template_kwargs": {"enable_thinking": True, **effort}}


def _logprobs(fields: Mapping[str, Any]) -> dict[str, Any]:
    if fields.get("logprobs") is not True:
        return {}
    return {"logprobs": True, "top_logprobs": fields.get("top_logprobs") or 0}


def _text(fields: Mapping[str, Any], name: str) -> str:
    value = fields.get(name)
    if value is not None and not isinstance(value, str):
        raise BadAsk(f"The field {name} must be a text.", name)
    return value or ""


def _nothing(param: str) -> BadAsk:
    return BadAsk(f"There is nothing to answer: the field {param} is empty.", param)
