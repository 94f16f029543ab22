"""Reading files: what is accepted in which spelling, and what is said about the rest."""

import json
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubemoot_web.crds import bundle as bundles
from kubemoot_web.crds.bundle import Source, parse
from kubemoot_web.crds.errors import ImportProblem, ImportRefused
from kubemoot_web.crds.schema_errors import AGENT_NAMES_NO_MODEL
from scheduler.core.resources import ResourceKey, ResourceWrite
from tests.crds.documents import HEAD, agent, bundle, crew, model, policy, server

EXAMPLES = sorted((Path(__file__).parents[2] / "deploy" / "examples").glob("*.yaml"))


def writes(text):
    return [document.write for document in parse([Source(file="a.yaml", text=text)])]


def refusals(text):
    with pytest.raises(ImportRefused) as refused:
        parse([Source(file="a.yaml", text=text)])
    return list(refused.value.problems)


def said(text):
    return [(problem.line, problem.field, problem.message) for problem in refusals(text)]


def spec_of(text):
    (write,) = writes(text)
    return write.spec


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
                "scheduling": {"weight": 100, "interactiveReserve": 0, "callTimeoutSeconds": 600},
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


def test_numbers_in_quotes_are_numbers_and_numbers_where_text_belongs_are_text():
    spec = spec_of(
        server("gpu-1", spec='  scheduling: {memoryMiB: "32768", maxParallel: 4, callTimeoutSeconds: "0.5"}\n')
    )
    assert spec["scheduling"]["memoryMiB"] == 32768
    assert spec["scheduling"]["callTimeoutSeconds"] == 0.5

    told = spec_of(agent("a", spec='{description: 42, temperature: 0.70, maxTokens: "100", think: "true"}'))
    assert (told["description"], told["temperature"], told["maxTokens"], told["think"]) == ("42", "0.7", 100, True)


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


