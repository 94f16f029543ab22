"""The documents of the ledger and the changes one may ask of it: values only.

House rules: every document is a frozen value; every change is checked against the stored documents in one atomic step;
a refused change says why and changes nothing.
"""

from dataclasses import dataclass, field, replace
from enum import StrEnum

from providers.core.specs import ResourceGroup
from scheduler.core.gate import Admission, Circuit, FailMode, QuarantineCause
from scheduler.core.resident import Resident
from scheduler.core.types import Drain, LoadUnderWay, Ticket, Waiter


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerConfig:
    """What an operator said about a server (`ModelServer.spec`), as far as scheduling needs it.

    `aborts_on_disconnect` False: the engine works on when a client leaves. `quarantine_on_ambiguous`: it is taken out
    when nobody knows whether its engine still works on a call.
    """

    name: str
    kind: str
    endpoint: str
    weight: float = 100
    total_mib: int | None = None
    reserve_mib: int | None = None
    slots: int = 1
    max_concurrent: int | None = None
    interactive_reserve: int = 0
    resource_group: ResourceGroup | None = None
    context_length: int | None = None
    can_load: bool = True
    call_timeout_s: float = 600.0
    aborts_on_disconnect: bool = True
    quarantine_on_ambiguous: bool = False
    fail_mode: FailMode = FailMode.CLOSED
    secret: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSeen:
    """What probes and loads found on a server. `models` None: it did not say what it has on disk.

    `observed` are the footprints of models that were once seen in its memory, `estimated` those of what lies on its
    disk, by its size. MiB. `addresses` is where its endpoint's host leads, as far as that was looked up.
    """

    phase: str = "pending"
    ready: bool = False
    since: float = 0.0
    detail: str = ""
    residents: tuple[Resident, ...] = ()
    models: tuple[str, ...] | None = None
    observed: dict[str, int] = field(default_factory=dict)
    estimated: dict[str, int] = field(default_factory=dict)
    version: str | None = None
    probed_at: float | None = None
    addresses: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerLearned:
    """What calls and loads taught about a server: moving averages, which models' loads must rest until when, whether
    calls must, and when a call ended well last.
    """

    load_mib_per_s: float | None = None
    call_s: float | None = None
    success_rate: float | None = None
    blocked_until: dict[str, float] = field(default_factory=dict)
    failures: dict[str, int] = field(default_factory=dict)
    load_problem: str = ""
    circuit: Circuit = field(default_factory=Circuit)
    answered_at: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerRecord:
    """All that the ledger holds of a server itself."""

    config: ServerConfig
    seen: ServerSeen = ServerSeen()
    learned: ServerLearned = ServerLearned()
    admission: Admission = field(default_factory=Admission)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A selected agent's held place. `ticket` None: nothing could be held, its intent stands instead.

    `trace` is the decision that chose the place, JSON: it becomes that of the call that takes the place.
    """

    id: str
    agent: str
    thread: str
    crew: str = ""
    created_at: float = 0.0
    ticket: str | None = None
    trace: str = ""

    def with_ticket(self, ticket: str, *, trace: str) -> "Plan":
        """Make the same plan holding a ticket, by this decision."""
        return replace(self, ticket=ticket, trace=trace)


@dataclass(frozen=True, slots=True, kw_only=True)
class Intent:
    """A selected agent that will call within seconds, on each of its acceptable models."""

    agent: str
    thread: str
    models: tuple[str, ...]
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """How often something was used: a count that halves, as of `at`."""

    count: float
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class GrantChange:
    """Give a ticket: to a waiter, to a plan, or to a call that never had to wait (delivered at once).

    `load` starts a load with this ticket (its victims in `load.evicts`). `replaces` is a planned ticket given back in
    the same step. `plan` is written with it when the ticket is held for a selected agent. `trace` is the decision as
    people read it, JSON; it goes to the journal and nowhere else. Where a place is held it stands on the plan instead.
    """

    ticket: Ticket
    load: LoadUnderWay | None = None
    replaces: str | None = None
    plan: Plan | None = None
    trace: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitChange:
    """Write down what a waiter waits for now."""

    waiter: Waiter
    trace: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DrainChange:
    """Begin a drain, or end one (`drain` None)."""

    server: str
    drain: Drain | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StandAsideChange:
    """End a wait without a ticket. The waiter's document stays, with the reason, until its caller read it."""

    waiter: str
    reason: str
    model: str
    trace: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftChange:
    """Note that the caller of a held ticket has left while its engine works on; the place stays taken."""

    ticket: str


Change = GrantChange | WaitChange | DrainChange | StandAsideChange | LeftChange


class Refusal(StrEnum):
    """Why the ledger refused a change: the fact that no longer held."""

    SERVER_GONE = "server-gone"
    SERVER_CLOSED = "server-closed"
    NO_COPY = "no-copy"
    COPY_EXISTS = "copy-exists"
    NO_SLOT = "no-slot"
    CAP_REACHED = "cap-reached"
    GROUP_FULL = "group-full"
    NO_MEMORY = "no-memory"
    VICTIM_BUSY = "victim-busy"
    DRAINING = "draining"
    WAITER_GONE = "waiter-gone"
    TICKET_GONE = "ticket-gone"
    PLAN_GONE = "plan-gone"
    KEY_LIMIT = "key-limit"


@dataclass(frozen=True, slots=True, kw_only=True)
class Committed:
    """What became of a commit: the version after it, and for each change None or why it was refused, in order."""

    version: int
    results: tuple[Refusal | None, ...]

    @property
    def refused(self) -> bool:
        """Say whether any change was refused."""
        return any(result is not None for result in self.results)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """How a wait ended: its ticket, or the reason it stood aside."""

    ticket: Ticket | None = None
    reason: str | None = None
    model: str = ""
    waited_s: float = 0.0
    evicted: tuple[str, ...] = ()


class CallEnd(StrEnum):
    """How a call ended at the engine.

    `refused` is the engine's no to what the caller asked, `cancelled` a caller that left, `unsent` a place given back
    because its server was taken out meanwhile: none says anything bad about the server. `truncated` is an answer
    without its end.
    """

    OK = "ok"
    ERROR = "error"
    REFUSED = "refused"
    TRUNCATED = "truncated"
    CANCELLED = "cancelled"
    UNSENT = "unsent"


class Lesson(StrEnum):
    """What a call's end teaches about its server."""

    WELL = "well"
    BLAMED = "blamed"
    NEITHER = "neither"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a call ended, as its caller tells it. None: it did not say. `status` is the engine's, over HTTP.

    `ambiguity`: nobody knows whether the engine still works on it, and why.
    """

    ok: bool
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    end: CallEnd | None = None
    status: int | None = None
    first_byte_at: float | None = None
    ambiguity: QuarantineCause | None = None

    @property
    def lesson(self) -> Lesson:
        """Say what the end means for the server: a call that went well, one that it failed, or neither."""
        if self.ok:
            return Lesson.WELL
        is_blamed = self.end in (None, CallEnd.ERROR, CallEnd.TRUNCATED)
        return Lesson.BLAMED if is_blamed else Lesson.NEITHER


@dataclass(frozen=True, slots=True, kw_only=True)
class Reaped:
    """What one pass over the leases found: how much lapsed, and the loads that nobody drives."""

    tickets: int = 0
    waiters: int = 0
    plans: int = 0
    intents: int = 0
    undriven: tuple[LoadUnderWay, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalEntry:
    """One committed change: its id in the stream, its version, when, and what happened (plain values)."""

    id: str
    version: int
    at: float
    events: tuple[dict[str, object], ...]
