"""Messages of Ollama's own wire, said on OpenAI's.

House rules: what Ollama leaves out, the ids of tool calls and which call a result answers, is made up here, the same
each time; what would silently be lost of a message is refused.
"""

import json
from itertools import count
from typing import Any, Final

from kubemoot_web.gateway.asking import BadAsk
from kubemoot_web.gateway.ollama_request import arguments

_encode: Final = json.JSONEncoder(separators=(",", ":")).encode
KINDS: Final = (("iVBORw0KGgo", "png"), ("/9j/", "jpeg"), ("R0lGOD", "gif"), ("UklGR", "webp"))
"""How pictures begin in base64; of any other the engine finds out itself what it is."""


class Messages:
    """Says the messages of one conversation, one after the other.

    `says_more`: the engine takes members that OpenAI's own wire has no word for.
    """

    __slots__ = ("_ids", "_made", "_says_more", "_unanswered")

    def __init__(self, *, says_more: bool) -> None:
        """Begin a conversation."""
        self._says_more = says_more
        self._ids: set[str] = set()
        self._made = (f"call{number:05}" for number in count())  # nine letters and digits: some templates insist
        self._unanswered: list[tuple[str, str]] = []

    def say(self, given: Any) -> list[dict[str, Any]]:
        """Say all messages of a conversation.

        Raises:
            BadAsk: they cannot be said there.
        """
        if not isinstance(given, list) or not all(isinstance(each, dict) for each in given):
            raise BadAsk("The field messages must be a list of objects.", "messages")
        return [self._message(each) for each in given]

    def _message(self, given: dict[str, Any]) -> dict[str, Any]:
        role, calls, thinking = given.get("role"), given.get("tool_calls"), given.get("thinking")
        if not isinstance(role, str):
            raise BadAsk("Each message needs a role.", "messages")
        message = {"role": role, "content": content(given.get("content"), given.get("images"), param="messages")}
        if isinstance(thinking, str) and thinking and self._says_more:
            message["reasoning_content"] = thinking
        if calls:
            message["tool_calls"] = self._calls(calls)
        if role == "tool":
            message |= self._answered(given)
        return message

    def _calls(self, given: Any) -> list[dict[str, Any]]:
        if not isinstance(given, list):
            raise BadAsk("The tool calls of a message must be a list.", "messages")
        said = [self._call(each) for each in given]
        self._unanswered = [(each["id"], each["function"]["name"]) for each in said]
        return said

    def _call(self, given: Any) -> dict[str, Any]:
        function = given.get("function") if isinstance(given, dict) else None
        name = function.get("name") if isinstance(function, dict) else None
        if not isinstance(name, str) or not isinstance(function, dict):
            raise BadAsk("Each tool call needs a function with a name.", "messages")
        said = _encode(arguments(function.get("arguments")))
        return {"id": self._id(given.get("id")), "type": "function", "function": {"name": name, "arguments": said}}

    def _answered(self, given: dict[str, Any]) -> dict[str, Any]:
        """Say which call a result answers: the one it names, else the first of its tool, else the first of all."""
        name, id = given.get("tool_name") or given.get("name"), given.get("tool_call_id")
        if not isinstance(id, str) or not id:
            of_tool = [each for each in self._unanswered if each[1] == name]
            id = next((each[0] for each in of_tool or self._unanswered), None) or self._id(None)
        self._unanswered = [each for each in self._unanswered if each[0] != id]
        return {"tool_call_id": id} | ({"name": name} if self._says_more and isinstance(name, str) else {})

    def _id(self, given: Any) -> str:
        id = given if isinstance(given, str) and given else next(each for each in self._made if each not in self._ids)
        self._ids.add(id)
        return id


def content(text: Any, images: Any, *, param: str) -> str | list[dict[str, Any]]:
    """Say a text, with the pictures that belong to it.

    Raises:
        BadAsk: the text is none, or a picture is not in the request itself.
    """
    if text is not None and not isinstance(text, str):
        raise BadAsk("The content of a message must be a text.", param)
    if not images:
        return text or ""
    if not isinstance(images, list):
        raise BadAsk("The pictures of a message must be a list.", param)
    parts: list[dict[str, Any]] = [{"type": "text", "text": text}] if text else []
    return parts + [{"type": "image_url", "image_url": {"url": _data_url(each, param)}} for each in images]


def _data_url(image: Any, param: str) -> str:
    if not isinstance(image, str) or not image or ":" in image[:128]:  # base64 has no colon, every address has one
        raise BadAsk("Pictures must be sent inside the request, in base64.", param)
    kind = next((kind for begin, kind in KINDS if image.startswith(begin)), "png")
    return f"data:image/{kind};base64,{image}"
