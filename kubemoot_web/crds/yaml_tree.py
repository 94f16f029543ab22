"""YAML (and so JSON) text to documents that know the line of each field.

House rules: events are read one by one, so that depth, size and aliases are bounded while reading; no tag makes an
object; a key twice is an error; scalars are read by one rule (JSON's and YAML 1.2's), and what other readers would
read differently stays `Ambiguous`.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import yaml

from kubemoot_web.crds.scalars import Ambiguous

MOST_DEPTH = 64
MOST_NODES = 200_000
TEXT_TAGS = ("tag:yaml.org,2002:str", "!")
MERGE = "<<"

WHOLE = re.compile(r"-?(0|[1-9][0-9]*)")
DECIMAL = re.compile(r"-?(0|[1-9][0-9]*)\.[0-9]+")
# Numbers, truth values and dates that some readers of YAML 1.1 or 1.2 take for something else than text.
UNCLEAR = re.compile(
    r"""(?ix)
    y | n | yes | no | on | off | true | false
    | [-+]?(0x[0-9a-f_]+ | 0b[01_]+ | 0o?[0-7_]+ | [0-9][0-9_]*)
    | [-+]?([0-9][0-9_]*\.?[0-9_]* | \.[0-9][0-9_]*)(e[-+]?[0-9]+)?
    | [-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?
    | [-+]?\.(inf|nan)
    | [0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([Tt\s].*)?
    """
)
NULLS = ("", "~", "null", "Null", "NULL")
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

Path = tuple[str | int, ...]


class TextUnreadable(ValueError):
    """The text is no YAML that we read; `line` counts from 1."""

    def __init__(self, message: str, *, line: int) -> None:
        super().__init__(message)
        self.message = message
        self.line = line


@dataclass(slots=True, kw_only=True)
class Node:
    """A value with its place: a scalar, a dict or list of Nodes. `is_prose`: in quotes, or a block of text."""

    value: Any
    line: int
    is_prose: bool = False
    key_lines: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    """One document."""

    root: Node

    def plain(self) -> Any:
        """Give the document without lines."""
        return _plain(self.root)

    def line(self, path: Path) -> int:
        """Find the line of a field, or of the nearest thing around it that stands in the text."""
        node, line = self.root, self.root.line
        for step in path:
            if isinstance(node.value, dict) and step in node.value:
                line = node.key_lines[str(step)]
                node = node.value[step]
            elif isinstance(node.value, list) and isinstance(step, int) and 0 <= step < len(node.value):
                node = node.value[step]
                line = node.line
            else:
                break
        return line

    def scalars(self) -> Iterator[tuple[Path, Node]]:
        """Walk all scalars."""
        yield from _scalars(self.root, ())


def read_documents(text: str) -> Iterator[Tree]:
    """Read the documents of a text one after another; an empty one has a root of None.

    Raises:
        TextUnreadable: where the text stops being readable. Documents before that were given already.
    """
    try:
        reader = _Reader(text)
        yield from reader.documents()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = " ".join(str(error.problem or error.context or "unreadable").split())
        raise TextUnreadable(f"is no YAML: {problem}", line=mark.line + 1 if mark else 1) from None
    except yaml.YAMLError as error:
        line = text.count("\n", 0, getattr(error, "position", 0) or 0) + 1
        raise TextUnreadable("holds characters that YAML does not allow", line=line) from None


class _Reader:
    """Builds trees from the parser's events."""

    def __init__(self, text: str) -> None:
        self.events = yaml.parse(text, Loader=LOADER)
        self.nodes = 0
        self.anchors: dict[str, tuple[Node, int]] = {}

    def documents(self) -> Iterator[Tree]:
        for event in self.events:
            if isinstance(event, yaml.DocumentStartEvent):
                self.anchors = {}
                yield Tree(root=self._node(self._next(), depth=0)[0])

    def _next(self) -> Any:
        return next(self.events)

    def _node(self, event: Any, *, depth: int) -> tuple[Node, int]:
        """Build the node that an event begins; also say how many nodes it counts for."""
        line = event.start_mark.line + 1
        if depth > MOST_DEPTH:
            raise TextUnreadable(f"is nested more than {MOST_DEPTH} levels deep", line=line)
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event, line)
        self._count(1, line)
        if isinstance(event, yaml.ScalarEvent):
            node, size = Node(value=_scalar(event, line), line=line, is_prose=not event.implicit[0]), 1
        else:
            _refuse_tag(event, line)
            is_mapping = isinstance(event, yaml.MappingStartEvent)
            node, size = self._mapping(line, depth) if is_mapping else self._sequence(line, depth)
        if event.anchor:
            self.anchors[event.anchor] = (node, size)
        return node, size

    def _alias(self, event: Any, line: int) -> tuple[Node, int]:
        # An anchor is known only once its node is complete, so that no node can hold itself.
        if event.anchor not in self.anchors:
            raise TextUnreadable(f"has the alias *{event.anchor}, which names nothing before it", line=line)
        node, size = self.anchors[event.anchor]
        self._count(size, line)
        return node, size

    def _count(self, size: int, line: int) -> None:
        self.nodes += size
        if self.nodes > MOST_NODES:
            raise TextUnreadable(f"has more than {MOST_NODES} values, aliases counted in full", line=line)

    def _sequence(self, line: int, depth: int) -> tuple[Node, int]:
        items: list[Node] = []
        total = 1
        while not isinstance(event := self._next(), yaml.SequenceEndEvent):
            item, size = self._node(event, depth=depth + 1)
            items.append(item)
            total += size
        return Node(value=items, line=line), total

    def _mapping(self, line: int, depth: int) -> tuple[Node, int]:
        node = Node(value={}, line=line)
        merged: list[Node] = []
        total = 1
        while not isinstance(event := self._next(), yaml.MappingEndEvent):
            key, key_line = _key(event)
            item, size = self._node(self._next(), depth=depth + 1)
            total += size
            if key == MERGE and event.implicit[0]:
                merged.extend(_sources(item, key_line))
                continue
            if key in node.value:
                raise TextUnreadable(
                    f'has the key "{key}" twice in one object (first in line {node.key_lines[key]})', line=key_line
                )
            node.value[key] = item
            node.key_lines[key] = key_line
        for source in merged:
            for key, item in source.value.items():
                if key not in node.value:
                    node.value[key] = item
                    node.key_lines[key] = source.key_lines[key]
        return node, total


def _key(event: Any) -> tuple[str, int]:
    line = event.start_mark.line + 1
    if not isinstance(event, yaml.ScalarEvent):
        raise TextUnreadable("has an object or a list where a field's name belongs", line=line)
    return str(event.value), line


def _sources(node: Node, line: int) -> list[Node]:
    nodes = node.value if isinstance(node.value, list) else [node]
    if not all(isinstance(source.value, dict) for source in nodes):
        raise TextUnreadable("has a merge key (<<) that names no object", line=line)
    return list(nodes)


def _refuse_tag(event: Any, line: int) -> None:
    if event.tag is not None and not event.implicit:
        raise TextUnreadable(f"has the tag {event.tag}, which is not read here", line=line)


def _scalar(event: Any, line: int) -> Any:
    text = str(event.value)
    if event.tag is not None:
        if event.tag not in TEXT_TAGS:
            raise TextUnreadable(f"has the tag {event.tag}, which is not read here", line=line)
        return text
    if not event.implicit[0]:  # quoted, or a block of text
        return text
    if text in NULLS:
        return None
    if text in ("true", "false"):
        return text == "true"
    if WHOLE.fullmatch(text) and len(text) <= 18:
        return int(text)
    if DECIMAL.fullmatch(text) and len(text) <= 40:
        return float(text)
    return Ambiguous(text) if UNCLEAR.fullmatch(text) else text


def _plain(node: Node) -> Any:
    if isinstance(node.value, dict):
        return {key: _plain(item) for key, item in node.value.items()}
    if isinstance(node.value, list):
        return [_plain(item) for item in node.value]
    return node.value


def _scalars(node: Node, path: Path) -> Iterator[tuple[Path, Node]]:
    if isinstance(node.value, dict):
        for key, item in node.value.items():
            yield from _scalars(item, (*path, key))
    elif isinstance(node.value, list):
        for index, item in enumerate(node.value):
            yield from _scalars(item, (*path, index))
    else:
        yield path, node
