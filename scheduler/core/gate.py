"""Whether a server takes calls, health, memory and slots aside: what was said of it, and its circuit."""

from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum


class AdmissionState(StrEnum):
    """Whether calls may be placed on a server. In every state but `open` what runs there goes on.

    `draining` is being paused until nothing runs any more; `quarantined` is being taken out for how the engine behaves.
    """

    OPEN = "open"
    PAUSED = "paused"
    DRAINING = "draining"
    QUARANTINED = "quarantined"


States = Collection[AdmissionState]


class AdmissionBy(StrEnum):
    """Who said so. What an operator said, the system never changes."""

    OPERATOR = "operator"
    SYSTEM = "system"


class QuarantineCause(StrEnum):
    """What the system took a server out for.

    All but `silent` are ends of a call after which nobody knows whether the engine still works on it: it timed out
    after it was sent, its connection was lost, its answer had no final mark, or whoever held it is gone.
    """

    SILENT = "silent"
    AMBIGUOUS_TIMEOUT = "ambiguous_timeout"
    AMBIGUOUS_TRANSPORT = "ambiguous_transport"
    INCOMPLETE_RESPONSE = "incomplete_response"
    WORKER_TERMINATED = "worker_terminated"


AMBIGUOUS = frozenset(QuarantineCause) - {QuarantineCause.SILENT}


class FailMode(StrEnum):
    """What becomes of calls on a server while the ledger cannot be reached.

    `closed`: none is placed. `local`: each web process goes on by its own count, with what is in memory.
    """

    CLOSED = "closed"
    LOCAL = "local"


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """Whether calls may be placed on a server: since when, why (in words), and who said so.

    `cause` is what the system took it out for; None for all else.
    """

    state: AdmissionState = AdmissionState.OPEN
    reason: str = ""
    since: float = 0.0
    by: AdmissionBy = AdmissionBy.OPERATOR
    cause: QuarantineCause | None = None

    @property
    def is_open(self) -> bool:
        """Say whether calls may be placed."""
        return self.state is AdmissionState.OPEN

    @property
    def is_in_doubt(self) -> bool:
        """Say whether the system took it out because nobody knew what its engine was at work on."""
        return self.state is AdmissionState.QUARANTINED and self.cause in AMBIGUOUS


@dataclass(frozen=True, slots=True, kw_only=True)
class Circuit:
    """What keeps calls from a server that failed several in a row: it rests, then one call tries whether it works.

    `failures` are those in a row that opened it, or so far; `openings` how often in a row it opened; `opened_at` and
    `rests_until` are None while it is closed; `trial` is the ticket of the call that tries; `status` what the engine
    said over HTTP to the last call that it failed.
    """

    failures: int = 0
    openings: int = 0
    opened_at: float | None = None
    rests_until: float | None = None
    trial: str | None = None
    status: int | None = None

    def is_open(self, *, now: float) -> bool:
        """Say whether no call may go there: it rests, or one is trying."""
        return self.rests_until is not None and (now < self.rests_until or self.trial is not None)

    def wants_trial(self, *, now: float) -> bool:
        """Say whether a single call may go there, to try."""
        return self.rests_until is not None and now >= self.rests_until and self.trial is None
