"""Reading files: what is accepted in which spelling, and what is said about the rest."""

import json
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubemoot_web.crds import bundle as bundles
from kubemoot_web.crds.bundle import Source, parse
from kubemoot_web.crds.errors import ImportRefused
from scheduler.core.resources import ResourceKey, ResourceWrite
from tests.crds.documents import HEAD, agent, bundle, crew, refusals, said, server, spec_of, writes

EXAMPLES = sorted((Path(__file__).parents[2] / "deploy" / "examples").glob("*.yaml"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_every_shipped_example_is_right(path):
    documents = parse([Source(file=path.name, text=path.read_text())])

    assert {"ModelServer", "Model", "Crew", "Agent", "CrewSchedulingPolicy"} <= {d.write.key.kind for d in documents}


def test_a_leading_separator_comments_and_empty_documents_are_nothing():
    text = f"---\n# a fleet\n---\n---\n{server('gpu-1')}---\n\n---\n# done\n"

    assert [write.key.name for write in writes(text)] == ["gpu-1"]


def test_kinds_may_be_mixed_and_every_write_holds_its_defaults():
    text = bundle(server("gpu-1"), crew("lab"))

    assert writes(text) == [
        ResourceWrite(
            key=ResourceKey(kind="ModelServer", namespace="default", name="gpu-1"),
            spec={
                "type": "ollama",
                "endpoint": "http://gpu-1:11434",
                "scheduling": {
                    "weight": 100,
                    "interactiveReserve": 0,
                    "callTimeoutSeconds": 600,
                    "abortsOnDisconnect": True,
                    "quarantineOnAmbiguous": False,
                    "failMode": "closed",
                },
            },
        ),
        ResourceWrite(
            key=ResourceKey(kind="Crew", namespace="default", name="lab"),
            spec={"description": "", "discussion": {"enabled": True}, "weight": 1},
        ),
    ]


def test_the_older_spelling_of_a_kind_is_read_as_the_newer():
    """C76: a `ModelProvider` of an older file was dropped without a word."""
    assert [write.key.kind for write in writes(server("gpu-1", kind="ModelProvider"))] == ["ModelServer"]
    spec = f"{HEAD}kind: Model\nmetadata: {{name: m}}\nspec: {{model: m, providerRef: gpu-1}}\n"
    assert spec_of(spec) == {"model": "m", "serverRef": "gpu-1"}


def test_json_is_read_like_yaml():
    document = {
        "apiVersion": "kubemoot.ai/v1alpha1",
        "kind": "Crew",
        "metadata": {"name": "lab"},
        "spec": {"weight": 2},
    }

    assert spec_of(json.dumps(document)) == {"description": "", "discussion": {"enabled": True}, "weight": 2}
    assert spec_of(json.dumps(document, indent=2))["weight"] == 2


def test_a_list_as_kubectl_writes_it_is_unpacked():
    items = [
        {"apiVersion": "kubemoot.ai/v1alpha1", "kind": "Crew", "metadata": {"name": name, "uid": "u", "generation": 1}}
        for name in ("a", "b")
    ]

    found = writes(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))

    assert [write.key.name for write in found] == ["a", "b"]


def test_a_json_array_holds_many_documents_and_an_error_names_the_place_in_it():
    head = {"apiVersion": "kubemoot.ai/v1alpha1", "kind": "Crew"}
    good = [{**head, "metadata": {"name": name}} for name in ("lab", "studio")]

    assert [write.key.name for write in writes(json.dumps(good))] == ["lab", "studio"]
    (problem,) = refusals(json.dumps([*good, {**head, "metadata": {"name": "UPPER"}}], indent=1))
    assert (problem.document, problem.field) == (1, "metadata.name")
    assert problem.line > 10


def test_an_unknown_field_is_refused_with_its_path_and_what_is_known():
    """C76: a mistyped field was taken without a word, and had no effect."""
    text = server("gpu-1", spec="  scheduling:\n    memoryMib: 1\n    futureField: 7\n  colour: red\n")

    assert said(text) == [
        (8, "spec.scheduling.memoryMib", "is no field of ModelServer v1alpha1; did you mean memoryMiB?"),
        (
            9,
            "spec.scheduling.futureField",
            "is no field of ModelServer v1alpha1; known here: memoryMiB, reserveMiB, weight, maxParallel, "
            "contextLength, maxConcurrent, interactiveReserve, resourceGroup, callTimeoutSeconds, abortsOnDisconnect, "
            "quarantineOnAmbiguous, failMode",
        ),
        (
            10,
            "spec.colour",
            "is no field of ModelServer v1alpha1; known here: type, endpoint, secretRef, scheduling, telemetry",
        ),
    ]
    assert said(crew("lab") + "extra: 1\n") == [
        (5, "extra", "is no field of Crew; known here: apiVersion, kind, metadata, spec, status")
    ]


def test_an_unknown_version_and_an_unknown_kind_are_named():
    """C76: `kubemoot.ai/v9` ended the whole import with a stack trace."""
    text = "apiVersion: kubemoot.ai/v9\nkind: Modelserver\nmetadata: {name: c}\n"

    assert said(text) == [
        (1, "apiVersion", 'must be kubemoot.ai/v1alpha1, not "kubemoot.ai/v9"'),
        (
            2,
            "kind",
            'is unknown: "Modelserver"; write one of ModelServer, Model, Crew, Agent, PromptModule, '
            "CrewSchedulingPolicy, MootArchetype",
        ),
    ]


def test_every_error_of_every_document_is_reported_at_once_with_its_place():
    text = f"---\n{crew('lab')}---\n{server('gpu-1', spec='  bad: 1')}\n---\n{agent('a', spec='{maxTokens: 0}')}"

    with pytest.raises(ImportRefused) as refused:
        parse([Source(file="good.yaml", text=crew("x")), Source(file="fleet.yaml", text=text)])

    assert str(refused.value).splitlines() == [
        "fleet.yaml:13: document 2, spec.bad: is no field of ModelServer v1alpha1; known here: type, endpoint, "
        "secretRef, scheduling, telemetry",
        "fleet.yaml:18: document 3, spec.maxTokens: must be 1 or more",
    ]


def test_a_missing_field_is_reported_where_it_should_stand():
    assert said(f"{HEAD}kind: Model\nmetadata:\n  labels: {{}}\n") == [
        (3, "metadata.name", "is required"),
        (1, "spec.model", "is required"),
    ]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (f"{HEAD}kind: Crew\nmetadata:\n  name: {{{{ .Values.crew }}}}\n", 4),
        (f'{HEAD}kind: Crew\nmetadata:\n  name: "{{{{ .Values.crew }}}}"\n', 4),
        (f"{{{{- if .Values.on }}}}\n{crew('lab')}{{{{- end }}}}\n", 1),
        (
            f"# {{{{ no }}}}\n{HEAD}kind: Crew\nmetadata: {{name: x}}\nspec:\n  {{{{- toYaml .Values.s }}}}\n",
            6,
        ),
        (f"{HEAD}kind: PromptModule\nmetadata: {{name: x}}\nspec:\n  content: |\n    {{{{ .Values.prompt }}}}\n", 5),
    ],
)
def test_a_helm_template_is_refused_with_render_the_chart_first(text, line):
    (problem,) = refusals(text)

    assert "render the chart first" in problem.message
    assert problem.line == line


