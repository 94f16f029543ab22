"""Turns who calls, and what it says it needs, into a call with candidates."""

from collections.abc import Sequence
from dataclasses import dataclass

from providers.core.model_names import normalise
from providers.core.naming import agent_name, split_agent_name
from providers.core.types import EngineKind
from scheduler.core.calls import DEFAULT_PHASE, AgentProfile, Call
from scheduler.core.types import Priority
from scheduler.ports import Callers


class NothingMatches(Exception):
    """A call has no candidate at all: an error of the request, told before anything is decided."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What a caller said. Exactly one of `agent`, `model` and `capabilities` is given; `caller` is who sent it."""

    caller: str
    agent: str | None = None
    model: str | None = None
    capabilities: tuple[str, ...] = ()
    thread: str = ""
    phase: str = DEFAULT_PHASE
    purpose: str = ""
    priority: Priority = Priority.INTERACTIVE
    prompt_tokens: int | None = None
    plan: str | None = None


async def call_of(*, catalog: Callers, wanted: Wanted) -> Call:
    """Look up what may serve a call.

    Raises:
        UnknownAgent: the agent is not registered.
        NothingMatches: no model may serve the call.
    """
    if wanted.agent is not None:
        profile = await catalog.agent(name=full_name(wanted.agent))
        candidates = profile.candidates.get(wanted.phase, ())
        if not candidates:
            raise NothingMatches(profile.problem or f"{profile.name} has no candidate model for {wanted.phase}.")
        return Call(
            agent=profile.name,
            crew=profile.crew,
            candidates=candidates,
            tolerance=profile.tolerance,
            wait_limit_s=profile.wait_limit_s,
            thread=wanted.thread,
            phase=wanted.phase,
            purpose=wanted.purpose,
            priority=wanted.priority,
            prompt_tokens=wanted.prompt_tokens,
            plan=wanted.plan,
        )
    if wanted.model is not None:
        model = normalise(kind=EngineKind.OLLAMA, name=wanted.model)
        candidates = (await catalog.named(model=model),)
    else:
        candidates = await catalog.able(capabilities=wanted.capabilities)
    if not candidates:
        asked = ", ".join(wanted.capabilities)
        raise NothingMatches(
            f"No Model is labelled with all of: {asked}. Give one the labels "
            + ", ".join(f'capability/{capability}: "true"' for capability in wanted.capabilities)
            + "."
        )
    return Call(
        agent=wanted.caller,
        candidates=candidates,
        thread=wanted.thread,
        phase=wanted.phase,
        purpose=wanted.purpose,
        priority=wanted.priority,
        prompt_tokens=wanted.prompt_tokens,
    )


async def profiles(*, catalog: Callers, names: Sequence[str]) -> list[AgentProfile]:
    """Look up agents that were selected, each with a candidate to plan for.

    Raises:
        UnknownAgent: one of them is not registered.
        NothingMatches: one of them cannot be scheduled.
    """
    found = [await catalog.agent(name=full_name(name)) for name in dict.fromkeys(names)]
    for profile in found:
        if not profile.candidates.get(DEFAULT_PHASE):
            raise NothingMatches(profile.problem or f"{profile.name} has no candidate model for {DEFAULT_PHASE}.")
    return found


def full_name(name: str) -> str:
    """Give an agent's full name; a bare one means the default namespace."""
    namespace, bare = split_agent_name(name)
    return agent_name(namespace=namespace, name=bare)
