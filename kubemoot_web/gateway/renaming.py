"""Showing the model by the name that was asked for, in answers that carry another one."""

import json
import re
from typing import Final

from kubemoot_web.gateway.json_edit import Document, NotAnObject

TEXT: Final = rb'"(?:[^"\\]|\\.)*"'
_first_member = re.compile(rb'\s*\{\s*"model"\s*:\s*' + TEXT).match
_anywhere = re.compile(rb'"model"\s*:\s*' + TEXT).search


class FirstMember:
    """Renames in lines that begin with the model, as Ollama's do; what a tool call says inside is left alone."""

    __slots__ = ("_new", "_old", "_shown")

    def __init__(self, *, shown: str) -> None:
        """Take the name to show."""
        self._shown = shown
        self._new = b'{"model":' + json.dumps(shown).encode()
        self._old = b"\0"

    def __call__(self, line: bytes) -> bytes:
        """Give one line with the name replaced."""
        if line.startswith(self._old):
            return self._new + line[len(self._old) :]
        match = _first_member(line)
        if match is not None:
            self._old = match[0]
            return self._new + line[match.end() :]
        return rename_member(line, shown=self._shown)


class FirstMention:
    """Renames in events of the OpenAI wire, where no other member is called `model`: arguments are texts there."""

    __slots__ = ("_new", "_old")

    def __init__(self, *, shown: str) -> None:
        """Take the name to show."""
        self._new = b'"model":' + json.dumps(shown).encode()
        self._old = b""

    def __call__(self, lines: bytes) -> bytes:
        """Give whole lines with the name replaced in each."""
        if self._old:
            renamed = lines.replace(self._old, self._new)
            if renamed is not lines:
                return renamed
        return b"".join(map(self._line, lines.splitlines(keepends=True)))

    def _line(self, line: bytes) -> bytes:
        match = _anywhere(line)
        if match is None:
            return line
        self._old = match[0]
        return line[: match.start()] + self._new + line[match.end() :]


def rename_member(body: bytes, *, shown: str) -> bytes:
    """Replace the member `model` of one object exactly, wherever it stands; anything else stays as it is."""
    try:
        document = Document(body)
    except NotAnObject:
        return body
    return document.edited({("model",): shown}) if "model" in document.fields else body


def rename_far(body: bytes, *, shown: str, reach: int) -> bytes:
    """Replace the name in the first or last `reach` bytes of a large body, without reading what lies between.

    Chats say it early, embeddings of the OpenAI wire late.
    """
    new = b'"model":' + json.dumps(shown).encode()
    match = _first_member(body[:reach])
    if match is not None:
        return b"{" + new + body[match.end() :]
    for start in (0, len(body) - reach):
        match = _anywhere(body[start : start + reach])
        if match is not None:
            return body[: start + match.start()] + new + body[start + match.end() :]
    return body
