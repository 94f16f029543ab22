"""Applying documents: all or nothing, with a diff, told to the rest after the commit."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from asgiref.sync import async_to_sync
from django.db import connection

from kubemoot_web.crds import kinds
from kubemoot_web.crds.bundle import Source, parse, parse_for
from kubemoot_web.crds.diff import FieldChange, ObjectDiff, Outcome
from kubemoot_web.crds.errors import ImportRefused
from kubemoot_web.crds.importing import document_put
from kubemoot_web.crds.mapping import key_of, manifest
from providers.models import Model, ModelServer
from scheduler.core.resources import Conflict, NotFound, ResourceKey, ResourcesChanged
from scheduler.models import Agent, Crew, CrewSchedulingPolicy
from scheduler.services.resources import resource_delete, resource_get, resources_list
from tests.crds.documents import HEAD, NOW, Told, agent, apply, bundle, crew, model, policy, server

EXAMPLES = sorted((Path(__file__).parents[2] / "deploy" / "examples").glob("*.yaml"))

pytestmark = pytest.mark.django_db


def gone(kind, name):
    key = ResourceKey(kind=kind, namespace="default", name=name)
    told = Told()
    async_to_sync(resource_delete)(key=key, now=NOW, changed=told)
    return told


def get(kind, name):
    return async_to_sync(resource_get)(key=ResourceKey(kind=kind, namespace="default", name=name))


def put(text, *, kind=kinds.CREW, name="lab", told=None):
    document = parse_for(source=Source(file="body", text=text), kind=kind, namespace="default", name=name)
    return async_to_sync(document_put)(document=document, node="n1", now=NOW, changed=told or Told())


def refusal(text, **options):
    with pytest.raises(ImportRefused) as refused:
        apply(text, **options)
    return str(refused.value)


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


def test_versions_count_what_people_change_and_generations_what_the_spec_says():
    apply(crew("lab"))
    first = get("Crew", "lab")
    apply(crew("lab").replace("{name: lab}", "{name: lab, labels: {a: b}}"))
    labelled = get("Crew", "lab")
    apply(agent("a", crew="lab"))
    apply(crew("lab", spec="{weight: 2}").replace("{name: lab}", "{name: lab, labels: {a: b}}"))
    heavier = get("Crew", "lab")

    assert [(one.resource_version, one.generation) for one in (first, labelled, heavier)] == [(1, 1), (2, 1), (3, 2)]
    assert first.uid == heavier.uid
    assert first.created_at == NOW


def test_a_put_that_rests_on_an_old_version_is_refused():
    put("{}")
    put('{"metadata": {"resourceVersion": "1"}, "spec": {"weight": 2}}')

    with pytest.raises(Conflict) as conflict:
        put('{"metadata": {"resourceVersion": "1"}, "spec": {"weight": 3}}')

    assert str(conflict.value) == (
        "Crew default/lab was changed since resourceVersion 1 (it is at 2 now): read it again and repeat."
    )
    assert get("Crew", "lab").spec["weight"] == 2


def outcomes_of_a_race(texts, **options):
    """Put every text in a thread and with a database connection of its own, and name what came of each."""

    def one(text):
        try:
            return "stored" if put(text, **options) else ""
        except (Conflict, ImportRefused) as error:
            return type(error).__name__
        finally:
            connection.close()

    with ThreadPoolExecutor(max_workers=len(texts)) as pool:
        return sorted(pool.map(one, texts))


@pytest.mark.django_db(transaction=True)
def test_of_many_puts_at_once_that_rest_on_one_version_exactly_one_is_stored():
    put("{}")

    texts = [f'{{"metadata": {{"resourceVersion": "1"}}, "spec": {{"weight": {n}}}}}' for n in range(2, 8)]

    assert outcomes_of_a_race(texts) == ["Conflict"] * 5 + ["stored"]
    assert get("Crew", "lab").resource_version == 2


@pytest.mark.django_db(transaction=True)
def test_of_many_objects_stored_at_once_every_one_is_counted_in_the_ranking():
    """Two changes at once each ranked without the other, and the later one's result stayed."""
    put("{}")

    with ThreadPoolExecutor(max_workers=6) as pool:
        list(pool.map(apply_and_close, [agent(f"a-{n}", crew="lab") for n in range(6)]))

    assert get("Crew", "lab").status["agentCount"] == 6


def apply_and_close(text):
    try:
        apply(text)
    finally:
        connection.close()


def test_a_put_that_rests_on_a_deleted_object_is_refused():
    with pytest.raises(Conflict):
        put('{"metadata": {"resourceVersion": "7"}}')


def test_an_apply_that_rests_on_an_old_version_names_the_line():
    apply(crew("lab"))

    text = f"{HEAD}kind: Crew\nmetadata:\n  name: lab\n  resourceVersion: 7\nspec: {{weight: 2}}\n"

    assert refusal(text).startswith("fleet.yaml:5: document 1, metadata.resourceVersion: Crew default/lab was changed")


def test_a_put_may_leave_out_what_its_address_says_but_not_contradict_it():
    assert put('{"spec": {"weight": 2}}').after.key == ResourceKey(kind="Crew", namespace="default", name="lab")

    for body, field in (
        ('{"metadata": {"name": "other"}}', "metadata.name"),
        ('{"metadata": {"namespace": "other"}}', "metadata.namespace"),
        ('{"kind": "PromptModule", "spec": {"content": "x"}}', "kind"),
    ):
        with pytest.raises(ImportRefused) as refused:
            put(body)
        assert [problem.field for problem in refused.value.problems] == [field]


@pytest.mark.parametrize("body", ["", "---\n{}\n---\n{}\n"])
def test_a_put_holds_exactly_one_document(body):
    with pytest.raises(ImportRefused, match="must hold one document"):
        put(body)


def test_a_manifest_can_be_applied_again_and_changes_nothing():
    apply(EXAMPLES[0].read_text())
    documents = [
        json.dumps(manifest(stored))
        for kind in kinds.KINDS
        for stored in async_to_sync(resources_list)(kind=kind.name, namespace=None)
    ]

    imported = apply("\n---\n".join(documents))

    assert len(imported.diffs) == len(documents) > 5
    assert {diff.outcome for diff in imported.diffs} == {Outcome.UNCHANGED}


def test_a_manifest_has_the_shape_that_kubernetes_gives_it():
    apply(crew("lab"), now=NOW)

    document = manifest(get("Crew", "lab"))

    assert document == {
        "apiVersion": "kubemoot.ai/v1alpha1",
        "kind": "Crew",
        "metadata": {
            "name": "lab",
            "namespace": "default",
            "uid": document["metadata"]["uid"],
            "resourceVersion": "1",
            "generation": 1,
            "creationTimestamp": "2026-11-30T00:53:20Z",
        },
        "spec": {"description": "", "discussion": {"enabled": True}, "weight": 1},
        "status": {"phase": "Pending", "agentCount": 0},
    }


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
