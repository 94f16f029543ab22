"""What every engine codec speaks: calls and replies as values, events of an answer, and the Engine protocol.

A codec never touches a socket. It says which calls to send and what the replies mean; a client sends them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from providers.core.types import LoadedCopy, Observation

PROBE_TIMEOUT_S = 5.0


class Trouble(StrEnum):
    """Why there is no reply to a call."""

    REFUSED = "refused"
    UNKNOWN_HOST = "unknown-host"
    UNREACHED = "unreached"
    TIMED_OUT = "timed-out"
    BROKEN = "broken"
    TOO_LARGE = "too-large"
    BAD_ADDRESS = "bad-address"
    NO_KEY = "no-key"


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpCall:
    """One request to an engine. `timeout_s` bounds the whole answer, not the silence between two pieces of it.

    `secret` names the key that it carries.
    """

    method: str
    path: str
    timeout_s: float
    json: Mapping[str, Any] | None = None
    secret: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpReply:
    """What came back: a status with a body, or else the trouble that kept it from coming.

    `secret` names the key that the call carried, or should have.
    """

    status: int | None = None
    body: bytes = b""
    trouble: Trouble | None = None
    secret: str | None = None


class FailureKind(StrEnum):
    """How a probe failed: nobody answered, or somebody answered wrongly."""

    NO_ANSWER = "no-answer"
    WRONG_ANSWER = "wrong-answer"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeFailure:
    """A probe without an observation, with a sentence for people. The sentence never holds a reply's body."""

    kind: FailureKind
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StepDone:
    """The engine did what it was asked to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TryAnotherWay:
    """The engine does not do it this way for this model; the next of the calls is the one to send."""

    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StepFailed:
    """The engine did not do it, with a sentence for people."""

    detail: str
    timed_out: bool = False


StepOutcome = StepDone | TryAnotherWay | StepFailed


class RefusalReason(StrEnum):
    """Why an engine would not begin to answer. Only `failed` says anything bad about the engine."""

    BUSY = "busy"
    NO_SUCH_MODEL = "no-such-model"
    BAD_REQUEST = "bad-request"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Delta:
    """A piece of the answer's text, or of what the model thinks before it answers."""

    text: str = ""
    thinking: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """The answer is whole. None means that the engine did not count.

    A `load_s` above a tenth of a second says that the call was cold.
    """

    reason: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    load_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Truncated:
    """The stream ended without its final mark: what came is not the whole answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """The engine gave up after it had begun to answer."""

    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """The engine would not begin to answer."""

    reason: RefusalReason
    detail: str


StreamEvent = Delta | Done | Truncated | Failed | Refused


class Loader(Protocol):
    """How an engine brings models in and puts them out when told to."""

    def load_calls(self, *, model: str, context_length: int | None, timeout_s: float) -> tuple[HttpCall, ...]:
        """List the ways to load a model, to be tried in this order."""

    def unload_calls(self, *, model: str, timeout_s: float) -> tuple[HttpCall, ...]:
        """List the ways to unload a model, to be tried in this order."""

    def parse_step(self, *, call: HttpCall, reply: HttpReply) -> StepOutcome:
        """Read the reply to one of `load_calls` or `unload_calls`."""

    def parse_coming(self, *, reply: HttpReply) -> frozenset[str] | None:
        """Name the models that are being loaded, from a reply to `residents_call` that could be read.

        None: this engine answers a load when it is over, and not when it begins.
        """


class Engine(Protocol):
    """A kind of server software: which calls observe and drive it, and what its replies mean."""

    @property
    def loader(self) -> Loader | None:
        """Give what loads and unloads; None for an engine that serves what it was started with."""

    def probe_calls(self) -> tuple[HttpCall, ...]:
        """List the calls that observe a server, cheapest first. None of them may ever start a load."""

    def parse_probe(self, *, replies: Sequence[HttpReply], now: float) -> Observation | ProbeFailure:
        """Read the replies to `probe_calls`, in their order; fewer replies than calls end with the one that failed."""

    def residents_call(self) -> HttpCall:
        """Make the call that asks what is in memory now."""

    def parse_residents(self, *, reply: HttpReply, now: float) -> tuple[LoadedCopy, ...] | ProbeFailure:
        """Read the reply to `residents_call`."""
