"""What the core says for one request: a union of small values, each with what was weighed."""

from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, NamedTuple

from scheduler.core.types import KEY_LIMIT as HELD_BY_KEY

TRACE_OPTIONS = 6
"""A decision names the best so many of what was weighed: enough to see why, little enough to be quick."""


class Reason(StrEnum):
    """Why a call is not placed. Those of `WITHOUT_CAPACITY` are `gpu-busy` on the wire: people are told them apart."""

    GPU_BUSY = "gpu-busy"
    GPU_CLOSED = "gpu-closed"
    SIZE_UNKNOWN = "size-unknown"
    LOAD_OVERDUE = "load-overdue"
    WAIT_LOST = "wait-lost"
    MODEL_TOO_LARGE = "model-too-large"
    PROMPT_TOO_LARGE = "prompt-too-large"
    KEY_LIMIT = HELD_BY_KEY
    QUEUE_CLEARED = "queue-cleared"


WITHOUT_CAPACITY = frozenset(
    {Reason.GPU_BUSY, Reason.GPU_CLOSED, Reason.SIZE_UNKNOWN, Reason.LOAD_OVERDUE, Reason.WAIT_LOST}
)


def code_of(*, reason: str) -> str:
    """Give the word that programs read for a reason."""
    return Reason.GPU_BUSY.value if reason in WITHOUT_CAPACITY else reason


class Verdict(StrEnum):
    """How an option that was weighed ended."""

    CHOSEN = "chosen"
    COSTS_MORE = "costs-more"
    TIED = "tied"
    OTHER_COPY_FIRST = "other-copy-first"


class Option(NamedTuple):  # not a dataclass: every decision makes some
    """Something that was weighed: what it would have been, what it costs in seconds, how it ended."""

    action: str
    server: str
    model: str
    cost_s: float | None
    verdict: Verdict
    evicts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """Run on a resident copy with a free slot."""

    action: ClassVar[str] = "use"
    server: str
    model: str
    options: tuple[Option, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Join:
    """Share a load that is under way; `cost_s` is the rest of it."""

    action: ClassVar[str] = "join"
    server: str
    model: str
    cost_s: float
    options: tuple[Option, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue:
    """Wait for the next slot of one copy."""

    action: ClassVar[str] = "queue"
    server: str
    model: str
    cost_s: float
    options: tuple[Option, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """Load into free memory."""

    action: ClassVar[str] = "load"
    server: str
    model: str
    footprint_mib: int
    cost_s: float
    options: tuple[Option, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Evict:
    """Unload idle models, then load."""

    action: ClassVar[str] = "evict"
    server: str
    model: str
    footprint_mib: int
    evicts: tuple[str, ...]
    cost_s: float
    options: tuple[Option, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """Nothing can be done now: wait until something changes."""

    action: ClassVar[str] = "wait"
    model: str
    reason: Reason = Reason.GPU_BUSY
    options: tuple[Option, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StandAside:
    """It can never be placed, or its time is over."""

    action: ClassVar[str] = "stand_aside"
    model: str
    reason: Reason
    options: tuple[Option, ...] = ()


Grant = Use | Join | Load | Evict
Decision = Use | Join | Queue | Load | Evict | Wait | StandAside
