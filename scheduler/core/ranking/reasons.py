"""What people read about a ranking: why a model scores what it scores, why an agent cannot be scheduled."""

from collections.abc import Iterable
from fractions import Fraction

from scheduler.core.ranking.quality import LatencyClass

ANY_MODEL = "any model"


def no_preference() -> str:
    """Say why a candidate scores 0 where nothing tells candidates apart."""
    return "no preference is set"


def terms_matched(*, terms: Iterable[tuple[int, str]]) -> str:
    """Say which terms of a `prefer` block add up to the score."""
    parts = [f"{weight} for {selector or ANY_MODEL}" for weight, selector in terms]
    return " + ".join(parts) if parts else "no preferred term matches"


def biased(*, bias: Fraction, latency: LatencyClass) -> str:
    """Say how the quality bias led to the score."""
    if latency is LatencyClass.UNSET:
        return f"quality bias {float(bias):g}, but the model has no latencyClass of low, medium or high"
    return f"quality bias {float(bias):g}, latencyClass {latency}"


def nothing_matches(*, phase: str, policy: str, selector: str, models: int) -> str:
    """Say why an agent's phase has no candidate, and what to change."""
    if models == 0:
        return f"No Model is registered, so nothing can serve the {phase} phase: apply a Model first."
    return (
        f"None of the {models} registered models matches {selector}, which the policy {policy} requires for the "
        f"{phase} phase: label a model so, or change the rule."
        if models > 1
        else f"The one registered model does not match {selector}, which the policy {policy} requires for the "
        f"{phase} phase: label the model so, or change the rule."
    )


def scheduled(*, preferred: str) -> str:
    """Say that an agent has candidates."""
    return f"Prefers {preferred}."


def no_crew(*, crew: str) -> str:
    """Say that a policy governs a crew that does not exist."""
    return f"There is no crew {crew}: apply it, or correct spec.crewRef."


def second_policy(*, crew: str, first: str) -> str:
    """Say that another policy governs the crew already."""
    return f"The policy {first} governs the crew {crew} already; this one has no effect. Delete one of the two."
