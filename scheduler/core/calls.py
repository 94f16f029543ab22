"""A call as it comes in: who asks, what may serve it, how long it waits."""

from collections.abc import Mapping
from dataclasses import dataclass

from scheduler.core.types import Candidate, Priority, Waiter

DEFAULT_PHASE = "mulling"


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """What a caller wants. `plan` names the plan whose held place it takes, if there is one.

    `key` is the client key it came with, `key_limit` how many calls that may have running at once; None: any number.
    """

    agent: str
    candidates: tuple[Candidate, ...]
    tolerance: float = 10
    crew: str = ""
    thread: str = ""
    phase: str = DEFAULT_PHASE
    purpose: str = ""
    priority: Priority = Priority.INTERACTIVE
    prompt_tokens: int | None = None
    wait_limit_s: float | None = None
    plan: str | None = None
    key: str = ""
    key_limit: int | None = None

    def waiter(self, *, id: str, now: float, default_limit_s: float) -> Waiter:
        """Make the waiter that stands for this call in the line."""
        limit_s = default_limit_s if self.wait_limit_s is None else self.wait_limit_s
        return Waiter(
            id=id,
            agent=self.agent,
            candidates=self.candidates,
            arrived_at=now,
            limit_at=now + limit_s,
            tolerance=self.tolerance,
            prompt_tokens=self.prompt_tokens,
            priority=self.priority,
            crew=self.crew,
            thread=self.thread,
            phase=self.phase,
            purpose=self.purpose,
            plan=self.plan,
            key=self.key,
            key_limit=self.key_limit,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentProfile:
    """What the catalog knows of an agent that calls: its crew, its candidates per phase, its own limits.

    `problem` says why it cannot be scheduled, when it cannot.
    """

    name: str
    crew: str
    candidates: Mapping[str, tuple[Candidate, ...]]
    tolerance: float
    wait_limit_s: float | None = None
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentOffer:
    """An agent that calls may name: its crew, '' for none, and the models that answer for it in any phase."""

    name: str
    crew: str
    models: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentUse:
    """An agent that may use a model in one phase: as its `place`-th choice (1 is preferred), with score and why."""

    agent: str
    crew: str
    phase: str
    place: int
    score: float
    why: str
