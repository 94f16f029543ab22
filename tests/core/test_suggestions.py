"""What a model's name and size suggest: labels that a person sees before they count."""

import pytest

from kubemoot_web.crds.names import check_label_value
from providers.core.suggestions import Suggestion, suggest


@pytest.mark.parametrize(
    ("model", "size_mib", "expected"),
    [
        ("qwen3:14b", 8534, ("qwen3", "14b", "medium", (), 10241)),
        ("qwen3:8b", 5120, ("qwen3", "8b", "low", (), 6144)),
        ("qwen3:30b-a3b", None, ("qwen3", "30b", "high", (), None)),
        ("qwen2.5-coder:1.5b", 986, ("qwen2.5-coder", "1.5b", "low", ("coding",), 1184)),
        ("mixtral:8x7b", None, ("mixtral", "8x7b", "high", (), None)),
        ("gpt-oss:20b", 11127, ("gpt-oss", "20b", "medium", ("reasoning",), 13353)),
        ("nomic-embed-text", 274, ("nomic-embed-text", "", "low", ("embedding",), 329)),
        ("Qwen/Qwen2.5-VL-72B-Instruct", None, ("qwen2.5-vl", "72b", "high", ("vision",), None)),
        ("Qwen3-8B-Q4_K_M", None, ("qwen3", "8b", "low", (), None)),
        ("7b-instruct", None, ("7b-instruct", "7b", "low", (), None)),
        ("hf.co/acme/Tiny-GGUF:Q4_K_M", None, ("tiny-gguf", "", "", (), None)),
        ("smollm2:135m", 271, ("smollm2", "135m", "low", (), 326)),
        ("mystery", 40_000, ("mystery", "", "high", (), 48_000)),
    ],
)
def test_a_model_is_guessed_by_its_name_first_and_by_its_size_else(model, size_mib, expected):
    family, params, latency_class, capabilities, vram_mib = expected

    assert suggest(model=model, size_mib=size_mib) == Suggestion(
        family=family, params=params, latency_class=latency_class, capabilities=capabilities, vram_mib=vram_mib
    )


@pytest.mark.parametrize("model", ["-", "a b:c", "x" * 500, "ünïcode:7b", "--_.--:latest", "/:"])
def test_suggested_labels_can_always_be_written(model):
    guessed = suggest(model=model, size_mib=None)

    assert check_label_value(guessed.family) == guessed.family
    assert check_label_value(guessed.params) == guessed.params
