"""What the catalog answered a moment ago, for callers that ask the same hundreds of times a second."""

import time
from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from typing import Any, TypeVar

from scheduler.core.calls import AgentProfile
from scheduler.core.types import Candidate
from scheduler.ports import Callers

T = TypeVar("T")

REMEMBER_S = 1.0
MOST = 10_000


class RememberedCallers:
    """The part of the catalog that turns who calls into candidates. What changed is known within a second.

    Only answers are remembered: an agent that was just registered is found at once.
    """

    def __init__(self, *, catalog: Callers, clock: Callable[[], float] = time.monotonic) -> None:
        """Wrap a catalog."""
        self._catalog = catalog
        self._clock = clock
        self._known: dict[Hashable, tuple[float, Any]] = {}

    async def agent(self, *, name: str) -> AgentProfile:
        """Look up an agent.

        Raises:
            UnknownAgent: no such agent.
        """
        return await self._ask(("agent", name), lambda: self._catalog.agent(name=name))

    async def able(self, *, capabilities: Sequence[str]) -> tuple[Candidate, ...]:
        """Rank the models that are labelled with every capability."""
        return await self._ask(("able", *capabilities), lambda: self._catalog.able(capabilities=capabilities))

    async def named(self, *, model: str) -> Candidate:
        """Make the only candidate of a call that names its model."""
        return await self._ask(("named", model), lambda: self._catalog.named(model=model))

    async def models(self) -> frozenset[str]:
        """Name the registered models."""
        return await self._ask(("models",), self._catalog.models)

    async def agents(self) -> Mapping[str, str]:
        """Map the registered agents to their crews; '' for one of none."""
        return await self._ask(("agents",), self._catalog.agents)

    async def _ask(self, key: Hashable, question: Callable[[], Awaitable[T]]) -> T:
        now = self._clock()
        known = self._known.get(key)
        if known is not None and known[0] > now:
            answer: T = known[1]
            return answer
        answer = await question()
        if len(self._known) >= MOST:
            self._known.clear()
        self._known[key] = (now + REMEMBER_S, answer)
        return answer