def test_an_unknown_field_is_refused_with_its_path_and_what_is_known():
    """C76: a mistyped field was taken without a word, and had no effect."""
    text = server("gpu-1", spec="  scheduling:\n    memoryMib: 1\n    futureField: 7\n  colour: red\n")

    assert said(text) == [
        (8, "spec.scheduling.memoryMib", "is no field of ModelServer v1alpha1; did you mean memoryMiB?"),
        (
            9,
            "spec.scheduling.futureField",
            "is no field of ModelServer v1alpha1; known here: memoryMiB, reserveMiB, weight, maxParallel, "
            "contextLength, maxConcurrent, interactiveReserve, callTimeoutSeconds",
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


@pytest.mark.parametrize(
    "field", ["model", "modelRef", "modelName", "models", "serverRef", "provider", "providerRef", "endpoint", "llm"]
)
def test_an_agent_that_names_a_model_or_a_server_is_told_what_to_write_instead(field):
    assert said(agent("a", spec=f"{{{field}: x}}")) == [(4, f"spec.{field}", AGENT_NAMES_NO_MODEL)]


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


def test_a_text_that_is_too_large_is_refused_unread(monkeypatch):
    monkeypatch.setattr(bundles, "MOST_BYTES", 10)

    assert said(crew("lab")) == [(0, "", "has 75 bytes; at most 10 are read at once")]


BIASES = [
    ("0.7", True),
    ("0", True),
    ("1", True),
    ("nan", False),
    ("inf", False),
    ("1e400", False),
    ("-0.1", False),
    ("1.1", False),
    ("0,7", False),
    (".nan", False),
]


@pytest.mark.parametrize("quote", ['"', ""])
@pytest.mark.parametrize(("value", "accepted"), BIASES)
def test_a_quality_bias_is_a_finite_number_between_0_and_1(value, accepted, quote):
    """C87: `nan` passed every comparison and made the ranking depend on the order of the models."""
    text = f"{HEAD}kind: CrewSchedulingPolicy\nmetadata: {{name: p}}\nspec:\n  crewRef: c\n"
    text += f"  qualityBias:\n    default: {quote}{value}{quote}\n"

    if accepted:
        assert spec_of(text)["qualityBias"] == {"default": {"0.7": "0.7", "0": "0.0", "1": "1.0"}[value]}
    else:
        assert [problem.field for problem in refusals(text)] == ["spec.qualityBias.default"]


def test_an_empty_quality_bias_is_unset():
    """C87: an emptied form field became 0, which is a bias."""
    spec = spec_of(policy("p", crew="c", spec='qualityBias: {default: "", reasoning: "0.5", vision: }'))

    assert spec["qualityBias"] == {"reasoning": "0.5"}


@pytest.mark.parametrize("setting", ["KUBEMOOT_MODEL_CANDIDATE_TOLERANCE", "KUBEMOOT_DISCUSS_GPU_WAIT_LIMIT_SECONDS"])
@pytest.mark.parametrize("value", ["-1", "ten", "1.5", "nan"])
def test_an_agent_s_setting_that_cannot_be_read_is_refused(setting, value):
    ((_, field, message),) = said(agent("a", spec=f'{{deployment: {{env: [{{name: {setting}, value: "{value}"}}]}}}}'))

    assert field == "spec.deployment"
    assert message == f"has env {setting}, which must be a whole number of 0 or more, not '{value}'"


@pytest.mark.parametrize(
    ("rules", "field", "message"),
    [
        ("{phase: dreaming}", "spec.rules[0].phase", "must be one of mulling or triage"),
        ("{phase: triage}, {phase: triage}", "spec", "has two rules for the phase triage: make one of them"),
        (
            "{phase: triage, require: {matchExpressions: [{key: a, operator: In}]}}",
            "spec.rules[0].require.matchExpressions[0]",
            "has the operator In, which needs at least one entry in values",
        ),
        (
            "{phase: triage, require: {matchExpressions: [{key: a, operator: Exists, values: [b]}]}}",
            "spec.rules[0].require.matchExpressions[0]",
            "has the operator Exists, which takes no values: leave them out",
        ),
        (
            "{phase: triage, require: {matchExpressions: [{key: a, operator: in, values: [b]}]}}",
            "spec.rules[0].require.matchExpressions[0].operator",
            "must be one of In, NotIn, Exists or DoesNotExist",
        ),
        (
            "{phase: triage, prefer: [{weight: 101, selector: {}}]}",
            "spec.rules[0].prefer[0].weight",
            "must be 100 or less",
        ),
        ("{phase: triage, prefer: [{weight: 0, selector: {}}]}", "spec.rules[0].prefer[0].weight", "must be 1 or more"),
        ("{phase: triage, prefer: [{weight: 1}]}", "spec.rules[0].prefer[0].selector", "is required"),
    ],
)
def test_a_rule_that_cannot_be_meant_is_refused_with_its_path(rules, field, message):
    assert [
        (problem.field, problem.message) for problem in refusals(policy("p", crew="c", spec=f"rules: [{rules}]"))
    ] == [(field, message)]


@pytest.mark.parametrize(
    ("scheduling", "message"),
    [
        ("memoryMiB: 0", "must be 1 or more"),
        ("memoryMiB: 24GiB", 'must be a whole number, not "24GiB"'),
        ("memoryMiB: true", "must be a whole number, not True"),
        ("memoryMiB: 1e4", "must be a whole number, not 1e4"),
        ("maxConcurrent: 0", "must be 1 or more"),
        ("weight: -1", 'must be a number such as 1 or 0.5, not "-1"'),
        ("memoryMiB: 10, reserveMiB: 10", "has a reserveMiB of 10, which leaves nothing of memoryMiB 10"),
        (
            "maxConcurrent: 2, interactiveReserve: 3",
            "has an interactiveReserve of 3, which is more than maxConcurrent 2",
        ),
    ],
)
def test_a_server_s_figures_must_make_sense(scheduling, message):
    scheduling = scheduling.replace("-1", '"-1"')
    assert [problem.message for problem in refusals(server("a", spec=f"  scheduling: {{{scheduling}}}\n"))] == [message]


def test_memory_may_be_declared_for_shared_memory_machines_and_may_be_left_out():
    """C28, C29: a machine whose GPU reports no memory of its own has the budget that it was given, or none."""
    declared = spec_of(server("box-a", spec="  scheduling: {memoryMiB: 92160}\n"))

    assert declared["scheduling"]["memoryMiB"] == 92160
    assert "memoryMiB" not in spec_of(server("unknown-box"))["scheduling"]


def test_a_password_in_an_endpoint_is_refused_and_never_repeated():
    """C85: the address of a server, password and all, was shown to everybody who could read its error."""
    problems = refusals(server("a", endpoint="https://user:s3cret@models.example.com:11434"))

    assert problems == [
        ImportProblem(
            file="a.yaml",
            document=1,
            line=6,
            field="spec.endpoint",
            message="must not contain a user name or password: put the key into a Secret and name it in secretRef",
        )
    ]


@pytest.mark.parametrize(
    "url", ["http://169.254.169.254/latest", "http://2852039166/", "http://metadata.google.internal/"]
)
def test_a_metadata_address_is_refused_for_a_server_and_for_its_telemetry(url):
    assert [p.field for p in refusals(server("a", endpoint=url))] == ["spec.endpoint"]
    assert [p.field for p in refusals(server("a", spec=f'  telemetry: {{url: "{url}"}}\n'))] == ["spec.telemetry.url"]


def test_a_reference_may_be_a_name_or_an_object():
    for reference in ("gpu-1", "{name: gpu-1}"):
        assert spec_of(f"{HEAD}kind: Model\nmetadata: {{name: m}}\nspec: {{model: m, serverRef: {reference}}}\n") == {
            "model": "m",
            "serverRef": "gpu-1",
        }
    elsewhere = f"{HEAD}kind: Model\nmetadata: {{name: m}}\nspec: {{model: m, serverRef: {{name: g, namespace: b}}}}\n"
    assert spec_of(elsewhere)["serverRef"] == "b/g"


def test_a_kind_of_the_whole_cluster_has_no_namespace():
    text = f"{HEAD}kind: MootArchetype\nmetadata: {{name: m, namespace: a}}\nspec: {{phases: [one]}}\n"

    assert said(text) == [(3, "metadata.namespace", "must be left out: a MootArchetype belongs to the whole cluster")]


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
