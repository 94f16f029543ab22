"""Names of servers, agents and models."""

import pytest

from providers.core.model_names import normalise
from providers.core.naming import agent_name, server_name, split_agent_name, split_server_name
from providers.core.types import EngineKind

SAME_MODEL = [
    ("qwen3", "qwen3:latest", True),
    ("qwen3", "qwen3:8b", False),
    ("qwen3:8b", "qwen3:8b-q8_0", False),
    ("library/qwen3:8b", "qwen3:8b", True),
    ("registry.ollama.ai/library/qwen3:8b", "qwen3:8b", True),
    ("registry.ollama.ai/acme/tiny", "acme/tiny:latest", True),
    ("hf.co/acme/Tiny-GGUF", "hf.co/acme/Tiny-GGUF:latest", True),
    ("hf.co/acme/Tiny-GGUF:BF16", "Tiny-GGUF:BF16", False),
    ("bge-m3:latest", "bge-m3", True),
    ("qwen3:8b", "qwen3-8b", False),
    (" qwen3:8b ", "qwen3:8b", True),
]


@pytest.mark.parametrize(("left", "right", "same"), SAME_MODEL)
def test_two_spellings_of_an_ollama_model_are_one_exactly_when_the_engine_says_so(left, right, same):
    """C06: a loaded `qwen3:latest` was not recognised as the configured `qwen3`, and loaded again."""
    names = {normalise(kind=EngineKind.OLLAMA, name=name) for name in (left, right)}

    assert (len(names) == 1) is same


@pytest.mark.parametrize("kind", [EngineKind.VLLM, EngineKind.LLAMACPP, EngineKind.OPENAI])
def test_other_engines_names_stay_as_they_are(kind):
    assert normalise(kind=kind, name="library/qwen3:latest") == "library/qwen3:latest"


@pytest.mark.parametrize("name", ["gpu-1", "team-b/gpu-1"])
def test_a_server_s_name_splits_and_joins(name):
    namespace, bare = split_server_name(name)

    assert server_name(namespace=namespace, name=bare) == name


def test_agents_always_carry_their_namespace():
    assert agent_name(namespace="default", name="analyst") == "default/analyst"
    assert split_agent_name("analyst") == ("default", "analyst")
    assert split_agent_name("team-b/analyst") == ("team-b", "analyst")
