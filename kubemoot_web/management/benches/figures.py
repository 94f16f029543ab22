"""What a bench is and what it gives: numbers, each beside its goal and beside a floor measured in the same run.

House rules: a figure without a floor says little, because the machine may be slow today; a floor says what it is.
"""

from argparse import ArgumentParser
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

Progress = Callable[[str], None]
"""Where a bench says what it is doing while it takes its time."""


class Better(StrEnum):
    """Which direction is good."""

    LOWER = "lower"
    HIGHER = "higher"


@dataclass(frozen=True, slots=True, kw_only=True)
class Floor:
    """The least the same thing could take on this machine in this run: what was done instead, and its number."""

    what: str
    value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One measured number: of which case, which measure (`median`, `p99`, `per second`, `ratio`), in which unit.

    `goal` None: nothing is promised, the number is for orientation. `floor` None: a count or a ratio has none. `value`
    None: it could not be measured here, and the measure says why.
    """

    case: str
    measure: str
    value: float | None
    unit: str
    goal: float | None = None
    better: Better = Better.LOWER
    floor: Floor | None = None

    @property
    def is_reached(self) -> bool | None:
        """Say whether the goal was reached in this run; None without a goal, or a number."""
        if self.goal is None or self.value is None:
            return None
        return self.value <= self.goal if self.better is Better.LOWER else self.value >= self.goal


class Bench(Protocol):
    """One subject that can be measured: a subcommand of `manage.py bench`."""

    name: str
    help: str

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the subcommand's own arguments."""
        ...

    def run(self, *, options: Mapping[str, Any], progress: Progress) -> Sequence[Figure]:
        """Measure."""
        ...


def percentile(samples: Iterable[float], share: float) -> float:
    """Give the sample that this share of all samples does not exceed.

    Raises:
        ValueError: there are no samples.
    """
    ordered = sorted(samples)
    if not ordered:
        raise ValueError("There is nothing to take a percentile of.")
    return ordered[min(int(len(ordered) * share), len(ordered) - 1)]


def spread(
    *,
    case: str,
    samples: Sequence[float],
    unit: str,
    floor: Floor,
    median_goal: float | None = None,
    p99_goal: float | None = None,
) -> tuple[Figure, Figure]:
    """Make the two figures of many samples: their median and their 99th percentile."""
    return (
        Figure(case=case, measure="median", value=percentile(samples, 0.5), unit=unit, goal=median_goal, floor=floor),
        Figure(case=case, measure="p99", value=percentile(samples, 0.99), unit=unit, goal=p99_goal, floor=floor),
    )
