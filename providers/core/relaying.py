"""A client's call on its way through: what is sent to an engine, what comes back piece by piece, how that can fail."""

from dataclasses import dataclass
from typing import Protocol

from providers.core.engines.base import Trouble

Headers = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RelayRequest:
    """One request to an engine. `silence_s` bounds the time without a byte, before the answer's head and after it.

    `secret` names the key that it carries.
    """

    method: str
    path: str
    silence_s: float
    headers: Headers = ()
    body: bytes = b""
    secret: str | None = None


class RelayFailed(Exception):
    """The engine gave no answer, or none to its end.

    `was_sent` says that it may have got the whole request: then it may be at work, and nobody may send it again.
    """

    def __init__(self, *, trouble: Trouble, was_sent: bool) -> None:
        super().__init__(trouble.value)
        self.trouble = trouble
        self.was_sent = was_sent


class RelayAnswer(Protocol):
    """An answer whose head is here. Header names are lower-case; hop-by-hop ones and those of encoding are gone."""

    status: int
    headers: Headers

    async def piece(self) -> bytes:
        """Wait for the next piece of the body; empty at its end.

        Raises:
            RelayFailed: the engine died, or fell silent for too long.
        """
        ...

    def close(self) -> None:
        """Let go of the engine at once: what is not read to its end ends its work."""
        ...
