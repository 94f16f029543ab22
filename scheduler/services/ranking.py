"""Ranks models for agents whenever something that ranking rests on changes, and stores the result with its reasons."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from providers.core.naming import agent_name
from providers.models import Resource
from scheduler.core.ranking import reasons
from scheduler.core.ranking.policy_spec import policy_of
from scheduler.core.ranking.rank import PHASES, ModelObject, Policy, Ranking, rank
from scheduler.core.ranking.statuses import agent_status, crew_status, policy_status
from scheduler.core.resources import ResourceKey
from scheduler.models import Agent, Crew, CrewSchedulingPolicy
from scheduler.queries import model_objects

RANKED_BY = frozenset({"Agent", "Model", "ModelServer", "Crew", "CrewSchedulingPolicy"})

RankFor = Callable[[Policy | None, tuple[str, ...]], tuple[Ranking, ...]]


def rank_touched(*, touched: Iterable[ResourceKey], now: float) -> int:
    """Rank anew, inside the caller's transaction, if what it touched bears on ranking at all."""
    return rank_stored(now=now) if any(key.kind in RANKED_BY for key in touched) else 0


def rank_stored(*, now: float) -> int:
    """Rank for every stored agent inside the caller's transaction; say how many agents' results changed.

    All of them: agents of one policy and the same capabilities share one ranking, so that a thousand agents cost
    little more than their reading, and no change has to know whom it affects.
    """
    at = datetime.fromtimestamp(now, tz=UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    rank_for = _ranker(model_objects())
    crews = {agent_name(namespace=crew.namespace, name=crew.name): crew for crew in Crew.objects.all()}
    governing = _policies(crews=crews, rank_for=rank_for, at=at)
    changed = 0
    members: dict[str, list[tuple[str, str, str]]] = {crew: [] for crew in crews}
    for agent in Agent.objects.all():
        crew = agent_name(namespace=agent.namespace, name=agent.crew) if agent.crew else ""
        rankings = rank_for(governing.get(crew), tuple(agent.spec["capabilities"]))
        changed += _store(agent, agent_status(rankings=rankings, before=agent.status, at=at))
        if crew in members:
            members[crew].append((agent.name, agent.spec["discussRole"], agent.status["phase"]))
    for name, crew_row in crews.items():
        _store(crew_row, crew_status(agents=members[name]))
    return changed


@dataclass(frozen=True, slots=True)
class _Remembered:
    """Rankings already made, by policy and capabilities."""

    models: tuple[ModelObject, ...]
    made: dict[tuple[str | None, frozenset[str]], tuple[Ranking, ...]]

    def __call__(self, policy: Policy | None, capabilities: tuple[str, ...]) -> tuple[Ranking, ...]:
        """Rank every phase, or give what was ranked for the same question."""
        question = (None if policy is None else policy.name, frozenset(capabilities))
        if question not in self.made:
            self.made[question] = tuple(
                rank(phase=phase, models=self.models, policy=policy, capabilities=capabilities) for phase in PHASES
            )
        return self.made[question]


def _ranker(models: tuple[ModelObject, ...]) -> RankFor:
    return _Remembered(models=models, made={})


def _policies(*, crews: Mapping[str, Crew], rank_for: RankFor, at: str) -> dict[str, Policy]:
    """Find the policy that governs each crew, the first by name, and write down what is wrong with the others."""
    governing: dict[str, Policy] = {}
    for row in CrewSchedulingPolicy.objects.all():
        policy = policy_of(name=agent_name(namespace=row.namespace, name=row.name), spec=row.spec)
        error = ""
        if row.crew in governing:
            error = reasons.second_policy(crew=row.crew, first=governing[row.crew].name)
        elif row.crew not in crews:
            error = reasons.no_crew(crew=row.crew)
        governing.setdefault(row.crew, policy)
        _store(row, policy_status(rankings=rank_for(policy, ()), validation_error=error, before=row.status, at=at))
    return governing


def _store(row: Resource, status: dict[str, Any]) -> bool:
    """Store a status where it differs; the resource version counts what people change, not this."""
    if row.status == status:
        return False
    row.status = status
    row.save(update_fields=["status"])
    return True
