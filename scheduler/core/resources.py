"""Resources as values: what somebody wants stored, what is stored, and what can go wrong in between."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class ResourceKey:
    """What names one resource. A resource of the whole cluster has no namespace."""

    kind: str
    namespace: str
    name: str

    def text(self) -> str:
        """Name the resource for people."""
        return f"{self.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind} {self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceWrite:
    """A resource as somebody wants it. `resource_version` None: whatever is stored is replaced."""

    key: ResourceKey
    spec: Mapping[str, Any]
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    resource_version: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """A resource as it is stored. `created_at` is in Unix seconds."""

    key: ResourceKey
    spec: Mapping[str, Any]
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    status: Mapping[str, Any]
    uid: str
    resource_version: int
    generation: int
    created_at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """What became of one write. `before` None: it was created."""

    before: Stored | None
    after: Stored

    @property
    def is_change(self) -> bool:
        """Say whether anything a person wrote differs from before."""
        return self.before is None or self.before.resource_version != self.after.resource_version


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourcesChanged:
    """What a committed change touched; sent once, after the commit, never for a dry run."""

    written: tuple[ResourceKey, ...] = ()
    deleted: tuple[ResourceKey, ...] = ()

    def of_kind(self, kind: str) -> tuple[ResourceKey, ...]:
        """List the touched resources of one kind."""
        return tuple(key for key in (*self.written, *self.deleted) if key.kind == kind)

    @property
    def kinds(self) -> frozenset[str]:
        """List the kinds that were touched."""
        return frozenset(key.kind for key in (*self.written, *self.deleted))


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Why one write of several cannot be stored. `index` is its place among them, `path` the field's."""

    index: int
    path: tuple[str | int, ...]
    message: str


class ResourcesRefused(Exception):
    """Writes that contradict what is stored or each other; nothing was changed."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__("; ".join(problem.message for problem in problems))
        self.problems = tuple(problems)


class Conflict(Exception):
    """Somebody else changed the resource first."""

    def __init__(self, *, key: ResourceKey, sent: str, stored: int | None, index: int = 0) -> None:
        now = "it does not exist any more" if stored is None else f"it is at {stored} now"
        super().__init__(f"{key.text()} was changed since resourceVersion {sent} ({now}): read it again and repeat.")
        self.key = key
        self.sent = sent
        self.stored = stored
        self.index = index


class NotFound(Exception):
    """There is no such resource."""

    def __init__(self, key: ResourceKey) -> None:
        super().__init__(f"There is no {key.text()}.")
        self.key = key
