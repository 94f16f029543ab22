"""Reading the replies to a probe's questions, whichever engine they come from."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from providers.core.engines import messages
from providers.core.engines.base import FailureKind, HttpCall, HttpReply, ProbeFailure, StepFailed, Trouble
from providers.core.engines.json_reading import JsonObject, Nonsense, read_object

T = TypeVar("T")
UNAUTHORIZED = 401
WANTS_KEY = (UNAUTHORIZED, 403)
NOT_SILENT = frozenset({Trouble.TOO_LARGE, Trouble.NO_KEY})
"""Troubles that say nothing about whether the engine answers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyReader:
    """Reads what one kind of engine answers. `engine` is what people call it, `expected` what each path answers."""

    engine: str
    expected: Mapping[str, str]

    def read(
        self, *, call: HttpCall, reply: HttpReply, may_be_missing: bool = False
    ) -> JsonObject | ProbeFailure | None:
        """Read one reply: an object, a failure, or None when the server is alive and does not say."""
        if reply.trouble is not None:
            kind = FailureKind.WRONG_ANSWER if reply.trouble in NOT_SILENT else FailureKind.NO_ANSWER
            return ProbeFailure(kind=kind, detail=messages.trouble(call=call, kind=reply.trouble, secret=reply.secret))
        status = reply.status or 0
        if may_be_missing and 400 <= status < 500:
            return None
        if status in WANTS_KEY:
            return _wrong(messages.key_wanted(call=call, status=status, secret=reply.secret))
        if status != 200:
            return _wrong(messages.wrong_status(call=call, status=status, expected=self.expected[call.path]))
        try:
            return read_object(reply.body)
        except Nonsense as found:
            return self.nonsense(call=call, found=str(found))

    def parsed(self, *, call: HttpCall, reply: HttpReply, parse: Callable[[JsonObject], T]) -> T | ProbeFailure:
        """Read a reply that must be there, and what it says."""
        body = self.read(call=call, reply=reply)
        if isinstance(body, ProbeFailure):
            return body
        assert body is not None
        try:
            return parse(body)
        except Nonsense as found:
            return self.nonsense(call=call, found=str(found))

    def nonsense(self, *, call: HttpCall, found: str) -> ProbeFailure:
        """Say that a reply is not what this engine answers."""
        return _wrong(self.told(call=call, found=found, expected=self.expected[call.path]))

    def told(self, *, call: HttpCall, found: str, expected: str) -> str:
        """Say so in a sentence."""
        return messages.nonsense(call=call, found=found, expected=expected, engine=self.engine)


def _wrong(detail: str) -> ProbeFailure:
    return ProbeFailure(kind=FailureKind.WRONG_ANSWER, detail=detail)


def unanswered(*, call: HttpCall, reply: HttpReply) -> StepFailed | None:
    """Say that a load or an unload got no reply, and why; None where it got one."""
    if reply.trouble is None:
        return None
    return StepFailed(
        detail=messages.trouble(call=call, kind=reply.trouble, secret=reply.secret),
        timed_out=reply.trouble is Trouble.TIMED_OUT,
    )
