"""A-35. The cap of a resource group over REST: shown on each of its endpoints, and set on all of them."""

import logging

import pytest

from scheduler import bootstrap
from scheduler.core.ledger import ServerSeen
from scheduler.core.snapshot import Resident
from tests.crds.documents import bundle, model, server

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("valkey_url")]

BUS = "  scheduling: {memoryMiB: 32768, resourceGroup: {name: default/bus-1, maxConcurrent: 1}}\n"
ELSEWHERE = server("gpu-2", spec=BUS).replace("{name: gpu-2}", "{name: gpu-2, namespace: team-b}")


@pytest.fixture
async def robot(caller):
    """Give a program with every scope, and two servers in one group, the first of which runs a call."""
    robot = await caller("read", "call", "write")
    applied = await robot.apply(bundle(server("gpu-1", spec=BUS), ELSEWHERE, model("middle", "qwen3:14b", vram=10240)))
    assert applied.status_code == 200, applied.content
    rt = await bootstrap.runtime()
    probe = await rt.ledger.probe_begin(server="gpu-1", lease_s=10)
    held = (Resident(model="qwen3:14b", footprint_mib=10240),)
    seen = ServerSeen(phase="ready", ready=True, since=rt.now(), residents=held, models=("qwen3:14b",))
    await rt.ledger.probe_end(server="gpu-1", probe=probe, seen=seen)
    assert (await robot.post("/tickets", {"model": "qwen3:14b", "wait": 0})).status_code == 201
    return robot


async def group_of(robot, name):
    """Read what an endpoint shows of its group, what is in flight on itself, and its version."""
    shown = (await robot.get(f"/endpoints/{name}/admission")).json()
    return shown["resourceGroup"], shown["inFlight"]["total"], shown["resourceVersion"]


async def test_it_is_shown_on_each_endpoint_with_what_is_in_flight_on_all(robot):
    group = {"name": "bus-1", "maxConcurrent": 1, "inFlight": 1, "endpoints": ["gpu-1", "team-b/gpu-2"]}

    assert await group_of(robot, "gpu-1") == (group, 1, "1")
    assert await group_of(robot, "team-b/gpu-2") == (group, 0, "1")
    listed = (await robot.get("/endpoints")).json()["endpoints"]
    assert [one["resourceGroup"] for one in listed] == [group, group]
    servers = (await robot.get("/cluster")).json()["servers"]
    assert [one["resourceGroup"] for one in servers] == [{"name": "bus-1", "maxConcurrent": 1}] * 2


async def test_it_is_set_on_all_endpoints_whichever_is_asked_under_that_one_s_version(robot, caplog):
    with caplog.at_level(logging.INFO):
        put = await robot.put(
            "/endpoints/team-b/gpu-2/admission", {"resourceGroup": {"maxConcurrent": 3}, "resourceVersion": "1"}
        )
    lost = await robot.put(
        "/endpoints/gpu-1/admission", {"resourceGroup": {"maxConcurrent": 9}, "resourceVersion": "1"}
    )

    group = {"name": "bus-1", "maxConcurrent": 3, "inFlight": 1, "endpoints": ["gpu-1", "team-b/gpu-2"]}
    assert (put.json()["resourceGroup"], put.json()["resourceVersion"]) == (group, "2")
    assert (lost.status_code, lost.json()["error"]["code"]) == (409, "conflict")
    assert await group_of(robot, "gpu-1") == (group, 1, "2")
    assert "endpoint 'team-b/gpu-2': limits {}, resource group 3, by 'robot'" in caplog.text
