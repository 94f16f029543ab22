"""What each kind takes, field by field."""

import pytest

from kubemoot_web.crds.errors import ImportProblem
from kubemoot_web.crds.schema_errors import AGENT_NAMES_NO_MODEL
from tests.crds.documents import HEAD, agent, policy, refusals, said, server, spec_of


def test_numbers_in_quotes_are_numbers_and_numbers_where_text_belongs_are_text():
    spec = spec_of(
        server("gpu-1", spec='  scheduling: {memoryMiB: "32768", maxParallel: 4, callTimeoutSeconds: "0.5"}\n')
    )
    assert spec["scheduling"]["memoryMiB"] == 32768
    assert spec["scheduling"]["callTimeoutSeconds"] == 0.5
    works_on = spec_of(server("npu-1", spec='  scheduling: {abortsOnDisconnect: "false"}\n'))
    assert works_on["scheduling"]["abortsOnDisconnect"] is False

    told = spec_of(agent("a", spec='{description: 42, temperature: 0.70, maxTokens: "100", think: "true"}'))
    assert (told["description"], told["temperature"], told["maxTokens"], told["think"]) == ("42", "0.7", 100, True)


@pytest.mark.parametrize(
    "field", ["model", "modelRef", "modelName", "models", "serverRef", "provider", "providerRef", "endpoint", "llm"]
)
def test_an_agent_that_names_a_model_or_a_server_is_told_what_to_write_instead(field):
    assert said(agent("a", spec=f"{{{field}: x}}")) == [(4, f"spec.{field}", AGENT_NAMES_NO_MODEL)]


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
        ("abortsOnDisconnect: no", "must be true or false, not no"),
        ("quarantineOnAmbiguous: 1", "must be true or false, not 1"),
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


def test_what_a_server_does_without_the_ledger_is_one_of_two_words():
    assert spec_of(server("a", spec="  scheduling: {failMode: local}\n"))["scheduling"]["failMode"] == "local"
    assert spec_of(server("a"))["scheduling"]["failMode"] == "closed"
    (problem,) = refusals(server("a", spec="  scheduling: {failMode: open}\n"))
    assert (problem.field, problem.message) == ("spec.scheduling.failMode", "must be one of closed or local")
