"""Calls of the Anthropic dialect, said on Ollama's own wire.

House rules: members that Ollama has no word for are ignored; what would silently answer something else than was asked
is refused. Tools that the provider itself would run are left out: nobody here runs them.
"""

from typing import Any, Final

from kubemoot_web.gateway.asking import Asked, BadAsk
from kubemoot_web.gateway.ollama_request import arguments, envelope, options_of, stops, without_empty

SAMPLING: Final = {"max_tokens": "num_predict", "temperature": "temperature", "top_p": "top_p", "top_k": "top_k"}
THINKING: Final = {"enabled": True, "adaptive": True, "disabled": False}
ROLES: Final = ("user", "assistant", "system")


def messages_request(asked: Asked, *, model: str, context_length: int | None) -> dict[str, Any]:
    """Say `/v1/messages` as `/api/chat`.

    Raises:
        BadAsk: the call cannot be said there.
    """
    fields = asked.fields
    options = options_of(fields, SAMPLING)
    if fields.get("stop_sequences"):
        options["stop"] = stops(fields["stop_sequences"], "stop_sequences")
    request = envelope(asked, model=model, context_length=context_length, options=options)
    request["messages"] = _messages(fields)
    choice = fields.get("tool_choice")
    given = fields.get("tools") or []
    if not isinstance(given, list):
        raise BadAsk("The field tools must be a list.", "tools")
    tools = [_tool(each) for each in given if isinstance(each, dict) and "input_schema" in each]
    if tools and not (isinstance(choice, dict) and choice.get("type") == "none"):
        request["tools"] = tools
    wanted = _format(fields)
    if wanted is not None:
        request["format"] = wanted
    thinking = fields.get("thinking")
    kind = thinking.get("type") if isinstance(thinking, dict) else None
    if isinstance(kind, str) and kind in THINKING:
        request["think"] = THINKING[kind]
    return request


def tool_wishes(asked: Asked) -> dict[str, Any]:
    """Say which tools must be called, for engines of OpenAI's wire: Ollama's own has no word for it."""
    choice = asked.fields.get("tool_choice")
    if not isinstance(choice, dict):
        return {}
    named = {"type": "function", "function": {"name": choice.get("name")}}
    wishes: dict[str, Any] = {"any": {"tool_choice": "required"}, "tool": {"tool_choice": named}}
    kind = choice.get("type")
    wish = wishes.get(kind, {}) if isinstance(kind, str) else {}
    return wish | ({"parallel_tool_calls": False} if choice.get("disable_parallel_tool_use") is True else {})


def _format(fields: Any) -> dict[str, Any] | None:
    """Read the schema that an answer must keep to, where it is given today and where it was at first."""
    config = fields.get("output_config")
    wanted = config.get("format") if isinstance(config, dict) else None
    wanted = fields.get("output_format") if wanted is None else wanted
    if wanted is None:
        return None
    schema = wanted.get("schema") if isinstance(wanted, dict) and wanted.get("type") == "json_schema" else None
    if not isinstance(schema, dict):
        raise BadAsk(
            "The format of an answer must be a JSON schema: type json_schema, and the schema.", "output_config"
        )
    return schema


def _tool(given: dict[str, Any]) -> dict[str, Any]:
    function = {
        "name": given.get("name"),
        "description": given.get("description") or "",
        "parameters": given["input_schema"],
    }
    if given.get("strict") is True:  # where it is not said, vLLM holds no call to its schema
        function["strict"] = True
    return {"type": "function", "function": function}


def _messages(fields: Any) -> list[dict[str, Any]]:
    given = fields.get("messages")
    if not isinstance(given, list) or not all(isinstance(each, dict) for each in given):
        raise BadAsk("The field messages must be a list of objects.", "messages")
    said: list[dict[str, Any]] = []
    system = _text(fields.get("system"), "system")
    if system:
        said.append({"role": "system", "content": system})
    tools: dict[str, str] = {}
    for message in given:
        said += _message(message, tools)
    return said


def _message(given: dict[str, Any], tools: dict[str, str]) -> list[dict[str, Any]]:
    """Say one message: the results of tools first, each on its own, then what else it holds.

    `tools` gathers the names of the tools by the ids of their calls.
    """
    role = given.get("role")
    if role not in ROLES:
        raise BadAsk("The role of a message must be user, assistant or system.", "messages")
    results: list[dict[str, Any]] = []
    message: dict[str, Any] = {"role": role, "content": "", "images": [], "thinking": "", "tool_calls": []}
    for block in _blocks(given.get("content")):
        match block.get("type"):
            case "text":
                message["content"] += _block_text(block)
            case "image":
                message["images"].append(_image(block))
            case "document":
                message["content"] += _document(block)
            case "thinking":
                message["thinking"] += str(block.get("thinking") or "")
            case "tool_use":
                message["tool_calls"].append(_tool_use(block, tools))
            case "tool_result":
                results.append(_tool_result(block, tools))
            case _:  # redacted thinking, what the provider's own tools said
                continue
    message = without_empty(message)
    return [*results, message] if len(message) > 2 or message["content"] or not results else results


def _blocks(content: Any) -> list[dict[str, Any]]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    if not isinstance(content, list) or not all(isinstance(each, dict) for each in content):
        raise BadAsk("The content of a message must be a text or a list of blocks.", "messages")
    return content


def _block_text(block: dict[str, Any]) -> str:
    text = block.get("text")
    if not isinstance(text, str):
        raise BadAsk("A text block needs its text.", "messages")
    return text


def _text(content: Any, param: str) -> str:
    """Read what may be a text or a list of text blocks."""
    if content is None or isinstance(content, str):
        return content or ""
    if not isinstance(content, list) or not all(isinstance(each, dict) for each in content):
        raise BadAsk(f"The field {param} must be a text or a list of text blocks.", param)
    return "".join(str(each.get("text") or "") for each in content if each.get("type") == "text")


def _image(block: dict[str, Any]) -> str:
    source = block.get("source")
    data = source.get("data") if isinstance(source, dict) and source.get("type") == "base64" else None
    if not isinstance(data, str):
        raise BadAsk("Pictures must be sent inside the request, in base64.", "messages")
    return data


def _document(block: dict[str, Any]) -> str:
    source = block.get("source")
    data = source.get("data") if isinstance(source, dict) and source.get("type") == "text" else None
    if not isinstance(data, str):
        raise BadAsk("Documents must be sent as plain text.", "messages")
    return data


def _tool_use(block: dict[str, Any], tools: dict[str, str]) -> dict[str, Any]:
    name, id = block.get("name"), block.get("id")
    if not isinstance(name, str) or not isinstance(id, str):
        raise BadAsk("Each tool_use block needs a name and an id.", "messages")
    tools[id] = name
    return {"id": id, "function": {"name": name, "arguments": arguments(block.get("input"))}}


def _tool_result(block: dict[str, Any], tools: dict[str, str]) -> dict[str, Any]:
    content, id = block.get("content"), block.get("tool_use_id")
    inner = [] if content is None or isinstance(content, str) else _blocks(content)
    message = {
        "role": "tool",
        "content": _text(content, "messages"),
        "images": [_image(each) for each in inner if each.get("type") == "image"],
        "tool_call_id": id,
        "tool_name": tools.get(id if isinstance(id, str) else ""),
    }
    return without_empty(message)
