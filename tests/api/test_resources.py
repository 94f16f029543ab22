"""Configuration over REST: who may, what comes back, what is said when it cannot be."""

import json

import pytest

from scheduler import bootstrap
from scheduler.models import Crew
from tests.crds.documents import bundle, crew, server

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("valkey_url")]


async def test_a_crew_is_created_read_replaced_and_deleted(caller):
    robot = await caller("read", "write")

    created = await robot.put("/resources/crews/default/lab", {"spec": {"weight": "2"}})
    assert created.status_code == 201
    document = created.json()
    assert document["spec"] == {"description": "", "discussion": {"enabled": True}, "weight": 2}
    assert document["metadata"]["resourceVersion"] == "1"

    assert (await robot.get("/resources/Crew/default/lab")).json() == document

    document["spec"]["description"] = "Finds out"
    replaced = await robot.put("/resources/crew/default/lab", document)
    assert (replaced.status_code, replaced.json()["metadata"]["resourceVersion"]) == (200, "2")

    lost = await robot.put("/resources/crew/default/lab", document)
    assert (lost.status_code, lost.json()["error"]["code"]) == (409, "conflict")

    assert (await robot.delete("/resources/crews/default/lab")).json()["metadata"]["name"] == "lab"
    for answer in (await robot.delete("/resources/crews/default/lab"), await robot.get("/resources/crews/default/lab")):
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not-found")


@pytest.mark.parametrize("kind", ["modelservers", "ModelServer", "mdls", "mdlp", "MODELPROVIDERS"])
async def test_a_list_answers_to_every_name_of_its_kind(caller, kind):
    robot = await caller("read", "write")
    await robot.apply(bundle(server("gpu-1"), server("gpu-2").replace("{name: gpu-2}", "{name: gpu-2, namespace: b}")))

    document = (await robot.get(f"/resources/{kind}")).json()

    assert (document["apiVersion"], document["kind"]) == ("kubemoot.ai/v1alpha1", "ModelServerList")
    assert [item["metadata"]["name"] for item in document["items"]] == ["gpu-2", "gpu-1"]
    assert len((await robot.get(f"/resources/{kind}?namespace=b")).json()["items"]) == 1


async def test_an_unknown_kind_is_404_and_names_the_known_ones(caller):
    answer = await (await caller("read")).get("/resources/pods")

    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "unknown-kind")
    assert "modelservers" in answer.json()["error"]["message"]


async def test_apply_says_what_became_of_each_object_and_dry_run_changes_nothing(caller):
    robot = await caller("write")

    dry = await robot.apply(crew("lab"), "?dryRun=1")
    assert dry.json()["dryRun"] is True
    assert not await Crew.objects.aexists()

    await robot.apply(crew("lab"))
    answer = await robot.apply(json.dumps({"apiVersion": "kubemoot.ai/v1alpha1", "kind": "Crew",
                                           "metadata": {"name": "lab"}, "spec": {"weight": 2}}))  # fmt: skip

    assert answer.status_code == 200
    assert answer.json() == {
        "dryRun": False,
        "results": [
            {
                "kind": "Crew",
                "namespace": "default",
                "name": "lab",
                "outcome": "configured",
                "changes": [{"field": "spec.weight", "before": 1, "after": 2}],
            }
        ],
    }


async def test_a_bad_document_is_422_with_file_document_line_and_field_and_nothing_is_stored(caller):
    answer = await (await caller("write")).apply(bundle(crew("lab"), crew("lab2", spec="{weigth: 2}")))

    assert answer.status_code == 422
    error = answer.json()["error"]
    assert error["code"] == "import-refused"
    assert error["details"] == [
        {
            "file": "request body",
            "document": 2,
            "line": 9,
            "field": "spec.weigth",
            "message": "is no field of Crew v1alpha1; did you mean weight?",
        }
    ]
    assert not await Crew.objects.aexists()


async def test_a_password_in_an_endpoint_stands_in_no_answer(caller):
    """C85: a refused address was repeated in the answer, password and all."""
    robot = await caller("write", "read")
    body = {"spec": {"type": "ollama", "endpoint": "https://user:s3cret@models.example.com:11434"}}

    answer = await robot.put("/resources/modelservers/default/a", body)

    assert answer.status_code == 422
    assert b"s3cret" not in answer.content


@pytest.mark.parametrize("value", ["nan", "inf", "1e400", "-0.1", "1.1", "0,7"])
async def test_a_quality_bias_is_checked_the_same_over_rest(caller, value):
    """C87: what the file refused, the API took."""
    body = {"spec": {"crewRef": "lab", "qualityBias": {"default": value}}}

    answer = await (await caller("write")).put("/resources/csp/default/p", body)

    assert answer.status_code == 422
    assert [detail["field"] for detail in answer.json()["error"]["details"]] == ["spec.qualityBias.default"]


@pytest.mark.parametrize("body", [b"\xff\xfe", b"{", b"[]", b"", b'{"spec": {"x": NaN}}'])
async def test_a_body_that_is_no_document_is_422_in_the_one_shape(caller, body):
    answer = await (await caller("write")).put("/resources/crews/default/lab", body)

    assert answer.status_code == 422
    assert answer.json()["error"]["details"]


async def test_reading_needs_read_and_changing_needs_write(caller):
    reader, writer, stranger = await caller("read"), await caller("write"), await caller()
    stranger.headers = {}

    assert (await writer.get("/resources/crews")).status_code == 403
    assert (await reader.put("/resources/crews/default/lab", {})).status_code == 403
    assert (await reader.delete("/resources/crews/default/lab")).status_code == 403
    assert (await reader.apply(crew("lab"))).status_code == 403
    assert (await stranger.get("/resources/crews")).status_code == 401
    assert not await Crew.objects.aexists()


async def test_a_kind_of_the_whole_cluster_answers_under_any_namespace(caller):
    robot = await caller("read", "write")

    created = await robot.put("/resources/moot/default/consent-3", {"spec": {"phases": ["ADVISORY"]}})

    assert "namespace" not in created.json()["metadata"]
    assert (await robot.get("/resources/mootarchetypes/_/consent-3")).status_code == 200


async def test_a_server_that_is_applied_is_in_the_ledger_at_once(caller):
    robot = await caller("read", "write")

    await robot.apply(server("gpu-1", spec="  scheduling: {memoryMiB: 32768}\n"))

    runtime = await bootstrap.runtime()
    await runtime.ledger.catch_up()
    assert list(runtime.ledger.replica.servers) == ["gpu-1"]
