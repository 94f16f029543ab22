import pytest

from providers.core.footprint import estimate_mib
from providers.simulator.catalog import parse_models


def test_the_worked_examples_models_have_their_sizes():
    models = parse_models("qwen3:8b, qwen3:14b,qwen3:32b")

    assert {name: model.footprint_mib for name, model in models.items()} == {
        "qwen3:8b": 6144,
        "qwen3:14b": 10240,
        "qwen3:32b": 20480,
    }


def test_the_estimate_from_the_disk_meets_what_a_model_takes():
    models = parse_models("qwen3:8b,qwen3:14b,qwen3:32b,gpt-oss:20b,nomic-embed-text,odd:1b=1001")

    assert all(abs(estimate_mib(size_mib=m.size_mib) - m.footprint_mib) <= 1 for m in models.values())


def test_a_second_tag_shares_the_weights_of_the_first():
    models = parse_models("other:7b=5000,prod=other:7b")

    assert models["prod"].digest == models["other:7b"].digest
    assert (models["prod"].footprint_mib, models["prod"].listed_name) == (5000, "prod:latest")


@pytest.mark.parametrize("text", ["never-heard-of:1b", "prod=qwen3:8b", "qwen3:8b=big"])
def test_a_size_that_nobody_knows_is_refused(text):
    with pytest.raises(ValueError, match=text.partition("=")[0]):
        parse_models(text)
