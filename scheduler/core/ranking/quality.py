"""Arithmetic of the quality bias: exact fractions, rounded half up once at the end."""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from fractions import Fraction

HALF = Fraction(1, 2)
FULL_SCORE = 100
TENT_WIDTH = 200
DEFAULT_KEY = "default"


class LatencyClass(StrEnum):
    """How slow, and so how good, a model is, as its `latencyClass` label says."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    UNSET = ""


def latency_class(labels: Mapping[str, str]) -> LatencyClass:
    """Read a model's latency class; a value that is none counts as no label."""
    try:
        return LatencyClass(labels.get("latencyClass", ""))
    except ValueError:
        return LatencyClass.UNSET


def bias_for(*, biases: Mapping[str, Fraction], capabilities: Iterable[str]) -> Fraction | None:
    """Choose an agent's bias: the greatest of its capabilities', else the default, else none. 0 is a bias."""
    own = [biases[capability] for capability in capabilities if capability in biases]
    return max(own) if own else biases.get(DEFAULT_KEY)


def bias_score(*, latency: LatencyClass, bias: Fraction) -> int:
    """Score a model by its latency class under a quality bias between 0 and 1."""
    match latency:
        case LatencyClass.HIGH:
            return half_up(bias * FULL_SCORE)
        case LatencyClass.LOW:
            return half_up((1 - bias) * FULL_SCORE)
        case LatencyClass.MEDIUM:
            return max(0, half_up(FULL_SCORE - abs(bias - HALF) * TENT_WIDTH))
        case LatencyClass.UNSET:
            return 0


def half_up(value: Fraction) -> int:
    """Round to the nearest integer, halves up (Python's `round` would take them to the even neighbour)."""
    return (value + HALF).__floor__()
