"""Label selectors with the semantics of Kubernetes, to the letter.

`NotIn` and `DoesNotExist` hold when the label is absent. A selector without requirements selects everything.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Operator(StrEnum):
    """How an expression compares a label."""

    IN = "In"
    NOT_IN = "NotIn"
    EXISTS = "Exists"
    DOES_NOT_EXIST = "DoesNotExist"


@dataclass(frozen=True, slots=True, kw_only=True)
class Expression:
    """One requirement on one label."""

    key: str
    operator: Operator
    values: tuple[str, ...] = ()

    def holds(self, labels: Mapping[str, str]) -> bool:
        """Say whether labels meet this requirement."""
        match self.operator:
            case Operator.IN:
                return self.key in labels and labels[self.key] in self.values
            case Operator.NOT_IN:
                return self.key not in labels or labels[self.key] not in self.values
            case Operator.EXISTS:
                return self.key in labels
            case Operator.DOES_NOT_EXIST:
                return self.key not in labels

    def text(self) -> str:
        """Write the requirement the way kubectl does."""
        values = ",".join(self.values)
        match self.operator:
            case Operator.IN:
                return f"{self.key} in ({values})"
            case Operator.NOT_IN:
                return f"{self.key} notin ({values})"
            case Operator.EXISTS:
                return self.key
            case Operator.DOES_NOT_EXIST:
                return f"!{self.key}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Selector:
    """Requirements that must all hold. `labels` are the exact pairs of matchLabels."""

    labels: tuple[tuple[str, str], ...] = ()
    expressions: tuple[Expression, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Say whether labels meet every requirement."""
        return all(labels.get(key) == value for key, value in self.labels) and all(
            expression.holds(labels) for expression in self.expressions
        )

    def text(self) -> str:
        """Write the selector the way kubectl does; nothing for one that selects everything."""
        return ",".join((*(f"{key}={value}" for key, value in self.labels), *(e.text() for e in self.expressions)))


EVERYTHING = Selector()
