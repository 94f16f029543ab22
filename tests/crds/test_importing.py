"""Applying documents: all or nothing, with a diff, told to the rest after the commit."""

from pathlib import Path

import pytest
from asgiref.sync import async_to_sync
from django.db import connection

from kubemoot_web.crds import kinds
from kubemoot_web.crds.bundle import parse
from kubemoot_web.crds.diff import FieldChange, ObjectDiff, Outcome
from kubemoot_web.crds.mapping import key_of
from providers.models import Model, ModelServer
from scheduler.core.resources import NotFound, ResourceKey, ResourcesChanged
from scheduler.models import Agent, Crew, CrewSchedulingPolicy
from scheduler.services.resources import resource_delete, resource_get
from tests.crds.documents import NOW, Told, agent, apply, bundle, crew, model, policy, refusal, server

EXAMPLES = sorted((Path(__file__).parents[2] / "deploy" / "examples").glob("*.yaml"))


pytestmark = pytest.mark.django_db


def gone(kind, name):
    key = ResourceKey(kind=kind, namespace="default", name=name)
    told = Told()
    async_to_sync(resource_delete)(key=key, now=NOW, changed=told)
    return told


def get(kind, name):
    return async_to_sync(resource_get)(key=ResourceKey(kind=kind, namespace="default", name=name))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_every_shipped_example_imports_and_every_agent_has_candidates(path):
    apply(path.read_text())

    assert Agent.objects.exists()
    assert set(Agent.objects.values_list("status__phase", flat=True)) == {"Running"}
    assert {
        status["conditions"][0]["status"] for status in CrewSchedulingPolicy.objects.values_list("status", flat=True)
    } == {"True"}


def test_applying_says_of_each_object_what_became_of_it():
    apply(bundle(crew("lab"), crew("same")))

    imported = apply(bundle(crew("lab", spec="{weight: 2, description: Finds out}"), crew("same"), crew("new")))

    assert imported.diffs == (
        ObjectDiff(
            kind="Crew",
            namespace="default",
            name="lab",
            outcome=Outcome.CONFIGURED,
            changes=(
                FieldChange(field="spec.description", before="", after="Finds out"),
                FieldChange(field="spec.weight", before=1, after=2),
            ),
        ),
        ObjectDiff(kind="Crew", namespace="default", name="same", outcome=Outcome.UNCHANGED),
        ObjectDiff(kind="Crew", namespace="default", name="new", outcome=Outcome.CREATED),
    )


def test_a_file_with_one_bad_document_changes_nothing():
    told = Told()

    refusal(bundle(crew("lab"), crew("Bad_Name")), told=told)

    assert not Crew.objects.exists()
    assert told.changes == []


def test_a_dry_run_gives_the_diff_and_changes_nothing():
    apply(crew("lab"))
    told = Told()

    imported = apply(bundle(crew("lab", spec="{weight: 2}"), server("gpu-1")), dry_run=True, told=told)

    assert [diff.outcome for diff in imported.diffs] == [Outcome.CONFIGURED, Outcome.CREATED]
    assert imported.dry_run
    assert get("Crew", "lab").spec["weight"] == 1
    assert not ModelServer.objects.exists()
    assert told.changes == []


def test_what_changed_is_told_once_and_only_what_changed():
    apply(crew("same"))
    told = Told()

    apply(bundle(crew("same"), crew("new"), server("gpu-1")), told=told)
    apply(bundle(crew("same")), told=told)

    assert told.changes == [
        ResourcesChanged(
            written=(
                ResourceKey(kind="Crew", namespace="default", name="new"),
                ResourceKey(kind="ModelServer", namespace="default", name="gpu-1"),
            )
        )
    ]


@pytest.mark.django_db(transaction=True)
def test_what_changed_is_told_after_the_commit_and_not_at_all_when_nothing_was_stored():
    """C88: a worker was sent for a server whose row it could not see yet, or that was rolled back."""
    inside = []

    async def told(change):
        inside.append(connection.in_atomic_block)

    apply(server("gpu-1"), told=told)
    refusal(server("gpu-2", endpoint="http://gpu-1:11434/v1"), told=told)

    assert inside == [False]


