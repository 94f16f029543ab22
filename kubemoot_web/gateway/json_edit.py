"""Reading the members of a JSON object where they stand, and splicing some of them without touching the rest.

House rules: whatever is not edited stays byte for byte (order, spelling of numbers, unknown and repeated members);
names are told apart as the engines' own readers do, that is without case, so that no second spelling gets past an edit.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from json import decoder
from typing import Any, Final

Json = dict[str, Any] | list[Any] | str | int | float | bool | None

_blank = re.compile(r"[ \t\n\r]*").match
_scan_text = decoder.scanstring  # type: ignore[attr-defined]  # the standard library's scanner, known to no type stub
_scan = decoder.JSONDecoder().scan_once  # type: ignore[attr-defined]
_encode = json.JSONEncoder(separators=(",", ":")).encode
UTF8_MARK: Final = b"\xef\xbb\xbf"


class Remove(Enum):
    """The change that takes a member away."""

    REMOVE = "remove"


REMOVE: Final = Remove.REMOVE
Change = Json | Remove
Changes = Mapping[tuple[str, ...], Change]


class NotAnObject(ValueError):
    """The text is not one JSON object. The message says where it stops being one, never what stands there."""


@dataclass(frozen=True, slots=True)
class Member:
    """One member: its folded name, its value, and where name, value and end stand in the text."""

    name: str
    value: Any
    start: int
    value_start: int
    end: int


def members(text: str, start: int = 0) -> tuple[list[Member], int]:
    """Find the members of the object that begins at `start` (blanks aside), and where it ends.

    Raises:
        NotAnObject: there is no JSON object.
    """
    at = _after_blank(text, start)
    if text[at : at + 1] != "{":
        raise NotAnObject("is not a JSON object")
    found: list[Member] = []
    at = _after_blank(text, at + 1)
    if text[at : at + 1] == "}":
        return found, at + 1
    while True:
        member = _member(text, at)
        found.append(member)
        at = _after_blank(text, member.end)
        mark = text[at : at + 1]
        if mark == "}":
            return found, at + 1
        if mark != ",":
            raise NotAnObject(f"is not valid JSON at character {at}")
        at = _after_blank(text, at + 1)


class Document:
    """A JSON object as its sender wrote it, read once; read again where it was folded up meanwhile."""

    __slots__ = ("_body", "_read")

    def __init__(self, body: bytes) -> None:
        """Read a body.

        Raises:
            NotAnObject: it is not exactly one JSON object in UTF-8.
        """
        self._body = body
        self._read: tuple[str, list[Member]] | None = _read(body)

    def __len__(self) -> int:
        """Count the bytes of the body."""
        return len(self._body)

    def fold_up(self) -> None:
        """Keep the body alone: its text and values are several times as large."""
        self._read = None

    @property
    def fields(self) -> dict[str, Any]:
        """The values by folded name; of a repeated member the last one counts, as in the engines."""
        _, found = self._unfolded()
        return {member.name: member.value for member in found}

    def edited(self, changes: Changes) -> bytes:
        """Splice members; paths have one or two names. Gives the very same body when nothing changes.

        A member that is missing is added at the end; one that is there more than once is changed everywhere. A path of
        two names makes the outer object where it is missing or null, and leaves anything else that is no object alone.
        """
        text, found = self._unfolded()
        splices = _splices(text, found, _grouped(changes))
        if not splices:
            return self._body
        if text.isascii():  # then places in the text are places in the body: large bodies are copied once
            return b"".join(_applied(memoryview(self._body), splices, encode=str.encode))
        return "".join(_applied(text, splices, encode=str)).encode()

    def _unfolded(self) -> tuple[str, list[Member]]:
        if self._read is None:
            self._read = _read(self._body)
        return self._read


def _read(body: bytes) -> tuple[str, list[Member]]:
    if body.startswith(UTF8_MARK):
        raise NotAnObject("begins with a byte order mark")
    try:
        text = body.decode()
    except UnicodeDecodeError as error:
        raise NotAnObject(f"is not UTF-8 at byte {error.start}") from None
    found, end = members(text)
    if _after_blank(text, end) != len(text):
        raise NotAnObject(f"goes on after its end at character {end}")
    return text, found


def _after_blank(text: str, at: int) -> int:
    match = _blank(text, at)
    assert match is not None
    return match.end()


def _member(text: str, at: int) -> Member:
    if text[at : at + 1] != '"':
        raise NotAnObject(f"is not valid JSON at character {at}")
    try:
        name, after = _scan_text(text, at + 1)
        colon = _after_blank(text, after)
        if text[colon : colon + 1] != ":":
            raise NotAnObject(f"is not valid JSON at character {colon}")
        value_start = _after_blank(text, colon + 1)
        value, end = _scan(text, value_start)
    except NotAnObject:
        raise
    except StopIteration as stopped:
        raise NotAnObject(f"is not valid JSON at character {stopped.value}") from None
    except RecursionError:
        raise NotAnObject("is nested too deeply") from None
    except ValueError as error:  # also a number of more digits than the interpreter reads
        raise NotAnObject(f"is not valid JSON at character {getattr(error, 'pos', at)}") from None
    return Member(name.casefold(), value, at, value_start, end)


@dataclass(frozen=True, slots=True)
class _Inside:
    """Changes to the members of a member."""

    changes: dict[str, tuple[str, Change]]


_Grouped = Mapping[str, tuple[str, "Change | _Inside"]]


def _grouped(changes: Changes) -> _Grouped:
    """Bring the changes to one per outer member, by its folded name."""
    grouped: dict[str, tuple[str, Change | _Inside]] = {}
    for (outer, *inner), change in changes.items():
        if not inner:
            grouped[outer.casefold()] = (outer, change)
            continue
        _, inside = grouped.setdefault(outer.casefold(), (outer, _Inside({})))
        assert isinstance(inside, _Inside), "a member is changed either whole or inside"
        inside.changes[inner[0].casefold()] = (inner[0], change)
    return grouped


_Splice = tuple[int, int, str]


def _splices(text: str, found: list[Member], changes: _Grouped, *, opening: int = 0) -> list[_Splice]:
    """List what to replace by what, in order. `opening` is where the object begins that `found` are the members of."""
    splices: list[_Splice] = []
    is_first = True
    for at, member in enumerate(found):
        change = changes[member.name][1] if member.name in changes else None
        if change is REMOVE:  # with the comma before it, or the one behind when nothing stays before
            after = found[at + 1].start if at + 1 < len(found) else member.end
            splices.append((member.start, after, "") if is_first else (found[at - 1].end, member.end, ""))
            continue
        is_first = False
        if member.name in changes:
            splices += _member_splices(text, member, change)
    there = {member.name for member in found}
    added = [(name, _fresh(change)) for folded, (name, change) in changes.items() if folded not in there]
    written = ",".join(f"{_written(name)}:{value}" for name, value in added if value)
    if written:
        end = found[-1].end if found else text.index("{", opening) + 1
        splices.append((end, end, written if is_first else "," + written))
    return splices


def _member_splices(text: str, member: Member, change: "Change | _Inside") -> list[_Splice]:
    if isinstance(change, _Inside) and isinstance(member.value, dict):
        inner = members(text, member.value_start)[0]
        return _splices(text, inner, change.changes, opening=member.value_start)
    if isinstance(change, _Inside) and member.value is not None:
        return []
    written = _fresh(change)
    is_new = bool(written) and text[member.value_start : member.end] != written
    return [(member.value_start, member.end, written)] if is_new else []


def _applied(source: Any, splices: list[_Splice], *, encode: Callable[[str], Any]) -> Iterator[Any]:
    end = 0
    for start, after, written in splices:
        yield source[end:start]
        yield encode(written)
        end = after
    yield source[end:]


def _fresh(change: "Change | _Inside") -> str:
    """Write the value of a member that was not there; nothing where nothing is to be set."""
    if isinstance(change, _Inside):
        value = {name: each for name, each in change.changes.values() if each is not REMOVE}
        return _written(value) if value else ""
    return "" if change is REMOVE else _written(change)


def _written(value: Any) -> str:
    return _encode(value)
