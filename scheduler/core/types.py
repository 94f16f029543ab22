"""The values that scheduling is about. Seconds, MiB, tokens; times are Unix seconds."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple

Turn = tuple[int, float, float, str]
"""A place in line, least first: class, fair share, arrival, id."""

KEY_LIMIT = "key-limit"
"""The reason of a wait that a place would not end: the call's key holds as many tickets as it may."""


class Priority(StrEnum):
    """The class of a call. Interactive goes before background."""

    INTERACTIVE = "interactive"
    BACKGROUND = "background"


class TicketState(StrEnum):
    """What a ticket is held for: a selected agent, a load under way, a call that may run."""

    PLANNED = "planned"
    LOADING = "loading"
    ACTIVE = "active"


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A model that a call may use, with its quality score.

    `servers` None: wherever the engine has it. Otherwise the servers that the Model objects are bound to.
    """

    model: str
    score: float
    servers: frozenset[str] | None = None

    def may_run_on(self, server: str) -> bool:
        """Say whether the Model objects behind this candidate allow the server."""
        return self.servers is None or server in self.servers


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRequest:
    """A call that wants a place: its candidates, preferred first, and what limits the choice.

    `waiter` and `intent` name the request's own entries in the demand, which never count against it. `turn` is its
    place in line; without one it comes last.
    """

    agent: str
    candidates: tuple[Candidate, ...]
    tolerance: float = 10
    prompt_tokens: int | None = None
    priority: Priority = Priority.INTERACTIVE
    arrived_at: float = 0.0
    waiter: str | None = None
    intent: str | None = None
    turn: Turn | None = None

    @property
    def acceptable(self) -> tuple[Candidate, ...]:
        """List the candidates within tolerance of the preferred one (the edge included), in their order."""
        best = self.candidates[0].score
        return tuple(c for c in self.candidates if best - c.score <= self.tolerance)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ticket:
    """A reservation of a slot and memory on one server for one call.

    `asked` is the name the caller used where the copy is held under another name of the same weights.
    `call` is the call it serves; `waiter` the same call as long as its caller has not picked the ticket up; `plan` the
    plan that holds it. `action` says how it was placed, `evicted` what was unloaded for it. `key` is the client key it
    was asked for with, `key_limit` how many tickets that may hold at once. `left_at` is when its caller left, while its
    engine works on for nobody.
    """

    id: str
    server: str
    agent: str
    model: str
    state: TicketState
    started_at: float
    footprint_mib: int | None = None
    evicts: tuple[str, ...] = ()
    priority: Priority = Priority.INTERACTIVE
    crew: str = ""
    thread: str = ""
    phase: str = ""
    purpose: str = ""
    asked: str = ""
    action: str = "use"
    evicted: tuple[str, ...] = ()
    arrived_at: float = 0.0
    granted_at: float = 0.0
    call: str = ""
    waiter: str | None = None
    plan: str | None = None
    key: str = ""
    key_limit: int | None = None
    left_at: float | None = None

    def for_plan(self, *, plan: str) -> "Ticket":
        """Make the same ticket held for a selected agent instead of a call."""
        return replace(self, id=f"p-{plan}", state=TicketState.PLANNED, call="", waiter=None, plan=plan)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadUnderWay:
    """A model being brought into a server's memory, victims first. It belongs to the scheduler, not to any caller."""

    server: str
    model: str
    footprint_mib: int
    started_at: float
    evicts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiter:
    """A call that waits. `model`, `server`, `action` tell what its last decision said; `ticket` its grant, if any.

    `start_tag` is its place in weighted start-time fair queueing; `limit_at` when it stands aside; `stood_aside` the
    reason, once it did. Its id is the id of the call. `reason` is why it waits: no place, or a client key (`key`) that
    holds as many tickets as it may (`key_limit`).
    """

    id: str
    agent: str
    candidates: tuple[Candidate, ...]
    arrived_at: float
    limit_at: float
    tolerance: float = 10
    prompt_tokens: int | None = None
    priority: Priority = Priority.INTERACTIVE
    crew: str = ""
    thread: str = ""
    phase: str = ""
    purpose: str = ""
    plan: str | None = None
    start_tag: float = 0.0
    model: str = ""
    server: str | None = None
    action: str = "wait"
    eta_s: float | None = None
    ticket: str | None = None
    stood_aside: str | None = None
    reason: str = "gpu-busy"
    key: str = ""
    key_limit: int | None = None

    @property
    def is_waiting(self) -> bool:
        """Say whether it still wants a place."""
        return self.ticket is None and self.stood_aside is None

    @property
    def needs_model(self) -> bool:
        """Say whether it would use the model it waits for, if that came now: its key keeps it from no place."""
        return self.is_waiting and self.reason != KEY_LIMIT

    def request(self, *, turn: Turn | None = None) -> CallRequest:
        """Make the request that this waiter stands for, with its place in line where that matters."""
        return CallRequest(
            agent=self.agent,
            candidates=self.candidates,
            tolerance=self.tolerance,
            prompt_tokens=self.prompt_tokens,
            priority=self.priority,
            arrived_at=self.arrived_at,
            waiter=self.id,
            intent=intent_key(agent=self.agent, thread=self.thread),
            turn=turn,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Drain:
    """A server being emptied for one waiter, so that a stream of small calls cannot starve it (scheduling.md 4)."""

    model: str
    agent: str
    victims: tuple[str, ...]
    since: float
    waiter: str | None = None


NOBODY: Mapping[str, float] = MappingProxyType({})


class Demand(NamedTuple):  # not a dataclass: every decision makes some
    """Who needs a model: who waits for it, who was just selected to use it, how often it was used.

    `waiting` and `intents` map the owner (a waiter id, an intent key) to since when. `use` and `predicted` are counts
    with a half-life of ten minutes, as of now.
    """

    waiting: Mapping[str, float] = NOBODY
    intents: Mapping[str, float] = NOBODY
    use: float = 0.0
    predicted: float = 0.0
    last_used: float | None = None


def intent_key(*, agent: str, thread: str) -> str:
    """Name the intent of an agent in a thread."""
    return f"{agent}#{thread}"