def test_a_second_server_at_one_endpoint_is_refused_and_the_first_is_named():
    """C31: one machine under two names had its memory promised twice."""
    apply(server("gpu-1", endpoint="http://Box-A:11434"))

    assert refusal(bundle(crew("lab"), server("gpu-2", endpoint="http://box-a:11434/api/"))) == (
        "fleet.yaml:11: document 2, spec.endpoint: is the same server as gpu-1, registered already: change gpu-1, or "
        "give this one an address of its own"
    )
    assert "is the same server as a" in refusal(
        bundle(server("a", endpoint="http://x:1"), server("b", endpoint="http://x:1/v1"))
    )


def test_one_endpoint_in_two_namespaces_is_one_server():
    apply(server("gpu-1"))

    text = server("gpu-1").replace("{name: gpu-1}", "{name: gpu-1, namespace: team-b}")

    assert "is the same server as gpu-1" in refusal(text)


def test_loopback_is_another_server_on_another_node():
    apply(server("a", endpoint="http://localhost:11434"), node="n1")
    apply(server("b", endpoint="http://127.0.0.1:11434"), node="n2")

    assert "is the same server as a" in refusal(server("c", endpoint="http://[::1]:11434"), node="n1")
    assert apply(server("a", endpoint="http://localhost:11434"), node="n2").diffs[0].outcome is Outcome.UNCHANGED


def test_two_servers_may_swap_endpoints_in_one_file():
    apply(bundle(server("a", endpoint="http://x:1"), server("b", endpoint="http://y:1")))

    apply(bundle(server("a", endpoint="http://y:1"), server("b", endpoint="http://x:1")))

    assert dict(ModelServer.objects.values_list("name", "endpoint_key")) == {"a": "http://y:1", "b": "http://x:1"}


def test_a_server_keeps_its_identity_when_only_its_figures_change():
    apply(server("a"))
    apply(server("a", spec="  scheduling: {memoryMiB: 1000}\n"))

    assert "is the same server as a" in refusal(server("b", endpoint="http://a:11434"))


def test_deleting_tells_the_rest_and_what_is_gone_is_gone():
    apply(crew("lab"))

    told = gone("Crew", "lab")

    assert told.changes == [ResourcesChanged(deleted=(ResourceKey(kind="Crew", namespace="default", name="lab"),))]
    with pytest.raises(NotFound, match="There is no Crew default/lab"):
        get("Crew", "lab")
    with pytest.raises(NotFound):
        gone("Crew", "lab")


def test_a_thousand_documents_take_seconds():
    text = bundle(*(agent(f"a-{n}", crew="lab") for n in range(1000)), crew("lab"), model("m", "qwen3:8b"))

    imported = apply(text)

    assert len(imported.diffs) == 1002
    assert get("Crew", "lab").status == {"phase": "Ready", "agentCount": 1000}


def test_names_of_kinds_are_found_in_every_spelling():
    for text in ("ModelServer", "modelservers", "mdls", "MDLP", "modelprovider", "modelproviders"):
        assert kinds.find_kind(text) is kinds.MODEL_SERVER
    assert kinds.find_kind("csp") is kinds.POLICY
    assert kinds.find_kind("pods") is None


def test_a_key_without_a_namespace_is_of_the_default_one():
    assert key_of(kind=kinds.CREW, namespace=None, name="a").namespace == "default"
    assert key_of(kind=kinds.ARCHETYPE, namespace="default", name="a").namespace == ""
    assert Model.objects.count() == 0
    assert parse([]) == ()


def test_policies_of_unknown_crews_are_stored_and_say_so():
    apply(policy("p", crew="nobody"))

    assert get("CrewSchedulingPolicy", "p").status["validationError"] == (
        "There is no crew default/nobody: apply it, or correct spec.crewRef."
    )
