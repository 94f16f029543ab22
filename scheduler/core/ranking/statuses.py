"""What ranking finds out, as the status documents of agents, policies and crews, and back."""

from collections.abc import Mapping, Sequence
from typing import Any

from scheduler.core.ranking import reasons
from scheduler.core.ranking.rank import Ranked, Ranking
from scheduler.core.types import Candidate

RUNNING = "Running"
UNSCHEDULABLE = "Unschedulable"


def agent_status(*, rankings: Sequence[Ranking], before: Mapping[str, Any], at: str) -> dict[str, Any]:
    """Write an agent's status; a condition keeps its time while it stays what it was."""
    problem = next((ranking.problem for ranking in rankings if ranking.problem is not None), None)
    message = problem or reasons.scheduled(preferred=rankings[0].ranked[0].model)
    return {
        "phase": RUNNING if problem is None else UNSCHEDULABLE,
        "scheduling": {ranking.phase: [_entry(ranked) for ranked in ranking.ranked] for ranking in rankings},
        "conditions": _conditions(type="Scheduled", problem=problem, message=message, before=before, at=at),
    }


def policy_status(
    *, rankings: Sequence[Ranking], validation_error: str, before: Mapping[str, Any], at: str
) -> dict[str, Any]:
    """Write a policy's status: how many models each phase has, and what is wrong."""
    problem = validation_error or next((ranking.problem for ranking in rankings if ranking.problem is not None), None)
    phases = [
        {"phase": ranking.phase, "models": len(ranking.ranked), "message": ranking.problem or ""}
        for ranking in rankings
    ]
    message = problem or "Every phase has models."
    return {
        "phaseStatus": phases,
        "validationError": validation_error,
        "conditions": _conditions(type="Schedulable", problem=problem, message=message, before=before, at=at),
    }


def crew_status(*, agents: Sequence[tuple[str, str, str]]) -> dict[str, Any]:
    """Write a crew's status from its agents' names, roles and phases."""
    coordinator = next((name for name, role, _ in sorted(agents) if role == "coordinator"), None)
    phase = "Pending"
    if agents:
        phase = "Degraded" if any(phase == UNSCHEDULABLE for _, _, phase in agents) else "Ready"
    status: dict[str, Any] = {"phase": phase, "agentCount": len(agents)}
    return status if coordinator is None else {**status, "coordinatorRef": coordinator}


def candidates_of(status: Mapping[str, Any]) -> dict[str, tuple[Candidate, ...]]:
    """Read the ranked candidates per phase back from an agent's status."""
    return {
        phase: tuple(
            Candidate(
                model=entry["model"],
                score=entry["score"],
                servers=None if entry["servers"] is None else frozenset(entry["servers"]),
            )
            for entry in entries
        )
        for phase, entries in status.get("scheduling", {}).items()
    }


def problem_of(status: Mapping[str, Any]) -> str:
    """Read why an agent cannot be scheduled; nothing when it can."""
    if status.get("phase") != UNSCHEDULABLE:
        return ""
    return str(status["conditions"][0]["message"])


def _entry(ranked: Ranked) -> dict[str, Any]:
    servers = None if ranked.servers is None else sorted(ranked.servers)
    return {"model": ranked.model, "score": ranked.score, "servers": servers, "why": ranked.why}


def _conditions(
    *, type: str, problem: str | None, message: str, before: Mapping[str, Any], at: str
) -> list[dict[str, Any]]:
    status = "True" if problem is None else "False"
    earlier: Mapping[str, Any] = next(iter(before.get("conditions", ())), {})
    return [
        {
            "type": type,
            "status": status,
            "reason": "ModelsRanked" if problem is None else "FailedScheduling",
            "message": message,
            "lastTransitionTime": earlier["lastTransitionTime"] if earlier.get("status") == status else at,
        }
    ]
