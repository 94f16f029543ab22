"""What can be wrong with resources that somebody hands in, with the facts a person needs to mend it."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from scheduler.core.resources import Conflict, NotFound, ResourcesRefused

__all__ = ["Conflict", "ImportProblem", "ImportRefused", "KindUnknown", "NotFound", "ResourcesRefused"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportProblem:
    """One thing that is wrong: where, and what to write instead. `document` and `line` count from 1; 0 is unknown."""

    file: str
    document: int
    line: int
    field: str
    message: str

    def text(self) -> str:
        """Write the problem on one line, the way compilers do."""
        place = f"{self.file}:{self.line}" if self.line else self.file
        where = ", ".join(part for part in (f"document {self.document}" if self.document else "", self.field) if part)
        return f"{place}: {where}: {self.message}" if where else f"{place}: {self.message}"

    def detail(self) -> dict[str, str | int]:
        """Give the problem as the API shows it."""
        return asdict(self)


class ImportRefused(Exception):
    """Resources that are not right; nothing was changed."""

    def __init__(self, problems: Sequence[ImportProblem]) -> None:
        super().__init__("\n".join(problem.text() for problem in problems))
        self.problems = tuple(problems)

    @property
    def details(self) -> list[dict[str, str | int]]:
        """Give the problems as the API shows them."""
        return [problem.detail() for problem in self.problems]


class KindUnknown(Exception):
    """A path or a command names a kind that does not exist."""

    def __init__(self, kind: str, *, known: Sequence[str]) -> None:
        super().__init__(f"There is no kind {kind!r}: use one of {', '.join(known)}.")
        self.kind = kind
        self.known = tuple(known)
