"""Ranking, rule by rule (scheduling rules, section 1)."""

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from scheduler.core.ranking.rank import (
    ModelObject,
    Policy,
    Ranked,
    Ranking,
    Rule,
    Term,
    rank,
    rank_by_capabilities,
    rank_named,
)
from scheduler.core.ranking.selector import Selector
from scheduler.core.types import Candidate

BIG = ModelObject(
    model="qwen3:32b", labels={"latencyClass": "high", "capability/reasoning": "true"}, declared_mib=20480
)
MID = ModelObject(
    model="qwen3:14b", labels={"latencyClass": "medium", "capability/reasoning": "true"}, declared_mib=10240
)
SMALL = ModelObject(model="qwen3:8b", labels={"latencyClass": "low"}, declared_mib=6144)
FLEET = (SMALL, MID, BIG)


def labelled(**labels):
    return Selector(labels=tuple(labels.items()))


def policy(*, rules=(), **biases):
    return Policy(
        name="default/policy", rules=tuple(rules), biases={key: Fraction(value) for key, value in biases.items()}
    )


def scores(ranking):
    return [(ranked.model, ranked.score) for ranked in ranking.ranked]


def test_at_bias_0_7_the_worked_example_ranks_70_60_30():
    ranking = rank(phase="mulling", models=FLEET, policy=policy(default="0.7"))

    assert scores(ranking) == [("qwen3:32b", 70), ("qwen3:14b", 60), ("qwen3:8b", 30)]
    assert ranking.ranked[0].why == "quality bias 0.7, latencyClass high"


def test_bias_0_is_a_bias_and_not_unset():
    assert scores(rank(phase="mulling", models=FLEET, policy=policy(default="0"))) == [
        ("qwen3:8b", 100),
        ("qwen3:14b", 0),
        ("qwen3:32b", 0),
    ]


def test_without_a_policy_every_model_scores_0_and_the_smaller_goes_first():
    assert scores(rank(phase="triage", models=FLEET, policy=None)) == [
        ("qwen3:8b", 0),
        ("qwen3:14b", 0),
        ("qwen3:32b", 0),
    ]


def test_a_rule_for_another_phase_binds_nobody():
    rules = [Rule(phase="triage", require=labelled(latencyClass="low"))]

    assert len(rank(phase="mulling", models=FLEET, policy=policy(rules=rules)).ranked) == 3
    assert scores(rank(phase="triage", models=FLEET, policy=policy(rules=rules))) == [("qwen3:8b", 0)]


def test_a_prefer_block_sums_the_weights_of_its_matching_terms_and_overrides_the_bias():
    rule = Rule(
        phase="mulling",
        prefer=(
            Term(weight=40, selector=Selector(labels=(("capability/reasoning", "true"),))),
            Term(weight=30, selector=labelled(latencyClass="medium")),
        ),
    )

    ranking = rank(phase="mulling", models=FLEET, policy=policy(rules=[rule], default="0.9"))

    assert scores(ranking) == [("qwen3:14b", 70), ("qwen3:32b", 40), ("qwen3:8b", 0)]
    assert ranking.ranked[0].why == "40 for capability/reasoning=true + 30 for latencyClass=medium"
    assert ranking.ranked[2].why == "no preferred term matches"


def test_a_rule_without_a_prefer_block_leaves_the_score_to_the_bias():
    rule = Rule(phase="mulling", require=Selector(labels=(("capability/reasoning", "true"),)))

    assert scores(rank(phase="mulling", models=FLEET, policy=policy(rules=[rule], default="0.9"))) == [
        ("qwen3:32b", 90),
        ("qwen3:14b", 20),
    ]


def test_equal_scores_order_by_declared_memory_undeclared_last_then_name():
    models = [
        ModelObject(model="z", declared_mib=100),
        ModelObject(model="b"),
        ModelObject(model="a"),
        ModelObject(model="y", declared_mib=100),
        ModelObject(model="x", declared_mib=200),
    ]

    assert [name for name, _ in scores(rank(phase="mulling", models=models, policy=None))] == ["y", "z", "x", "a", "b"]


