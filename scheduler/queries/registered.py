"""What people registered: agents, crews and models, as the core reads them."""

from collections.abc import Sequence
from typing import Any

from providers import queries as providers
from providers.core.model_names import normalise
from providers.core.naming import agent_name, split_agent_name
from providers.core.types import EngineKind
from scheduler.core.agent_settings import AgentSettings
from scheduler.core.calls import AgentOffer, AgentProfile, AgentUse
from scheduler.core.ranking.rank import ModelObject, rank_by_capabilities, rank_named
from scheduler.core.ranking.statuses import candidates_of, problem_of
from scheduler.core.types import Candidate
from scheduler.models import Agent, Crew
from scheduler.ports import UnknownAgent

USUAL_WEIGHT = 1


def model_objects() -> tuple[ModelObject, ...]:
    """List the registered models as ranking sees them."""
    return tuple(
        ModelObject(model=model.model, labels=model.labels, declared_mib=model.vram_mib, server=model.server)
        for model in providers.models()
    )


def model_names() -> frozenset[str]:
    """Name the registered models."""
    return frozenset(model.model for model in providers.models())


def agent_profile(name: str) -> AgentProfile:
    """Look up what a call of an agent needs: its crew, ranked candidates and limits.

    Raises:
        UnknownAgent: no such agent.
    """
    agent = agent_row(name)
    env = {variable["name"]: variable["value"] for variable in agent.spec["deployment"]["env"]}
    settings = AgentSettings.of(env)
    return AgentProfile(
        name=agent_name(namespace=agent.namespace, name=agent.name),
        crew=agent_name(namespace=agent.namespace, name=agent.crew) if agent.crew else "",
        candidates=candidates_of(agent.status),
        tolerance=settings.tolerance,
        wait_limit_s=settings.wait_limit_s,
        problem=problem_of(agent.status),
    )


def agent_ranking(name: str) -> dict[str, Any]:
    """Give an agent's stored ranking with its reasons, as its status shows it.

    Raises:
        UnknownAgent: no such agent.
    """
    return dict(agent_row(name).status)


def agent_row(name: str) -> Agent:
    """Look up an agent's row; a bare name is one of the default namespace.

    Raises:
        UnknownAgent: no such agent.
    """
    namespace, bare = split_agent_name(name)
    agent = Agent.objects.filter(namespace=namespace, name=bare).first()
    if agent is None:
        raise UnknownAgent(agent_name(namespace=namespace, name=bare))
    return agent


def agents_using(*, model: str) -> tuple[AgentUse, ...]:
    """List the agents whose ranking names a model, by name and phase."""
    return tuple(
        AgentUse(
            agent=agent_name(namespace=namespace, name=name),
            crew=agent_name(namespace=namespace, name=crew) if crew else "",
            phase=phase,
            place=place,
            score=entry["score"],
            why=entry["why"],
        )
        for namespace, name, crew, status in Agent.objects.values_list("namespace", "name", "crew", "status")
        for phase, entries in sorted(status.get("scheduling", {}).items())
        for place, entry in enumerate(entries, start=1)
        if entry["model"] == model
    )


def users_by_model() -> dict[str, int]:
    """Count for each model the agents whose ranking names it."""
    counts: dict[str, int] = {}
    for status in Agent.objects.values_list("status", flat=True):
        named = {entry["model"] for entries in status.get("scheduling", {}).values() for entry in entries}
        for model in named:
            counts[model] = counts.get(model, 0) + 1
    return counts


def agent_and_crew_names() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """List the names of all agents, and of all crews."""
    return tuple(
        tuple(agent_name(namespace=space, name=name) for space, name in table.objects.values_list("namespace", "name"))
        for table in (Agent, Crew)
    )  # type: ignore[return-value] # two tables, two tuples


def agent_offers() -> tuple[AgentOffer, ...]:
    """List the registered agents with the models of their rankings."""
    return tuple(
        AgentOffer(
            name=agent_name(namespace=space, name=name),
            crew=agent_name(namespace=space, name=crew) if crew else "",
            models=frozenset(one.model for ranked in candidates_of(status).values() for one in ranked),
        )
        for space, name, crew, status in Agent.objects.values_list("namespace", "name", "crew", "status")
    )


def able_candidates(capabilities: Sequence[str]) -> tuple[Candidate, ...]:
    """Rank the models that are labelled with every capability."""
    return tuple(
        ranked.candidate() for ranked in rank_by_capabilities(models=model_objects(), capabilities=capabilities)
    )


def named_candidate(model: str) -> Candidate:
    """Make the only candidate of a call that names its model, in any spelling."""
    models = model_objects()
    spelled = model.strip()
    known = any(one.model == spelled for one in models)
    name = spelled if known else normalise(kind=EngineKind.OLLAMA, name=model)
    return rank_named(models=models, model=name).candidate()


def crew_weights() -> dict[str, float]:
    """Map crews to their fair share; empty unless an operator gave any crew one of its own."""
    rows = Crew.objects.values_list("namespace", "name", "spec")
    weights = {agent_name(namespace=namespace, name=name): spec["weight"] for namespace, name, spec in rows}
    return weights if any(weight != USUAL_WEIGHT for weight in weights.values()) else {}
