"""Engines that serve what they were started with: what vLLM and other servers of OpenAI's API say about themselves."""

import json

import pytest

from providers.core.engines import ENGINES
from providers.core.engines.base import FailureKind, HttpReply, ProbeFailure, Trouble
from providers.core.types import AvailableModel, EngineKind, LoadedCopy, Observation

VLLM, OPENAI = ENGINES[EngineKind.VLLM], ENGINES[EngineKind.OPENAI]
MISSING = HttpReply(status=404)


def ok(body):
    return HttpReply(status=200, body=json.dumps(body).encode())


WELL = HttpReply(status=200)


def served(name, *, root=None, parent=None, context=8192):
    return {"id": name, "root": root or name, "parent": parent, "max_model_len": context, "owned_by": "vllm"}


def vllm(*models, health=WELL, version=MISSING, sleeping=MISSING):
    return VLLM.parse_probe(replies=(health, ok({"data": list(models)}), version, sleeping), now=0.0)


def test_what_vllm_lists_is_in_memory_with_its_context():
    seen = vllm(served("Qwen/Qwen3-8B"), version=ok({"version": "0.11.0"}), sleeping=ok({"is_sleeping": False}))

    assert seen == Observation(
        loaded=(LoadedCopy(model="Qwen/Qwen3-8B", footprint_mib=None, context_length=8192),),
        available=(AvailableModel(model="Qwen/Qwen3-8B"),),
        version="0.11.0",
    )


def test_a_server_of_two_names_has_one_copy_and_its_words_for_sleep_are_heard(recorded):
    """Recorded from vLLM 0.32; its list of models is the same while it sleeps, and so is its health."""
    names = ("tiny", "second-name")
    models, version = (HttpReply(status=200, body=recorded(f"vllm_{name}.json")) for name in ("models", "version"))
    awake, asleep = (HttpReply(status=200, body=recorded(f"vllm_{name}.json")) for name in ("is_sleeping", "asleep"))

    assert VLLM.parse_probe(replies=(WELL, models, version, awake), now=0.0) == Observation(
        loaded=(LoadedCopy(model="tiny", footprint_mib=None, context_length=512, aliases=("second-name",)),),
        available=tuple(AvailableModel(model=name) for name in names),
        version="0.32.0",
    )
    assert isinstance(VLLM.parse_probe(replies=(WELL, models, version, asleep), now=0.0), ProbeFailure)


def test_names_of_the_same_weights_and_adapters_on_them_are_one_copy_that_is_found_under_each():
    """C18: counted apart, they would take the memory of the weights three times, and thrice the slots."""
    seen = vllm(
        served("qwen3-32b", root="Qwen/Qwen3-32B", context=32768),
        served("prod-chat", root="Qwen/Qwen3-32B", context=32768),
        served("sql-lora", root="/adapters/sql", parent="qwen3-32b", context=None),
    )

    assert seen.loaded == (
        LoadedCopy(model="qwen3-32b", footprint_mib=None, context_length=32768, aliases=("prod-chat", "sql-lora")),
    )
    assert [model.model for model in seen.available] == ["qwen3-32b", "prod-chat", "sql-lora"]


def test_other_weights_are_another_copy():
    seen = vllm(served("a"), served("b"), served("tuned", root="/adapters/t", parent="b"))

    assert [(copy.model, copy.aliases) for copy in seen.loaded] == [("a", ()), ("b", ("tuned",))]


STARTING = {
    "nothing listens yet": (HttpReply(trouble=Trouble.REFUSED), FailureKind.NO_ANSWER),
    "it lists its models and is not well": (HttpReply(status=503), FailureKind.WRONG_ANSWER),
}


@pytest.mark.parametrize("how", STARTING)
def test_a_server_that_starts_serves_nobody_though_it_lists_its_models(how):
    """C15: calls that were sent meanwhile failed."""
    health, kind = STARTING[how]

    failure = vllm(served("m"), health=health)

    assert failure.kind is kind
    assert failure.detail.startswith("GET /health")


def test_a_server_that_sleeps_serves_nobody_however_green_the_rest_is():
    """C19: to a call it would answer late, or not at all."""
    assert vllm(served("m"), sleeping=ok({"is_sleeping": True})) == ProbeFailure(
        kind=FailureKind.WRONG_ANSWER,
        detail="The engine is asleep: its model is not in the GPU. "
        "Nothing is placed here until POST /wake_up wakes it.",
    )


def test_a_server_that_says_neither_version_nor_sleep_is_alive():
    assert isinstance(vllm(served("m")), Observation)


def test_any_other_server_of_that_api_need_only_list_its_models():
    assert len(OPENAI.probe_calls()) == 1
    assert OPENAI.parse_probe(replies=(ok({"object": "list", "data": [{"id": "m"}]}),), now=0.0) == Observation(
        loaded=(LoadedCopy(model="m", footprint_mib=None),), available=(AvailableModel(model="m"),)
    )


@pytest.mark.parametrize(
    ("engine", "called"), [(VLLM, "a vLLM server"), (OPENAI, "a server with OpenAI's API")], ids=["vllm", "openai"]
)
def test_nonsense_names_the_engine_that_was_expected(engine, called):
    reply = ok({"models": []})

    failure = engine.parse_probe(replies=[reply] * len(engine.probe_calls()), now=0.0)

    assert failure.detail == (
        'GET /v1/models answered an object without "data" where an object with the list "data" of its models was '
        f"expected. Is the endpoint really {called}?"
    )
    assert engine.parse_residents(reply=reply, now=0.0) == failure


def test_none_of_them_loads_anything():
    assert (VLLM.loader, OPENAI.loader) == (None, None)


def test_every_kind_has_its_engine():
    assert set(ENGINES) == set(EngineKind)
