"""The stored document of a policy as values for ranking."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from scheduler.core.ranking.rank import Policy, Rule, Term
from scheduler.core.ranking.selector import Expression, Operator, Selector


def policy_of(*, name: str, spec: Mapping[str, Any]) -> Policy:
    """Read a policy from its checked document."""
    return Policy(
        name=name,
        rules=tuple(_rule(rule) for rule in spec.get("rules", ())),
        biases={capability: Fraction(bias) for capability, bias in spec.get("qualityBias", {}).items()},
    )


def selector_of(spec: Mapping[str, Any]) -> Selector:
    """Read a label selector."""
    return Selector(
        labels=tuple(sorted(spec.get("matchLabels", {}).items())),
        expressions=tuple(
            Expression(
                key=expression["key"],
                operator=Operator(expression["operator"]),
                values=tuple(expression.get("values", ())),
            )
            for expression in spec.get("matchExpressions", ())
        ),
    )


def _rule(spec: Mapping[str, Any]) -> Rule:
    require = spec.get("require")
    return Rule(
        phase=spec["phase"],
        require=None if require is None else selector_of(require),
        prefer=tuple(
            Term(weight=term["weight"], selector=selector_of(term["selector"])) for term in spec.get("prefer", ())
        ),
    )
