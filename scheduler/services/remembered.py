"""What the catalog answered a moment ago, for callers that ask the same hundreds of times a second."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from scheduler.core.calls import AgentOffer, AgentProfile
from scheduler.core.types import Candidate
from scheduler.ports import Callers

T = TypeVar("T")

REMEMBER_S = 1.0
RENEW_S = 0.75
"""An answer of this age that is used is asked for again meanwhile, so that nobody waits who calls all the time."""
MOST = 10_000


@dataclass(frozen=True, slots=True)
class _Known:
    """An answer, and when it was asked for."""

    answer: Any
    asked_at: float


class RememberedCallers:
    """The part of the catalog that turns who calls into candidates. What changed is known within a second.

    Only answers are remembered: an agent that was just registered is found at once. One object belongs to one event
    loop.
    """

    def __init__(self, *, catalog: Callers, clock: Callable[[], float] = time.monotonic) -> None:
        """Wrap a catalog."""
        self._catalog = catalog
        self._clock = clock
        self._known: dict[Hashable, _Known] = {}
        self._asking: dict[Hashable, asyncio.Task[Any]] = {}

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

    async def agents(self) -> Sequence[AgentOffer]:
        """List the registered agents."""
        return await self._ask(("agents",), self._catalog.agents)

    async def _ask(self, key: Hashable, question: Callable[[], Awaitable[T]]) -> T:
        known = self._known.get(key)
        age_s = REMEMBER_S if known is None else self._clock() - known.asked_at
        if known is not None and age_s < REMEMBER_S:
            if age_s >= RENEW_S and key not in self._asking:
                self._begin(key, question)
            answer: T = known.answer
            return answer
        others = self._asking.get(key)
        if others is not None:
            # Whoever leaves must not end the question of the others. That they heard a no is no answer for somebody
            # who came later: what is asked for may have been registered between the two.
            await asyncio.wait({others})
            if not others.cancelled() and others.exception() is None:
                answer = others.result()
                return answer
        return await asyncio.shield(self._begin(key, question))

    def _begin(self, key: Hashable, question: Callable[[], Awaitable[T]]) -> "asyncio.Task[T]":
        asking = asyncio.get_running_loop().create_task(self._answered(key, question))
        self._asking[key] = asking
        asking.add_done_callback(lambda done: self._ended(key, done))
        return asking

    async def _answered(self, key: Hashable, question: Callable[[], Awaitable[T]]) -> T:
        asked_at = self._clock()  # a slow answer is as old as its question
        try:
            answer = await question()
        except BaseException:
            self._known.pop(key, None)
            raise
        if len(self._known) >= MOST:
            self._known.clear()
        self._known[key] = _Known(answer, asked_at)
        return answer

    def _ended(self, key: Hashable, asking: "asyncio.Task[Any]") -> None:
        if self._asking.get(key) is asking:
            del self._asking[key]
        if not asking.cancelled():
            asking.exception()  # nobody may be waiting for it, and then nobody is to hear of it
