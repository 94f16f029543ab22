"""Selectors mean what they mean in Kubernetes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler.core.ranking.selector import EVERYTHING, Expression, Operator, Selector

LABELS = {"family": "qwen3", "params": "32", "capability/tool-calling": "true", "empty": ""}
KEYS = st.sampled_from(["family", "params", "capability/vision", "empty"])
VALUES = st.sampled_from(["qwen3", "32", "true", ""])
LABEL_SETS = st.dictionaries(KEYS, VALUES)


def expression(key, operator, *values):
    return Expression(key=key, operator=Operator(operator), values=values)


@pytest.mark.parametrize(
    ("requirement", "holds"),
    [
        (expression("family", "In", "qwen3", "llama"), True),
        (expression("family", "In", "llama"), False),
        (expression("absent", "In", "qwen3"), False),
        (expression("absent", "In", ""), False),
        (expression("family", "NotIn", "llama"), True),
        (expression("family", "NotIn", "qwen3"), False),
        (expression("absent", "NotIn", "qwen3"), True),
        (expression("empty", "Exists"), True),
        (expression("absent", "Exists"), False),
        (expression("absent", "DoesNotExist"), True),
        (expression("empty", "DoesNotExist"), False),
    ],
)
def test_an_expression_holds_as_kubernetes_says(requirement, holds):
    assert requirement.holds(LABELS) is holds


def test_every_requirement_must_hold():
    selector = Selector(labels=(("family", "qwen3"),), expressions=(expression("params", "In", "32"),))

    assert selector.matches(LABELS)
    assert not selector.matches({**LABELS, "params": "14"})
    assert not selector.matches({**LABELS, "family": "llama"})


def test_a_label_written_as_number_or_boolean_matches_its_text():
    """C73: `params: 32` was stored as a number, and no selector ever matched it."""
    assert Selector(labels=(("params", "32"), ("capability/tool-calling", "true"))).matches(LABELS)


@given(labels=LABEL_SETS)
def test_the_empty_selector_selects_everything(labels):
    assert EVERYTHING.matches(labels)


@given(labels=LABEL_SETS, key=KEYS, values=st.lists(VALUES, min_size=1))
def test_each_operator_is_the_exact_opposite_of_its_counterpart(labels, key, values):
    for one, other in (("In", "NotIn"), ("Exists", "DoesNotExist")):
        given_values = values if one == "In" else ()

        assert expression(key, one, *given_values).holds(labels) is not expression(key, other, *given_values).holds(
            labels
        )


def test_a_selector_is_written_the_way_kubectl_does():
    selector = Selector(
        labels=(("family", "qwen3"),),
        expressions=(
            expression("params", "In", "14", "32"),
            expression("tier", "NotIn", "slow"),
            expression("gpu", "Exists"),
            expression("old", "DoesNotExist"),
        ),
    )

    assert selector.text() == "family=qwen3,params in (14,32),tier notin (slow),gpu,!old"
