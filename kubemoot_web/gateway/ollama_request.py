"""What the translations put into a request to Ollama's own wire, whichever dialect it came from."""

import json
from typing import Any, Final

from kubemoot_web.gateway.asking import Asked, BadAsk

KEEP_FOR_EVER: Final = -1
IMAGE: Final = "data:"
BASE64: Final = ";base64,"


def envelope(asked: Asked, *, model: str, context_length: int | None, options: dict[str, Any]) -> dict[str, Any]:
    """Begin a request: the model, the context that is allocated already, and for how long the copy stays."""
    if context_length:
        options = {**options, "num_ctx": context_length}
    return {"model": model, "stream": asked.stream, "keep_alive": KEEP_FOR_EVER, "options": options}


def written(request: dict[str, Any]) -> bytes:
    """Write a request.

    Raises:
        BadAsk: something in it is nested so deeply that nobody would read it.
    """
    try:
        return json.dumps(request, separators=(",", ":")).encode()
    except RecursionError:
        raise BadAsk("The body is nested too deeply.") from None


def options_of(fields: Any, names: dict[str, str]) -> dict[str, Any]:
    """Take over the sampling options that a client gave, by their names on Ollama's wire."""
    return {ours: fields[theirs] for theirs, ours in names.items() if fields.get(theirs) is not None}


def stops(value: Any, param: str) -> list[str]:
    """Read stop sequences: one text or several.

    Raises:
        BadAsk: anything else.
    """
    found = [value] if isinstance(value, str) else value
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
        raise BadAsk(f"The field {param} must be a text or a list of texts.", param)
    return found


def arguments(text: Any) -> dict[str, Any]:
    """Read the arguments of a tool call, which are a text on one side and an object on the other.

    Raises:
        BadAsk: the text is not a JSON object.
    """
    if text is None or text == "":
        return {}
    try:
        value = json.loads(text) if isinstance(text, str) else text
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise BadAsk("The arguments of a tool call must be a JSON object.", "messages")
    return value


def image(url: Any) -> str:
    """Take the picture out of a data URL.

    Raises:
        BadAsk: it is an address; nobody here fetches one.
    """
    if not isinstance(url, str) or not url.startswith(IMAGE) or BASE64 not in url[:128]:
        raise BadAsk("Pictures must be sent inside the request, as data URLs in base64.", "messages")
    return url.partition(BASE64)[2]


def without_empty(message: dict[str, Any]) -> dict[str, Any]:
    """Leave out what a message does not have; its role and content always stay."""
    return {name: value for name, value in message.items() if value or name in ("role", "content")}
