"""CrewSchedulingPolicy: which models the agents of a crew may use, and which they prefer."""

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from kubemoot_web.crds.names import Capability, LabelKey, LabelValue, Reference
from kubemoot_web.crds.scalars import QualityText, to_whole
from kubemoot_web.crds.schemas.base import Schema


class MatchExpression(Schema):
    """One requirement on one label."""

    key: LabelKey
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist"]
    values: list[LabelValue] = Field(default_factory=list)

    @model_validator(mode="after")
    def _values_suit_the_operator(self) -> Self:
        needs_values = self.operator in ("In", "NotIn")
        if needs_values and not self.values:
            raise ValueError(f"has the operator {self.operator}, which needs at least one entry in values")
        if not needs_values and self.values:
            raise ValueError(f"has the operator {self.operator}, which takes no values: leave them out")
        return self


class LabelSelector(Schema):
    """Requirements that must all hold; an empty selector selects every model."""

    match_labels: dict[LabelKey, LabelValue] = Field(default_factory=dict)
    match_expressions: list[MatchExpression] = Field(default_factory=list)


class PreferTerm(Schema):
    """Models that match earn the weight."""

    weight: Annotated[int, Field(ge=1, le=100), BeforeValidator(to_whole)]
    selector: LabelSelector


class PolicyRule(Schema):
    """What holds in one phase: `require` says which models are candidates, `prefer` scores them."""

    phase: Literal["mulling", "triage"]
    require: LabelSelector | None = None
    prefer: list[PreferTerm] = Field(default_factory=list)


def without_unset(biases: dict[str, str | None]) -> dict[str, str]:
    """Leave out the capabilities whose bias is empty: empty means unset."""
    return {capability: bias for capability, bias in biases.items() if bias is not None}


Biases = Annotated[dict[Capability, QualityText], AfterValidator(without_unset)]


class CrewSchedulingPolicySpec(Schema):
    """The policy of one crew."""

    crew_ref: Reference
    archetype_ref: Reference = "consent-3"
    quality_bias: Biases = Field(default_factory=dict)
    rules: list[PolicyRule] = Field(default_factory=list)

    @model_validator(mode="after")
    def _one_rule_per_phase(self) -> Self:
        phases = [rule.phase for rule in self.rules]
        twice = next((phase for phase in phases if phases.count(phase) > 1), None)
        if twice is not None:
            raise ValueError(f"has two rules for the phase {twice}: make one of them")
        return self
