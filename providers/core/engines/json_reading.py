"""Reading JSON that somebody else wrote: every field is missing, right, or nonsense. Nothing else can happen."""

import json
from collections.abc import Mapping
from typing import Any


class Nonsense(ValueError):
    """A reply is not what the wire says; the text says what was found, without quoting it."""


class JsonObject:
    """An object whose fields are read with their type checked. A missing field and `null` are both unknown."""

    __slots__ = ("_fields", "_where")

    def __init__(self, fields: Mapping[str, Any], *, where: str = "") -> None:
        """Wrap the fields; `where` names the object in what is said about its fields."""
        self._fields = fields
        self._where = where

    def has(self, name: str) -> bool:
        """Say whether a field is there and not null."""
        return self._fields.get(name) is not None

    def contains(self, name: str) -> bool:
        """Say whether a field is there at all, null included."""
        return name in self._fields

    def is_true(self, name: str) -> bool:
        """Say whether a field is exactly true."""
        return self._fields.get(name) is True

    def text(self, name: str) -> str | None:
        """Read a text.

        Raises:
            Nonsense: the field is something else.
        """
        found: str | None = self._typed(name, str, "a text")
        return found

    def whole(self, name: str) -> int | None:
        """Read a number that counts something: whole and not negative.

        Raises:
            Nonsense: the field is something else.
        """
        value = self._fields.get(name)
        if value is None:
            return None
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise Nonsense(f'a field "{self._where}{name}" that is not a whole number of 0 or more')
        return value

    def object(self, name: str) -> "JsonObject | None":
        """Read an object.

        Raises:
            Nonsense: the field is something else.
        """
        fields = self._typed(name, dict, "an object")
        return None if fields is None else JsonObject(fields, where=f"{self._where}{name}.")

    def objects(self, name: str) -> "tuple[JsonObject, ...] | None":
        """Read a list of objects.

        Raises:
            Nonsense: the field is something else.
        """
        entries = self._typed(name, list, "a list")
        if entries is None:
            return None
        for number, entry in enumerate(entries):
            if not isinstance(entry, dict):
                raise Nonsense(f'an entry "{self._where}{name}[{number}]" that is not an object')
        return tuple(JsonObject(entry, where=f"{self._where}{name}[{i}].") for i, entry in enumerate(entries))

    def texts(self, name: str) -> tuple[str, ...]:
        """Read a list of texts; a missing one is empty.

        Raises:
            Nonsense: the field is something else.
        """
        found = self._typed(name, list, "a list") or []
        if not all(isinstance(each, str) for each in found):
            raise Nonsense(f'a field "{self._where}{name}" that is not a list of texts')
        return tuple(found)

    def _typed(self, name: str, wanted: type, called: str) -> Any:
        value = self._fields.get(name)
        if value is not None and not isinstance(value, wanted):
            raise Nonsense(f'a field "{self._where}{name}" that is not {called}')
        return value


def read_object(body: bytes) -> JsonObject:
    """Read a JSON object.

    Raises:
        Nonsense: the bytes are something else.
    """
    try:
        value = json.loads(body, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        raise Nonsense("something that is not JSON" if body.strip() else "nothing") from None
    if not isinstance(value, dict):
        raise Nonsense("JSON that is not an object")
    return JsonObject(value)


def _refuse_constant(name: str) -> float:
    raise ValueError(name)  # NaN and Infinity are not JSON, although Python reads them
