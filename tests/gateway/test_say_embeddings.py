"""Embeddings that Ollama's clients ask for, said on OpenAI's wire."""

import json

import pytest

from providers.core.types import EngineKind
from tests.gateway.reading import asked, sent

LLAMACPP, VLLM, OPENAI = EngineKind.LLAMACPP, EngineKind.VLLM, EngineKind.OPENAI


@pytest.mark.parametrize(
    ("operation", "fields", "expected"),
    [
        ("embed", {"input": "a"}, {"input": ["a"]}),
        ("embed", {"input": ["a", ""], "truncate": True, "options": {"num_ctx": 1}}, {"input": ["a", ""]}),
        ("embed", {"input": "a", "dimensions": 64}, {"input": ["a"], "dimensions": 64}),
        ("embed_old", {"prompt": "a", "dimensions": 64}, {"input": ["a"]}),
    ],
    ids=str,
)
def test_embeddings(operation, fields, expected):
    call = asked("ollama", operation, **fields)

    assert json.loads(sent(call, engine=OPENAI).body) == {"model": "qwen3:14b", "encoding_format": "float", **expected}


@pytest.mark.parametrize(
    ("engine", "context", "fields", "expected"),
    [
        (VLLM, 512, {}, {"truncate_prompt_tokens": 512, "truncation_side": "right"}),
        (VLLM, 512, {"truncate": True}, {"truncate_prompt_tokens": 512, "truncation_side": "right"}),
        (VLLM, 512, {"truncate": False}, {}),
        (VLLM, None, {}, {}),
        (OPENAI, 512, {"truncate": True}, {}),
        (LLAMACPP, 512, {}, {}),
    ],
    ids=str,
)
@pytest.mark.parametrize(("operation", "param"), [("embed", "input"), ("embed_old", "prompt")])
def test_a_text_that_is_too_long_is_cut_at_its_end(operation, param, engine, context, fields, expected):
    """Ollama cuts it unless it is told not to, and who fills a store of documents counts on that; vLLM refused it."""
    call = asked("ollama", operation, **{param: "a"}, **fields)
    request = json.loads(sent(call, engine=engine, context_length=context).body)

    assert {name: value for name, value in request.items() if name.startswith("trunc")} == expected
