"""Aliases of endpoints, and merging two servers that are one, over REST."""

import logging

import pytest

from providers.models import EndpointAlias
from scheduler import bootstrap
from scheduler.core.ledger import ServerSeen
from scheduler.core.snapshot import Resident
from tests.crds.documents import bundle, model, server

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("valkey_url")]

TWO = bundle(server("gpu-1", endpoint="http://box:11434"), server("gpu-2", endpoint="https://box:11434"))
BOTH = {"alias": "https://box:11434", "canonical": "http://box:11434"}
MERGE = "/endpoints/gpu-1/merge"


@pytest.fixture
async def robot(caller):
    """Give a program with every scope."""
    return await caller("read", "call", "write")


def error_of(answer):
    error = answer.json()["error"]
    return answer.status_code, error["code"], error["message"]


async def test_an_alias_is_made_listed_and_removed(robot, caplog):
    await robot.apply(server("gpu-1", endpoint="http://box:11434"))

    with caplog.at_level(logging.INFO, logger="kubemoot_web"):
        made = await robot.post("/aliases", {"alias": "HTTPS://Box:11434/v1", "canonical": "http://box:11434/"})
        again = await robot.post("/aliases", BOTH)
        listed = await robot.get("/aliases")
        refused = await robot.apply(server("gpu-2", endpoint="https://box:11434"))
        removed = await robot.delete("/aliases?alias=https://box:11434/")
        missing = await robot.delete("/aliases?alias=https://box:11434")

    assert (made.status_code, again.status_code) == (201, 201)
    since = made.json()["since"]
    assert made.json() == again.json() == {**BOTH, "server": "gpu-1", "since": since}
    assert listed.json() == {"aliases": [made.json()]}
    assert refused.status_code == 422
    assert "is another address of gpu-1, registered already" in refused.json()["error"]["message"]
    assert (removed.status_code, removed.json()) == (200, {"alias": "https://box:11434"})
    assert error_of(missing)[:2] == (404, "unknown-alias")
    lines = [record.getMessage() for record in caplog.records if record.name == "kubemoot_web.access.operating"]
    assert lines == [
        "endpoint 'gpu-1': alias https://box:11434 added, by 'robot'",
        "endpoint 'gpu-1': alias https://box:11434 added, by 'robot'",
        "endpoint 'https://box:11434': is no alias any more, by 'robot'",
    ]


@pytest.mark.parametrize(
    ("body", "status", "code", "says"),
    [
        ({**BOTH, "alias": "http://box:11434/v1"}, 409, "alias-refused", "alias is the same endpoint already"),
        ({**BOTH, "alias": "box"}, 422, "invalid", "alias is no address: write it like http://host:11434."),
        ({**BOTH, "canonical": "http://u:p@h"}, 422, "invalid", "canonical must not contain a user name or password"),
        ({"alias": "https://box"}, 422, "invalid", "canonical: Field required"),
        ({**BOTH, "server": "gpu-1"}, 422, "invalid", "server"),
    ],
    ids=["itself", "no address", "a password", "half of it", "too much of it"],
)
async def test_what_is_wrong_with_an_alias_is_said_by_its_field(robot, body, status, code, says):
    found = error_of(await robot.post("/aliases", body))

    assert found[:2] == (status, code)
    assert says in found[2]


async def test_two_registered_servers_are_merged_only_once_the_one_that_goes_is_drained(robot, caplog):
    await robot.apply(TWO)
    refused = await robot.post("/aliases", BOTH)
    assert error_of(refused)[:2] == (409, "alias-refused")
    assert "gpu-1 and gpu-2" in error_of(refused)[2]

    too_early = await robot.post(MERGE, {"duplicate": "gpu-2"})
    await robot.post("/endpoints/gpu-2/drain")
    with caplog.at_level(logging.INFO, logger="kubemoot_web"):
        merged = await robot.post(MERGE, {"duplicate": "default/gpu-2"})

    assert error_of(too_early) == (
        409,
        "merge-refused",
        "gpu-2 still takes calls: drain it first, so that merging it cuts nothing off.",
    )
    assert (merged.status_code, merged.json()["name"]) == (200, "gpu-1")
    assert [one["name"] for one in (await robot.get("/endpoints")).json()["endpoints"]] == ["gpu-1"]
    aliases = (await robot.get("/aliases")).json()["aliases"]
    assert [(each["alias"], each["server"]) for each in aliases] == [("https://box:11434", "gpu-1")]
    assert (await robot.apply(TWO)).status_code == 422
    assert "endpoint 'gpu-2': merged into gpu-1, by 'robot'" in caplog.text


async def test_a_merge_takes_the_aliases_of_the_server_that_goes_along(robot):
    await robot.apply(TWO)
    await robot.post("/aliases", {"alias": "http://old-name", "canonical": "https://box:11434"})
    await robot.post("/endpoints/gpu-2/drain")

    await robot.post(MERGE, {"duplicate": "gpu-2"})

    pairs = {row.alias_key: row.canonical_key async for row in EndpointAlias.objects.all()}
    assert pairs == {"https://box:11434": "http://box:11434", "http://old-name:80": "http://box:11434"}


async def test_a_server_with_calls_is_not_merged_until_they_are_over(robot):
    await robot.apply(TWO)
    rt = await bootstrap.runtime()
    probe = await rt.ledger.probe_begin(server="gpu-2", lease_s=10)
    residents = (Resident(model="qwen3:14b", footprint_mib=10240),)
    seen = ServerSeen(phase="ready", ready=True, since=rt.now(), residents=residents, models=("qwen3:14b",))
    await rt.ledger.probe_end(server="gpu-2", probe=probe, seen=seen)
    ticket = (await robot.post("/tickets", {"model": "qwen3:14b", "wait": 0})).json()
    await robot.post("/endpoints/gpu-2/drain")

    busy = await robot.post(MERGE, {"duplicate": "gpu-2"})
    await robot.delete(f"/tickets/{ticket['id']}", {"ok": True})
    merged = await robot.post(MERGE, {"duplicate": "gpu-2"})

    assert error_of(busy) == (
        409,
        "merge-refused",
        "1 call or load still runs on gpu-2: merge it once it is drained.",
    )
    assert merged.status_code == 200


async def test_models_that_are_bound_to_the_server_that_goes_are_named(robot):
    await robot.apply(bundle(TWO, model("middle", "qwen3:14b", server="gpu-2")))
    await robot.post("/endpoints/gpu-2/drain")

    refused = await robot.post(MERGE, {"duplicate": "gpu-2"})

    assert error_of(refused) == (
        409,
        "merge-refused",
        "default/middle is bound to gpu-2: change serverRef to gpu-1 first.",
    )
    assert len((await robot.get("/endpoints")).json()["endpoints"]) == 2


@pytest.mark.parametrize("path", [MERGE, "/endpoints/nobody/merge"])
async def test_a_server_that_is_not_there_is_not_merged(robot, path):
    await robot.apply(TWO)

    assert error_of(await robot.post(path, {"duplicate": "gpu-3"}))[:2] == (404, "unknown-server")


async def test_who_may_only_look_changes_nothing(caller, robot):
    await robot.apply(TWO)
    reader, stranger = await caller("read"), await caller()

    answers = [
        await reader.get("/aliases"),
        await reader.post("/aliases", BOTH),
        await reader.delete("/aliases?alias=https://box:11434"),
        await reader.post(MERGE, {"duplicate": "gpu-2"}),
        await stranger.get("/aliases"),
    ]

    assert [answer.status_code for answer in answers] == [200, 403, 403, 403, 403]
    assert not await EndpointAlias.objects.aexists()
