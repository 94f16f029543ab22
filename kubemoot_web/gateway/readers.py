"""Reading an answer on its way through: what goes to the client now, and how it ended."""

from dataclasses import dataclass
from typing import Protocol

from scheduler.core.ledger import CallEnd


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """How an answer ended, and what it took. None: the engine did not say."""

    end: CallEnd
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    load_s: float | None = None


class AnswerReader(Protocol):
    """Reads the body of a 200, piece by piece, cut anywhere."""

    def feed(self, piece: bytes) -> bytes:
        """Take what the engine sent and give what goes to the client now."""
        ...

    def end(self, *, is_broken: bool = False) -> bytes:
        """Give the rest once the engine's body ended, or an error when the answer's final mark is missing.

        `is_broken`: the connection died; what is unfinished then stays unfinished however complete it looks.
        """
        ...

    @property
    def verdict(self) -> Verdict:
        """How the answer ended; `truncated` while its final mark has not come."""
        ...
