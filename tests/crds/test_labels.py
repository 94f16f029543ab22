"""Labels and names: the rules of Kubernetes, and no guessing at what was meant."""

import json

import pytest

from tests.crds.documents import HEAD, model, refusals, said, writes


def test_labels_without_quotes_become_the_text_that_was_written():
    """C73: `params: 32` and `capability/tool-calling: true` reached the selector as a number and as `True`."""
    labels = (
        '    params: 32\n    contextWindow: 131072\n    capability/tool-calling: true\n    quoted: "0123"\n    e: ""\n'
    )

    (write,) = writes(model("m", "qwen3:32b", labels=labels))

    assert write.labels == {
        "family": "qwen3",
        "params": "32",
        "contextWindow": "131072",
        "capability/tool-calling": "true",
        "quoted": "0123",
        "e": "",
    }


@pytest.mark.parametrize(
    "text",
    ["1e3", "on", "off", "yes", "No", "True", "0123", "0x1F", "1_000", "12:30", "2026-11-29", ".5", ".nan", "+1"],
)
def test_a_label_that_yaml_s_versions_read_differently_is_refused_with_the_way_to_write_it(text):
    """C73: `build: 1e3` became 1000.0 and `flag: on` became true, depending on who read the file."""
    message = f'{text} without quotes means different things to different readers: quote it, "{text}"'

    assert said(model("m", "m", labels=f"    build: {text}\n")) == [(7, "metadata.labels.build", message)]
    if not set(text) & set(":+") and not text.startswith("."):
        assert writes(model("m", "m", labels=f'    build: "{text}"\n'))[0].labels["build"] == text


def test_a_label_with_a_fraction_is_refused_because_its_zeros_are_lost():
    assert said(model("m", "m", labels="    version: 1.10\n")) == [
        (7, "metadata.labels.version", "must be text: put the number 1.1 in quotes")
    ]


@pytest.mark.parametrize(
    ("value", "accepted"),
    [
        ("qwen3:8b", False),
        ("hf.co/acme/Very-Long-Model-Name-That-Goes-On-And-On-And-On-And-On-Q4_K_M", False),
        ("abcdefghijklmnopqrstuvwxyz-abcdefghijklmnopqrstuvwxyz-abcdefgh-tail", False),
        ("32B", True),
        ("", True),
        ("-x", False),
        ("größe", False),
        ("a" * 63, True),
        ("a" * 64, False),
        ("a\n", False),
    ],
)
def test_label_values_follow_the_rule_of_kubernetes_and_the_error_names_it(value, accepted):
    """C72: a model's name as a label was taken here and refused by the cluster later."""
    text = model("m", "m", labels=f"    tag: {json.dumps(value, ensure_ascii=False)}\n")

    if accepted:
        assert writes(text)[0].labels["tag"] == value
    else:
        ((line, field, message),) = said(text)
        assert (line, field) == (7, "metadata.labels.tag")
        assert message.startswith("must be at most 63 letters, digits, '-', '_' and '.'")


@pytest.mark.parametrize(
    ("key", "accepted"),
    [
        ("capability/tool-calling", True),
        ("team.example.com/owner", True),
        ("Capability/x", False),
        ("a/b/c", False),
        ("/x", False),
        ("x/", False),
        ("-x", False),
        ("a" * 64, False),
    ],
)
def test_label_keys_may_have_one_prefix_and_one_slash(key, accepted):
    text = model("m", "m", labels=f'    "{key}": "true"\n')

    if accepted:
        assert writes(text)[0].labels[key] == "true"
    else:
        assert [problem.line for problem in refusals(text)] == [7]


@pytest.mark.parametrize("name", ["GPU-1", "gpu_1", "-a", "a-", "a..b", "a" * 254, "a/b"])
def test_names_follow_the_rule_of_kubernetes(name):
    ((line, field, message),) = said(f"{HEAD}kind: Crew\nmetadata:\n  name: {name}\n")

    assert (line, field) == (4, "metadata.name")
    assert message.startswith("must be at most 253 characters of lower-case letters")
