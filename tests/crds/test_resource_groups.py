"""A-35. Which resource group a server is in: the field, and that its servers say the same, however they change."""

import pytest
from asgiref.sync import async_to_sync

from kubemoot_web.crds.definitions import definition
from kubemoot_web.crds.diff import Outcome
from kubemoot_web.crds.kinds import MODEL_SERVER
from providers.core.specs import ResourceGroup
from providers.models import ModelServer
from scheduler.core.resources import ResourceKey
from scheduler.services.resources import resource_delete
from scheduler.stores.catalog import OrmCatalog
from tests.crds.documents import NOW, Told, apply, bundle, model, refusal, said, server, spec_of

pytestmark = pytest.mark.django_db
CAP = "spec.scheduling.resourceGroup.maxConcurrent"


def on_bus(name, most=2, *, bus="bus-1", namespace=None):
    text = server(name, spec=f"  scheduling:\n    resourceGroup:\n      name: {bus}\n      maxConcurrent: {most}\n")
    return text if namespace is None else text.replace("{name:", f"{{namespace: {namespace}, name:")


def stored():
    """Give the cap that each server's group has."""
    return {
        f"{one.namespace}/{one.name}": one.spec["scheduling"]["resourceGroup"]["maxConcurrent"]
        for one in ModelServer.objects.all()
        if "resourceGroup" in one.spec["scheduling"]
    }


def test_a_group_is_a_name_and_a_number():
    assert spec_of(on_bus("gpu-1", '"2"'))["scheduling"]["resourceGroup"] == {"name": "bus-1", "maxConcurrent": 2}
    assert "resourceGroup" not in spec_of(server("gpu-1", spec="  scheduling: {resourceGroup: null}\n"))["scheduling"]


@pytest.mark.parametrize(
    ("group", "field", "message"),
    [
        ("{name: bus-1}", CAP, "is required"),
        ("{maxConcurrent: 2}", "spec.scheduling.resourceGroup.name", "is required"),
        ("{name: bus-1, maxConcurrent: 0}", CAP, "must be 1 or more"),
        ("bus-1", "spec.scheduling.resourceGroup", "must be an object"),
        (
            "{name: Bus 1, maxConcurrent: 2}",
            "spec.scheduling.resourceGroup.name",
            "must be at most 253 characters of lower-case letters, digits and '-' (and '.' between parts), a letter "
            'or digit first and last, not "Bus 1"',
        ),
        (
            "{name: bus-1, maxConcurent: 2}",
            "spec.scheduling.resourceGroup.maxConcurent",
            "is no field of ModelServer v1alpha1; did you mean maxConcurrent?",
        ),
    ],
)
def test_what_is_wrong_with_a_group_is_said_with_its_field(group, field, message):
    told = said(server("gpu-1", spec=f"  scheduling: {{resourceGroup: {group}}}\n"))

    assert (field, message) in [problem[1:] for problem in told]


def test_the_manifest_of_the_kind_has_the_field():
    schema = definition(MODEL_SERVER)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    group = schema["properties"]["scheduling"]["properties"]["resourceGroup"]

    assert group["required"] == ["name", "maxConcurrent"]
    assert {name: field["type"] for name, field in group["properties"].items()} == {
        "name": "string",
        "maxConcurrent": "integer",
    }


def test_another_number_than_a_stored_server_says_is_refused_naming_that_server_and_the_field():
    apply(on_bus("gpu-1"))

    told = refusal(bundle(model("gpu-2", "qwen3:14b"), on_bus("gpu-2", 3)))

    assert told == (
        f"fleet.yaml:19: document 2, {CAP}: must be 2, not 3: gpu-1 is in the resource group bus-1 too and says so in "
        f"its resourceGroup.maxConcurrent. To change it, change every server of the group at once"
    )
    assert stored() == {"default/gpu-1": 2}


def test_so_is_a_change_of_one_server_alone():
    apply(bundle(on_bus("gpu-1"), on_bus("gpu-2")))

    assert "must be 2, not 3: gpu-2 is in the resource group bus-1 too" in refusal(on_bus("gpu-1", 3))
    assert stored() == {"default/gpu-1": 2, "default/gpu-2": 2}


