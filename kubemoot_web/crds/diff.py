"""What applying a document would change, field by field. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from kubemoot_web.crds.schema_errors import Path, field_text


class Outcome(StrEnum):
    """What becomes of one object, in kubectl's words."""

    CREATED = "created"
    CONFIGURED = "configured"
    UNCHANGED = "unchanged"


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldChange:
    """One field before and after; None: not there."""

    field: str
    before: Any
    after: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectDiff:
    """What becomes of one object."""

    kind: str
    namespace: str
    name: str
    outcome: Outcome
    changes: tuple[FieldChange, ...] = ()


def diff(*, before: Mapping[str, Any] | None, after: Mapping[str, Any]) -> ObjectDiff:
    """Compare two documents of one object; `before` None: there is none yet."""
    changes = tuple(_changes((), before or {}, after))
    metadata = after["metadata"]
    return ObjectDiff(
        kind=after["kind"],
        namespace=metadata.get("namespace", ""),
        name=metadata["name"],
        outcome=_outcome(is_new=before is None, is_changed=bool(changes)),
        changes=() if before is None else changes,
    )


def _outcome(*, is_new: bool, is_changed: bool) -> Outcome:
    if is_new:
        return Outcome.CREATED
    return Outcome.CONFIGURED if is_changed else Outcome.UNCHANGED


def _changes(path: Path, before: Any, after: Any) -> Iterator[FieldChange]:
    """Walk both sides; lists are compared whole, for an entry in the middle would shift all that follow."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in sorted({*before, *after}):
            yield from _changes((*path, key), before.get(key), after.get(key))
    elif before != after:
        yield FieldChange(field=field_text(path), before=before, after=after)
