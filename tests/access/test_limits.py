"""What a key allows of a call: its crews, its models, its class."""

import re
from contextlib import nullcontext

import pytest

from kubemoot_web.access import Forbidden, Principal
from kubemoot_web.access.limits import capped, capped_profile
from scheduler.core.calls import AgentProfile, Call
from scheduler.core.types import Candidate, Priority

LARGE, SMALL = Candidate(model="qwen3:32b", score=90), Candidate(model="qwen3:8b", score=50)


def key(**limits: object) -> Principal:
    """Make whoever holds a key."""
    return Principal(name="robot", scopes=frozenset({"call"}), **limits)


def call(**more: object) -> Call:
    """Make a call of an agent of the crew lab."""
    return Call(**{"agent": "default/analyst", "crew": "default/lab", "candidates": (LARGE, SMALL)} | more)


def test_a_key_without_limits_changes_nothing():
    assert capped(principal=key(), call=call()) == call()


def test_a_call_says_whose_it_is_and_how_many_of_them_may_run():
    assert capped(principal=key(key="0123456789ab", max_calls=3), call=call()) == call(key="0123456789ab", key_limit=3)


@pytest.mark.parametrize(("of_key", "of_call", "taken"), [("default/lab", "", "default/lab"), (None, "", "")])
def test_what_a_crews_key_calls_by_a_models_name_takes_that_crews_turn(of_key, of_call, taken):
    """Such calls belonged to no crew: beside crews with weights they were nobody's share."""
    assert capped(principal=key(crew=of_key), call=call(crew=of_call)).crew == taken


@pytest.mark.parametrize(
    ("models", "left"),
    [
        ({"qwen3:32b", "qwen3:8b", "other"}, (LARGE, SMALL)),
        ({"qwen3:8b"}, (SMALL,)),
    ],
)
def test_candidates_are_narrowed_to_the_models_of_the_key(models, left):
    assert capped(principal=key(models=frozenset(models)), call=call()) == call(candidates=left)


def test_a_model_is_allowed_in_any_spelling():
    asked = call(candidates=(Candidate(model="library/qwen3:latest", score=1),))

    assert capped(principal=key(models=frozenset({"qwen3"})), call=asked) == asked


def test_a_model_that_is_not_allowed_is_refused_by_name():
    with pytest.raises(Forbidden, match=r"^The key robot may not use qwen3:32b; it is for mistral, qwen3:8b\.$"):
        capped(principal=key(models=frozenset({"qwen3:8b", "mistral"})), call=call(candidates=(LARGE,)))


def test_a_refusal_of_many_models_stays_a_sentence():
    many = tuple(Candidate(model=f"m{number}", score=1) for number in range(5))

    with pytest.raises(Forbidden, match="may not use m0, m1, m2 and 2 more; it is for qwen3:8b"):
        capped(principal=key(models=frozenset({"qwen3:8b"})), call=call(candidates=many))


@pytest.mark.parametrize(
    ("crew", "says"),
    [
        ("default/lab", None),
        ("team-b/lab", "The key robot calls for lab alone, not for team-b/lab."),
        ("", "The key robot calls for lab alone, and this call is for none of their agents."),
    ],
)
def test_a_key_of_some_crews_calls_for_these_alone(crew, says):
    """A call that names a model itself is no crew's: whoever limits a key to a crew does not expect it to do that."""
    principal, asked = key(crews=frozenset({"default/lab"})), call(crew=crew)

    with pytest.raises(Forbidden, match=f"^{re.escape(says)}$") if says else nullcontext():
        assert capped(principal=principal, call=asked) == asked


@pytest.mark.parametrize(
    ("ceiling", "wanted", "given"),
    [
        (Priority.INTERACTIVE, Priority.INTERACTIVE, Priority.INTERACTIVE),
        (Priority.INTERACTIVE, Priority.BACKGROUND, Priority.BACKGROUND),
        (Priority.BACKGROUND, Priority.INTERACTIVE, Priority.BACKGROUND),
        (Priority.BACKGROUND, Priority.BACKGROUND, Priority.BACKGROUND),
    ],
)
def test_a_ceiling_lowers_the_class_and_never_raises_it(ceiling, wanted, given):
    assert capped(principal=key(ceiling=ceiling), call=call(priority=wanted)).priority is given


def test_a_selected_agent_is_planned_for_with_the_models_of_the_key():
    profile = AgentProfile(
        name="default/analyst",
        crew="default/lab",
        candidates={"mulling": (LARGE, SMALL), "triage": (SMALL,), "review": ()},
        tolerance=10,
    )

    narrowed = capped_profile(principal=key(models=frozenset({"qwen3:8b"})), profile=profile)

    assert narrowed.candidates == {"mulling": (SMALL,), "triage": (SMALL,)}
