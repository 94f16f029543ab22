"""The quality bias: the figures of the scheduling rules, and their edges."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler.core.ranking.quality import LatencyClass, bias_for, bias_score, half_up, latency_class

BIASES = st.fractions(min_value=0, max_value=1, max_denominator=1000)

TABLE = [
    # bias, high, medium, low
    ("0.7", 70, 60, 30),
    ("0.9", 90, 20, 10),
    ("0.5", 50, 100, 50),
    ("0.3", 30, 60, 70),
    ("0", 0, 0, 100),
    ("1", 100, 0, 0),
    ("0.125", 13, 25, 88),
    ("0.005", 1, 1, 100),
    ("0.0025", 0, 1, 100),
    ("0.995", 100, 1, 1),
]


@pytest.mark.parametrize(("bias", "high", "medium", "low"), TABLE)
def test_a_bias_scores_each_latency_class(bias, high, medium, low):
    scores = {latency: bias_score(latency=latency, bias=Fraction(bias)) for latency in LatencyClass}

    assert scores == {
        LatencyClass.HIGH: high,
        LatencyClass.MEDIUM: medium,
        LatencyClass.LOW: low,
        LatencyClass.UNSET: 0,
    }


def test_halves_go_up_and_not_to_the_even_neighbour():
    """Built-in rounding gives 12 for 12.5, so that two policies a hair apart rank alike or not by parity."""
    assert [half_up(Fraction(n, 2)) for n in (1, 3, 5, 25)] == [1, 2, 3, 13]


@given(bias=BIASES)
def test_scores_lie_between_0_and_100_and_mirror_at_one_half(bias):
    scores = [bias_score(latency=latency, bias=bias) for latency in (LatencyClass.HIGH, LatencyClass.MEDIUM)]

    assert all(0 <= score <= 100 for score in scores)
    assert bias_score(latency=LatencyClass.MEDIUM, bias=bias) == bias_score(latency=LatencyClass.MEDIUM, bias=1 - bias)
    assert bias_score(latency=LatencyClass.LOW, bias=bias) == bias_score(latency=LatencyClass.HIGH, bias=1 - bias)


@pytest.mark.parametrize(
    ("biases", "capabilities", "expected"),
    [
        ({"default": "0.4"}, (), "0.4"),
        ({"default": "0.4", "reasoning": "0"}, ("reasoning",), "0"),
        ({"default": "0.9", "reasoning": "0.2", "vision": "0.6"}, ("reasoning", "vision"), "0.6"),
        ({"default": "0.9", "reasoning": "0.2"}, ("reasoning", "unknown"), "0.2"),
        ({"reasoning": "0.2"}, ("vision",), None),
        ({}, ("vision",), None),
    ],
)
def test_an_agent_takes_its_capabilities_greatest_bias_else_the_default_else_none(biases, capabilities, expected):
    chosen = bias_for(biases={key: Fraction(value) for key, value in biases.items()}, capabilities=capabilities)

    assert chosen == (None if expected is None else Fraction(expected))


@pytest.mark.parametrize("value", ["", "High", "fast"])
def test_a_latency_class_that_is_none_counts_as_no_label(value):
    assert latency_class({"latencyClass": value}) is LatencyClass.UNSET
    assert latency_class({}) is LatencyClass.UNSET
