"""Read side: rows -> values. Synchronous; asynchronous callers wrap a function whole, so that it is one trip."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from django.db.models import Q, QuerySet, Subquery

from providers import queries as providers
from providers.core.model_names import normalise
from providers.core.naming import agent_name, split_agent_name
from providers.core.types import EngineKind
from scheduler.core.agent_settings import AgentSettings
from scheduler.core.call_history import CallRecord, CallState
from scheduler.core.calls import AgentProfile
from scheduler.core.ranking.rank import ModelObject, rank_by_capabilities, rank_named
from scheduler.core.ranking.statuses import candidates_of, problem_of
from scheduler.core.types import Candidate
from scheduler.models import Agent, Call, Crew
from scheduler.ports import UnknownAgent

USUAL_WEIGHT = 1
CALL_FIELDS = tuple(field.name for field in fields(CallRecord))
CALL_TIMES = ("arrived_at", "granted_at", "started_at", "finished_at")


def model_objects() -> tuple[ModelObject, ...]:
    """List the registered models as ranking sees them."""
    return tuple(
        ModelObject(model=model.model, labels=model.labels, declared_mib=model.vram_mib, server=model.server)
        for model in providers.models()
    )


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


def calls(*, filters: Mapping[str, str], before: str = "") -> QuerySet[Call]:
    """List calls, newest first, that match every filter; `before` is the id of the call to go on after."""
    rows = Call.objects.filter(**filters)
    if before:
        last = Call.objects.filter(id=before).values("arrived_at")
        same = Q(arrived_at=Subquery(last), id__lt=before)
        rows = rows.filter(Q(arrived_at__lt=Subquery(last)) | same)
    return rows


def recent_calls(*, limit: int) -> tuple[CallRecord, ...]:
    """List the newest calls as values."""
    return tuple(call_record(row) for row in calls(filters={})[:limit])


def call_record(row: Call) -> CallRecord:
    """Read a call's row as a value; times become Unix seconds."""
    values: dict[str, Any] = {name: getattr(row, name) for name in CALL_FIELDS}
    times = {name: None if values[name] is None else values[name].timestamp() for name in CALL_TIMES}
    return CallRecord(**(values | times | {"state": CallState(row.state), "evicted": tuple(row.evicted)}))
