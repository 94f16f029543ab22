"""Calls of the OpenAI dialect, said on Ollama's own wire, where a context size can be said too.

House rules: what Ollama's own `/v1` does with a field, this does (its defaults too); members it does not know are
ignored; what would silently answer something else than was asked is refused.
"""

from typing import Any, Final

from kubemoot_web.gateway.asking import Asked, BadAsk
from kubemoot_web.gateway.ollama_request import arguments, envelope, image, options_of, stops, without_empty, written

SAMPLING: Final = {
    "max_tokens": "num_predict",
    "max_completion_tokens": "num_predict",
    "temperature": "temperature",
    "top_p": "top_p",
    "seed": "seed",
    "frequency_penalty": "frequency_penalty",
    "presence_penalty": "presence_penalty",
}
DEFAULTS: Final = {"temperature": 1.0, "top_p": 1.0}
ROLES: Final = {"developer": "system", "function": "tool"}
EFFORTS: Final[dict[str, bool | str]] = {
    "none": False,
    "minimal": "low",
    "low": "low",
    "medium": "medium",
    "high": "high",
    "xhigh": "high",
}


def chat_request(asked: Asked, *, model: str, context_length: int | None) -> bytes:
    """Say `chat/completions` as `/api/chat`.

    Raises:
        BadAsk: the call cannot be said there.
    """
    fields = asked.fields
    _refuse_many(fields)
    request = envelope(asked, model=model, context_length=context_length, options=_options(fields))
    request["messages"] = _messages(fields.get("messages"))
    if fields.get("tools") and fields.get("tool_choice") != "none":
        request["tools"] = fields["tools"]
    wanted = _format(fields.get("response_format"))
    if wanted is not None:
        request["format"] = wanted
    think = _think(fields)
    if think is not None:
        request["think"] = think
    if fields.get("logprobs") is True:
        request["logprobs"] = True
        request["top_logprobs"] = fields.get("top_logprobs") or 0
    return written(request)


def completion_request(asked: Asked, *, model: str, context_length: int | None) -> bytes:
    """Say `completions` as `/api/generate`.

    Raises:
        BadAsk: the call cannot be said there.
    """
    fields = asked.fields
    _refuse_many(fields)
    prompt = fields.get("prompt")
    if isinstance(prompt, list) and len(prompt) == 1:
        prompt = prompt[0]
    if not isinstance(prompt, str):
        raise BadAsk("The field prompt must be one text.", "prompt")
    request = envelope(asked, model=model, context_length=context_length, options=_options(fields))
    return written({**request, "prompt": prompt, "suffix": fields.get("suffix") or ""})


def embedding_request(asked: Asked, *, model: str, context_length: int | None) -> bytes:
    """Say `embeddings` as `/api/embed`.

    Raises:
        BadAsk: the call cannot be said there.
    """
    given = asked.fields.get("input")
    texts = given if isinstance(given, list) else [given]
    if not texts or not all(isinstance(each, str) for each in texts):
        raise BadAsk("The field input must be a text or a list of texts.", "input")
    request = envelope(asked, model=model, context_length=context_length, options={})
    del request["stream"]
    dimensions = asked.fields.get("dimensions")
    return written({**request, "input": texts, **({"dimensions": dimensions} if dimensions else {})})


def _refuse_many(fields: Any) -> None:
    if fields.get("n") not in (None, 1):
        raise BadAsk("There is one choice for each call: leave n out, and call again for another.", "n")


def _options(fields: Any) -> dict[str, Any]:
    options = {**DEFAULTS, **options_of(fields, SAMPLING)}
    if fields.get("stop") is not None:
        options["stop"] = stops(fields["stop"], "stop")
    return options


def _format(wanted: Any) -> Any:
    if not isinstance(wanted, dict):
        return None
    if wanted.get("type") == "json_object":
        return "json"
    schema = wanted.get("json_schema")
    return schema.get("schema") if wanted.get("type") == "json_schema" and isinstance(schema, dict) else None


def _think(fields: Any) -> bool | str | None:
    reasoning = fields.get("reasoning")
    effort = reasoning.get("effort") if isinstance(reasoning, dict) else fields.get("reasoning_effort")
    if effort is None:
        return None
    if not isinstance(effort, str) or effort not in EFFORTS:
        raise BadAsk(f"The field reasoning_effort must be one of: {', '.join(EFFORTS)}.", "reasoning_effort")
    return EFFORTS[effort]


def _messages(given: Any) -> list[dict[str, Any]]:
    if not isinstance(given, list) or not all(isinstance(each, dict) for each in given):
        raise BadAsk("The field messages must be a list of objects.", "messages")
    tools: dict[str, str] = {}
    return [_message(each, tools) for each in given]


def _message(given: dict[str, Any], tools: dict[str, str]) -> dict[str, Any]:
    """Say one message. `tools` gathers the names of the tools by the ids of their calls, of which the last counts."""
    role = given.get("role")
    if not isinstance(role, str):
        raise BadAsk("Each message needs a role.", "messages")
    text, images = _content(given.get("content"))
    calls = given.get("tool_calls")
    message: dict[str, Any] = {
        "role": ROLES.get(role, role),
        "content": text,
        "images": images,
        "thinking": given.get("reasoning") or given.get("reasoning_content"),
        "tool_calls": [_tool_call(call, tools) for call in calls] if isinstance(calls, list) else None,
    }
    if message["role"] == "tool":
        id = given.get("tool_call_id")
        message["tool_call_id"] = id
        message["tool_name"] = given.get("name") or tools.get(id if isinstance(id, str) else "")
    return without_empty(message)


def _content(content: Any) -> tuple[str, list[str]]:
    if content is None or isinstance(content, str):
        return content or "", []
    if not isinstance(content, list) or not all(isinstance(part, dict) for part in content):
        raise BadAsk("The content of a message must be a text or a list of parts.", "messages")
    texts: list[str] = []
    images: list[str] = []
    for part in content:
        match part.get("type"):
            case "text" | "refusal":
                texts.append(_text(part))
            case "image_url":
                where = part.get("image_url")
                images.append(image(where.get("url") if isinstance(where, dict) else where))
            case _:
                raise BadAsk("A message may hold text and pictures here, no other parts.", "messages")
    return "\n".join(texts), images


def _text(part: dict[str, Any]) -> str:
    text = part.get("text", part.get("refusal"))
    if not isinstance(text, str):
        raise BadAsk("A text part needs its text.", "messages")
    return text


def _tool_call(call: Any, tools: dict[str, str]) -> dict[str, Any]:
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(function, dict) or not isinstance(function.get("name"), str):
        raise BadAsk("Each tool call needs a function with a name.", "messages")
    said: dict[str, Any] = {"function": {"name": function["name"], "arguments": arguments(function.get("arguments"))}}
    if isinstance(call.get("id"), str):
        tools[call["id"]] = function["name"]
        said["id"] = call["id"]
    return said