def test_servers_of_one_bundle_contradict_each_other_in_its_order():
    told = refusal(bundle(on_bus("gpu-1"), on_bus("gpu-2"), on_bus("gpu-3", 4), on_bus("gpu-4", 5)))

    first, second = told.splitlines()
    assert f"document 3, {CAP}: must be 2, not 4: gpu-1 is in the resource group bus-1 too" in first
    assert f"document 4, {CAP}: must be 2, not 5: gpu-1 is in the resource group bus-1 too" in second
    assert stored() == {}


def test_all_servers_of_a_group_change_at_once():
    apply(bundle(on_bus("gpu-1"), on_bus("gpu-2")))

    imported = apply(bundle(on_bus("gpu-1", 3), on_bus("gpu-2", 3)))

    assert {diff.outcome for diff in imported.diffs} == {Outcome.CONFIGURED}
    assert stored() == {"default/gpu-1": 3, "default/gpu-2": 3}


def test_of_three_servers_two_are_not_all():
    apply(bundle(on_bus("gpu-1"), on_bus("gpu-2"), on_bus("gpu-3")))

    told = refusal(bundle(on_bus("gpu-1", 3), on_bus("gpu-2", 3)))

    assert told.count("gpu-3 is in the resource group bus-1 too") == 2
    assert set(stored().values()) == {2}


def test_one_that_stays_in_the_bundle_as_it_is_was_there_first():
    """Whoever applies a whole folder again with one document changed is told of that document."""
    apply(bundle(on_bus("gpu-1"), on_bus("gpu-2")))

    told = refusal(bundle(on_bus("gpu-1", 3), on_bus("gpu-2")))

    assert told.startswith("fleet.yaml:10: document 1, ")
    assert told.count("must be") == 1


def test_who_leaves_a_group_in_the_same_bundle_contradicts_nobody():
    apply(bundle(on_bus("gpu-1"), on_bus("gpu-2")))

    apply(bundle(on_bus("gpu-1", 3), on_bus("gpu-2", 9, bus="bus-2")))

    assert stored() == {"default/gpu-1": 3, "default/gpu-2": 9}


def test_a_server_that_is_deleted_is_heard_no_more():
    apply(on_bus("gpu-1"))
    gpu_1 = ResourceKey(kind="ModelServer", namespace="default", name="gpu-1")
    async_to_sync(resource_delete)(key=gpu_1, now=NOW, changed=Told())

    apply(on_bus("gpu-2", 3))

    assert stored() == {"default/gpu-2": 3}


def test_what_contradicts_itself_in_the_store_already_stands_in_nobody_s_way():
    """Rows that came in around the import: whoever changes another server is not blamed for them."""
    apply(bundle(on_bus("gpu-1"), on_bus("gpu-2")))
    row = ModelServer.objects.get(name="gpu-2")
    row.spec["scheduling"]["resourceGroup"]["maxConcurrent"] = 7
    row.save()

    apply(server("gpu-3"))
    apply(on_bus("gpu-2"))

    assert stored()["default/gpu-2"] == 2


def test_a_dry_run_is_refused_as_well():
    apply(on_bus("gpu-1"))

    assert "must be 2, not 3" in refusal(on_bus("gpu-2", 3), dry_run=True)


def test_a_group_belongs_to_a_namespace_and_is_named_with_it_from_another():
    """Two teams that each call their bus bus-1 do not share one."""
    apply(
        bundle(
            on_bus("gpu-1", 1),
            on_bus("gpu-2", 2, namespace="team-b"),
            on_bus("gpu-3", 2, bus="team-b/bus-1"),
            on_bus("gpu-4", 1, bus="default/bus-1", namespace="team-b"),
        )
    )

    configs = {one.name: one.resource_group for one in async_to_sync(OrmCatalog().servers)()}

    assert configs == {
        "gpu-1": ResourceGroup(name="bus-1", max_concurrent=1),
        "team-b/gpu-2": ResourceGroup(name="team-b/bus-1", max_concurrent=2),
        "gpu-3": ResourceGroup(name="team-b/bus-1", max_concurrent=2),
        "team-b/gpu-4": ResourceGroup(name="bus-1", max_concurrent=1),
    }
    assert "team-b/gpu-2 is in the resource group team-b/bus-1 too" in refusal(on_bus("gpu-3", 5, bus="team-b/bus-1"))