def test_two_objects_of_one_identifier_are_one_candidate_on_either_server():
    models = [
        ModelObject(model="qwen3:14b", labels={"latencyClass": "low"}, server="gpu-1"),
        ModelObject(model="qwen3:14b", labels={"latencyClass": "high"}, server="gpu-2", declared_mib=10240),
    ]

    ranking = rank(phase="mulling", models=models, policy=policy(default="0.9"))

    assert ranking.ranked == (
        Ranked(
            model="qwen3:14b",
            score=90,
            servers=frozenset({"gpu-1", "gpu-2"}),
            declared_mib=10240,
            why="quality bias 0.9, latencyClass high",
        ),
    )


def test_an_unbound_object_frees_its_identifier_from_the_bound_ones():
    models = [ModelObject(model="m", server="gpu-1"), ModelObject(model="m")]

    assert rank(phase="mulling", models=models, policy=None).ranked[0].servers is None


def test_only_objects_that_match_lend_their_server():
    models = [
        ModelObject(model="m", labels={"tier": "a"}, server="gpu-1"),
        ModelObject(model="m", labels={"tier": "b"}, server="gpu-2"),
    ]
    rule = Rule(phase="mulling", require=labelled(tier="a"))

    ranking = rank(phase="mulling", models=models, policy=policy(rules=[rule]))

    assert [ranked.candidate() for ranked in ranking.ranked] == [
        Candidate(model="m", score=0, servers=frozenset({"gpu-1"}))
    ]


def test_when_nothing_matches_the_reason_names_the_selector_and_the_policy():
    rule = Rule(phase="triage", require=labelled(latencyClass="tiny"))

    ranking = rank(phase="triage", models=FLEET, policy=policy(rules=[rule]))

    assert ranking == Ranking(
        phase="triage",
        ranked=(),
        problem="None of the 3 registered models matches latencyClass=tiny, which the policy default/policy requires "
        "for the triage phase: label a model so, or change the rule.",
    )


def test_without_any_model_the_reason_asks_for_one():
    assert rank(phase="mulling", models=(), policy=None).problem == (
        "No Model is registered, so nothing can serve the mulling phase: apply a Model first."
    )


def test_capabilities_alone_rank_the_models_that_have_them_all():
    ranked = rank_by_capabilities(models=FLEET, capabilities=("reasoning",))

    assert [(one.model, one.score) for one in ranked] == [("qwen3:14b", 0), ("qwen3:32b", 0)]
    assert rank_by_capabilities(models=FLEET, capabilities=("reasoning", "vision")) == ()


def test_a_named_model_is_its_only_candidate_bound_or_not():
    bound = ModelObject(model="m", server="gpu-1")

    assert rank_named(models=(*FLEET, bound), model="m").candidate() == Candidate(
        model="m", score=0, servers=frozenset({"gpu-1"})
    )
    assert rank_named(models=FLEET, model="unheard-of").candidate() == Candidate(model="unheard-of", score=0)


OBJECTS = st.lists(
    st.builds(
        ModelObject,
        model=st.sampled_from("abcd"),
        labels=st.dictionaries(st.just("latencyClass"), st.sampled_from(["low", "medium", "high"])),
        declared_mib=st.none() | st.integers(1, 3),
        server=st.none() | st.sampled_from(["gpu-1", "gpu-2"]),
    ),
    max_size=8,
)


@given(models=OBJECTS, bias=st.fractions(0, 1), data=st.data())
def test_the_order_of_the_objects_never_matters(models, bias, data):
    shuffled = data.draw(st.permutations(models))
    ranked = [
        rank(phase="mulling", models=given_models, policy=Policy(name="p", biases={"default": bias}))
        for given_models in (models, shuffled)
    ]

    assert scores(ranked[0]) == scores(ranked[1])
    assert [one.servers for one in ranked[0].ranked] == [one.servers for one in ranked[1].ranked]
    assert len({one.model for one in ranked[0].ranked}) == len(ranked[0].ranked)
