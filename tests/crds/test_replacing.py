"""One object at a time: versions, lost races, and the document that comes back."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from asgiref.sync import async_to_sync
from django.db import connection

from kubemoot_web.crds import kinds
from kubemoot_web.crds.bundle import Source
from kubemoot_web.crds.diff import Outcome
from kubemoot_web.crds.errors import ImportRefused
from kubemoot_web.crds.importing import document_put
from kubemoot_web.crds.mapping import manifest
from scheduler.core.resources import Conflict, ResourceKey
from scheduler.services.resources import resource_get, resources_list
from tests.crds.documents import HEAD, NOW, Told, agent, apply, crew, refusal

EXAMPLES = sorted((Path(__file__).parents[2] / "deploy" / "examples").glob("*.yaml"))

pytestmark = pytest.mark.django_db


def get(kind, name):
    return async_to_sync(resource_get)(key=ResourceKey(kind=kind, namespace="default", name=name))


def put(text, *, kind=kinds.CREW, name="lab", told=None):
    return async_to_sync(document_put)(
        source=Source(file="body", text=text),
        kind=kind,
        namespace="default",
        name=name,
        node="n1",
        now=NOW,
        changed=told or Told(),
    )


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


def apply_and_close(text):
    try:
        apply(text)
    finally:
        connection.close()


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
