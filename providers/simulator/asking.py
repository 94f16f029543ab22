"""What a request asks an engine to write, read from either dialect into one value."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from providers.simulator import wire
from providers.simulator.accents import Accent
from providers.simulator.catalog import SimulatedModel
from providers.simulator.engine import SimulatedEngine

TOOL_WISH = "call the tool"
EXAMPLES = {"string": "Lisbon", "integer": 3, "number": 2.5, "boolean": True, "array": [], "object": {}}


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """The call of a tool that an answer consists of."""

    name: str
    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """An answer to write. `name` is the model's name as the request wrote it, and as the answer repeats it."""

    model: SimulatedModel
    name: str
    num_ctx: int | None
    keep_alive: float | None
    prompt_tokens: int
    count: int
    streams: bool
    tool: ToolCall | None
    is_json: bool
    thinks: bool


def asked_natively(engine: SimulatedEngine, body: dict[str, Any]) -> Asked:
    """Read a request in Ollama's own dialect: it streams unless it says otherwise, and may carry a context size."""
    options = body.get("options")
    return Asked(
        model=generator(engine, body),
        name=wire.name_in(body),
        num_ctx=wire.context_asked(body),
        keep_alive=wire.keep_alive_seconds(body.get("keep_alive")),
        prompt_tokens=wire.tokens_in(body),
        count=_count(engine, options.get("num_predict") if isinstance(options, dict) else None),
        streams=body.get("stream") is not False,
        tool=_tool_wanted(body),
        is_json=bool(body.get("format")),
        thinks=bool(body.get("think")),
    )


def asked_openai(engine: SimulatedEngine, body: dict[str, Any], accent: Accent) -> Asked:
    """Read a request in OpenAI's dialect: it has no place for a context size, so that the default one is used."""
    wanted = body.get("response_format")
    model, name = accent.named(engine, body)
    return Asked(
        model=_writing(model, unable=accent.unable),
        name=name,
        num_ctx=None,
        keep_alive=None,
        prompt_tokens=wire.tokens_in(body),
        count=_count(engine, body.get("max_completion_tokens") or body.get("max_tokens")),
        streams=body.get("stream") is True,
        tool=_tool_wanted(body),
        is_json=isinstance(wanted, dict) and wanted.get("type") in ("json_object", "json_schema"),
        thinks=_thinks(body, accent),
    )


def generator(engine: SimulatedEngine, body: dict[str, Any]) -> SimulatedModel:
    """Look up the model that is to write.

    Raises:
        WireError: there is no such model, or it only embeds.
    """
    return _writing(wire.find_model(engine, body), unable=400)


def _writing(model: SimulatedModel, *, unable: int) -> SimulatedModel:
    if not model.can_generate:
        raise wire.WireError(unable, f'"{model.name}" does not support generate')
    return model


def _thinks(body: dict[str, Any], accent: Accent) -> bool:
    arguments = body.get("chat_template_kwargs") if accent.reads_template_arguments else None
    if not isinstance(arguments, dict | None):
        raise wire.WireError(400, "chat_template_kwargs is not an object")
    wanted = (arguments or {}).get("enable_thinking")
    if not isinstance(wanted, bool | None):
        raise wire.WireError(400, "enable_thinking in chat_template_kwargs is not a boolean")
    return body.get("reasoning_effort") not in (None, "none") if wanted is None else wanted


def _count(engine: SimulatedEngine, wanted: object) -> int:
    return wanted if isinstance(wanted, int) and wanted > 0 else engine.config.answer_tokens


def _tool_wanted(body: dict[str, Any]) -> ToolCall | None:
    """A tool is called when there is one and the last message asks for it: so a tool's result is answered with text."""
    messages, tools = body.get("messages"), body.get("tools")
    if not isinstance(messages, list) or not messages or not isinstance(tools, list) or not tools:
        return None
    last = messages[-1]
    if not isinstance(last, dict) or last.get("role") != "user" or TOOL_WISH not in str(last.get("content")).lower():
        return None
    function = _mapping(_mapping(tools[0]).get("function"))
    properties = _mapping(_mapping(function.get("parameters")).get("properties"))
    return ToolCall(
        name=str(function.get("name")), arguments={name: _example(schema) for name, schema in properties.items()}
    )


def _example(schema: object) -> Any:
    known = _mapping(schema)
    choices = known.get("enum")
    return choices[0] if choices else EXAMPLES.get(str(known.get("type")), EXAMPLES["string"])


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