def test_braces_in_a_prompt_are_the_prompt_s_own():
    text = f"{HEAD}kind: PromptModule\nmetadata: {{name: x}}\nspec:\n  content: |\n    Fill in {{{{ user_name }}}}.\n"

    assert spec_of(text)["content"] == "Fill in {{ user_name }}.\n"


def test_a_key_twice_is_refused_and_names_both_lines():
    assert said(f"{HEAD}kind: Crew\nmetadata: {{name: x}}\nspec:\n  weight: 1\n  weight: 2\n") == [
        (6, "", 'has the key "weight" twice in one object (first in line 5)')
    ]


def test_an_object_twice_in_one_import_is_refused():
    (problem,) = refusals(bundle(crew("lab"), crew("lab")))

    assert (problem.document, problem.line, problem.field) == (2, 8, "metadata.name")
    assert problem.message == "Crew default/lab stands in a.yaml, document 1 already: keep one"


def test_anchors_work_and_a_bomb_of_aliases_is_bounded():
    shared = f"{HEAD}kind: ModelServer\nmetadata: {{name: a}}\nspec: &s {{type: ollama, endpoint: http://a:1}}\n"
    merged = f"---\n{HEAD}kind: Crew\nmetadata: {{name: b}}\nspec: {{<<: {{weight: 3}}, description: x}}\n"
    assert writes(shared + merged)[1].spec == {"description": "x", "discussion": {"enabled": True}, "weight": 3}

    bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n" + "".join(
        f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 12)
    )
    (problem,) = refusals(bomb)
    assert "aliases counted in full" in problem.message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [" * 100_000, "is nested more than 64 levels deep"),
        ("&a [*a]", "which names nothing before it"),
        ("a: !!python/object:os.system x", "has the tag tag:yaml.org,2002:python/object:os.system"),
        ("a: !!timestamp 2026-01-01", "has the tag"),
        ("? [a]\n: b", "where a field's name belongs"),
        ("a: \x00", "holds characters that YAML does not allow"),
        ("a: [", "is no YAML"),
        ("- a", "must be an object with apiVersion, kind, metadata and spec"),
        ("just text", "must be an object with apiVersion, kind, metadata and spec"),
    ],
)
def test_text_that_is_no_document_is_refused_with_a_sentence(text, message):
    assert any(message in problem.message for problem in refusals(text))


def test_what_nobody_would_read_is_only_counted():
    fields = "".join(f"  f{number}: 1\n" for number in range(150))

    problems = refusals(f"{HEAD}kind: Crew\nmetadata: {{name: x}}\nspec:\n{fields}")

    assert len(problems) == 101
    assert (problems[-1].line, problems[-1].message) == (105, "and 50 more problems from here on")


def test_a_text_that_is_too_large_is_refused_unread(monkeypatch):
    monkeypatch.setattr(bundles, "MOST_BYTES", 10)

    assert said(crew("lab")) == [(0, "", "has 75 bytes; at most 10 are read at once")]


@given(text=st.text(max_size=200))
def test_no_text_makes_the_reader_fail_otherwise_than_by_refusing(text):
    with suppress(ImportRefused):
        parse([Source(file="a.yaml", text=text)])


@given(
    value=st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
        max_leaves=8,
    ),
    kind=st.sampled_from(
        ["ModelServer", "Model", "Crew", "Agent", "PromptModule", "CrewSchedulingPolicy", "MootArchetype"]
    ),
)
def test_no_spec_makes_the_reader_fail_otherwise_than_by_refusing(value, kind):
    text = json.dumps({"apiVersion": "kubemoot.ai/v1alpha1", "kind": kind, "metadata": {"name": "x"}, "spec": value})

    with suppress(ImportRefused):
        parse([Source(file="a.yaml", text=text)])
