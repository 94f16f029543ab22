"""Endpoints over REST: who may look and who may act, what both say, on a real ledger."""

import json
import logging

import pytest

from scheduler import bootstrap
from scheduler.core.ledger import LeftChange, ServerSeen
from scheduler.core.snapshot import Resident
from tests.crds.documents import bundle, model, server

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("valkey_url")]

CAP = "  scheduling: {memoryMiB: 32768, maxConcurrent: 2, interactiveReserve: 1}\n"
ELSEWHERE = server("gpu-2", spec=CAP).replace("{name: gpu-2}", "{name: gpu-2, namespace: team-b}")


@pytest.fixture
async def robot(caller):
    """Give a program with every scope, and two servers: one holds qwen3:14b."""
    robot = await caller("read", "call", "write")
    applied = await robot.apply(bundle(server("gpu-1", spec=CAP), ELSEWHERE, model("middle", "qwen3:14b", vram=10240)))
    assert applied.status_code == 200, applied.content
    for name, residents in (("gpu-1", (Resident(model="qwen3:14b", footprint_mib=10240),)), ("team-b/gpu-2", ())):
        await probed(name, residents)
    return robot


async def probed(name, residents):
    """See a ready server with nothing on its disk but what it holds."""
    rt = await bootstrap.runtime()
    probe = await rt.ledger.probe_begin(server=name, lease_s=10)
    models = tuple(resident.model for resident in residents)
    seen = ServerSeen(phase="ready", ready=True, since=rt.now(), residents=residents, models=models)
    await rt.ledger.probe_end(server=name, probe=probe, seen=seen)


async def error_of(answer):
    """Read an error that must have the one shape."""
    error = answer.json()["error"]
    assert set(error) == {"code", "message", "details"}
    return answer.status_code, error["code"]


async def test_an_open_endpoint_tells_its_cap_its_reserve_and_what_is_in_flight_by_class(robot):
    for priority in ("interactive", "background"):
        await robot.post("/tickets", {"model": "qwen3:14b", "priority": priority, "wait": 0})

    shown = (await robot.get("/endpoints/gpu-1/admission")).json()

    endpoint = (await bootstrap.runtime()).ledger.replica.servers["gpu-1"].config.endpoint
    assert shown == {
        "name": "gpu-1",
        "endpoint": endpoint,
        "health": "ready",
        "takesCalls": True,
        "state": "open",
        "isDrained": False,
        "reason": None,
        "since": None,
        "by": None,
        "cause": None,
        "message": "",
        "circuit": {"state": "closed", "failures": 0, "since": None, "until": None, "status": None},
        "maxConcurrent": 2,
        "interactiveReserve": 1,
        "abortsOnDisconnect": True,
        "quarantineOnAmbiguous": False,
        "failMode": "closed",
        "capShared": True,
        "localCalls": 0,
        "resourceGroup": None,
        "inFlight": {"total": 1, "interactive": 1, "background": 0, "loading": 0, "held": 0, "left": 0},
        "waiting": 1,
        "possibleDuplicates": [],
        "resourceVersion": "1",
    }
    listed = (await robot.get("/endpoints")).json()["endpoints"]
    assert [one["name"] for one in listed] == ["gpu-1", "team-b/gpu-2"]
    assert listed[0] == {key: value for key, value in shown.items() if key != "resourceVersion"}


async def test_a_name_with_its_namespace_works_in_the_path(robot):
    paths = ("team-b/gpu-2", "default/gpu-1", "gpu-1")

    names = [(await robot.get(f"/endpoints/{path}/admission")).json()["name"] for path in paths]
    paused = (await robot.post("/endpoints/team-b/gpu-2/pause")).json()

    assert names == ["team-b/gpu-2", "gpu-1", "gpu-1"]
    assert (paused["name"], paused["state"]) == ("team-b/gpu-2", "paused")


STEPS = [
    ("pause", "paused", "Paused: new fans. What runs here goes on; nothing new is placed here until it is resumed."),
    ("drain", "draining", "Drained: new fans. Nothing runs here; it takes calls again once it is resumed."),
    ("quarantine", "quarantined", "Taken out: new fans. Nothing is placed here. An operator takes it back."),
]


@pytest.mark.parametrize(("step", "state", "message"), STEPS)
async def test_each_step_says_what_changed_and_its_way_back_undoes_it(robot, step, state, message, caplog):
    back = "clear-quarantine" if step == "quarantine" else "resume"

    with caplog.at_level(logging.INFO, logger="kubemoot_web"):
        done = (await robot.post(f"/endpoints/gpu-1/{step}", {"reason": " new\n fans "})).json()
        again = (await robot.post(f"/endpoints/gpu-1/{step}", {"reason": "new fans"})).json()
        undone = (await robot.post(f"/endpoints/gpu-1/{back}")).json()

    assert (done["changed"], again["changed"], undone["changed"]) == (True, False, True)
    assert (done["state"], done["takesCalls"], done["by"], done["message"]) == (state, False, "operator", message)
    assert (done["isDrained"], bool(done["since"])) == (step == "drain", True)
    assert (undone["state"], undone["takesCalls"], undone["message"]) == ("open", True, "")
    lines = [record.getMessage() for record in caplog.records if record.name == "kubemoot_web.access.operating"]
    assert lines == [
        f"endpoint 'gpu-1': {step}, by 'robot', because 'new fans'",
        f"endpoint 'gpu-1': {back}, by 'robot'",
    ]


async def test_the_queue_tells_who_waits_for_what_since_when_and_who_would_be_sent_away(robot):
    await robot.post("/tickets", {"model": "qwen3:14b", "wait": 0})
    waiting = (await robot.post("/tickets", {"model": "qwen3:14b", "purpose": "router", "wait": 0})).json()

    told = (await robot.get("/endpoints/gpu-1/queue")).json()

    (first,) = told.pop("queue")
    assert told == {"endpoint": "gpu-1", "count": 1}
    wanted = {
        "id": waiting["waiter"],
        "agent": "robot",
        "crew": None,
        "model": "qwen3:14b",
        "server": "gpu-1",
        "reason": "gpu-busy",
        "message": "waiting for a free slot of qwen3:14b on gpu-1",
        "priority": "interactive",
        "position": 1,
        "purpose": "router",
        "elsewhere": [],
        "isCleared": True,
    }
    assert {key: first[key] for key in wanted} == wanted
    assert set(first) == {*wanted, "etaSeconds", "since", "until", "key"}
    assert first["etaSeconds"] > 0
    assert (await robot.get("/endpoints/team-b/gpu-2/queue")).json() == {
        "endpoint": "team-b/gpu-2",
        "count": 0,
        "queue": [],
    }


async def test_clearing_the_queue_counts_who_was_sent_away(robot):
    await robot.post("/tickets", {"model": "qwen3:14b", "wait": 0})
    waiting = (await robot.post("/tickets", {"model": "qwen3:14b", "wait": 0})).json()

    cleared = (await robot.post("/endpoints/gpu-1/clear-queue", {"reason": "wrong job"})).json()
    again = (await robot.post("/endpoints/gpu-1/clear-queue")).json()

    assert (cleared["changed"], cleared["sentAway"], cleared["waiting"]) == (True, 1, 0)
    assert (again["changed"], again["sentAway"]) == (False, 0)
    aside = await robot.get(f"/waiters/{waiting['waiter']}?wait=0")
    assert (aside.status_code, aside.json()["standAside"]) == (409, "queue-cleared")


async def test_cap_and_reserve_are_fields_of_the_resource_under_its_version(robot):
    first = (await robot.put("/endpoints/gpu-1/admission", {"maxConcurrent": 4})).json()
    second = (await robot.put("/endpoints/gpu-1/admission", {"interactiveReserve": 2, "resourceVersion": "2"})).json()
    lost = await robot.put("/endpoints/gpu-1/admission", {"maxConcurrent": 9, "resourceVersion": "2"})
    none = (await robot.put("/endpoints/gpu-1/admission", {"maxConcurrent": None, "interactiveReserve": 0})).json()
    local = (await robot.put("/endpoints/gpu-1/admission", {"failMode": "local"})).json()

    assert (first["maxConcurrent"], first["interactiveReserve"], first["resourceVersion"]) == (4, 1, "2")
    assert (second["maxConcurrent"], second["interactiveReserve"], second["resourceVersion"]) == (4, 2, "3")
    assert await error_of(lost) == (409, "conflict")
    assert (none["maxConcurrent"], none["interactiveReserve"], none["resourceVersion"]) == (None, 0, "4")
    assert [each["failMode"] for each in (first, second, none, local)] == ["closed", "closed", "closed", "local"]
    spec = (await robot.get("/resources/modelservers/default/gpu-1")).json()["spec"]
    assert spec["scheduling"]["memoryMiB"] == 32768


async def test_what_the_engine_does_when_a_client_leaves_is_set_here_and_who_works_on_is_counted(robot):
    """A-23."""
    claimed = (await robot.post("/tickets", {"model": "qwen3:14b", "wait": 0})).json()

    put = (await robot.put("/endpoints/gpu-1/admission", {"abortsOnDisconnect": False})).json()
    rt = await bootstrap.runtime()
    await rt.ledger.commit(changes=[LeftChange(ticket=claimed["id"])], now=rt.now())
    shown = (await robot.get("/endpoints/gpu-1/admission")).json()

    assert (put["abortsOnDisconnect"], put["maxConcurrent"], shown["inFlight"]["left"]) == (False, 2, 1)
    assert rt.ledger.replica.servers["gpu-1"].config.aborts_on_disconnect is False


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({"maxConcurrent": 0}, "greater than or equal to 1"),
        ({"interactiveReserve": -1}, "greater than or equal to 0"),
        ({"interactiveReserve": 3}, "more than maxConcurrent 2"),
        ({"maxConcurrent": "many"}, "valid integer"),
        ({"abortsOnDisconnect": "no"}, "valid boolean"),
        ({"abortsOnDisconnect": None}, "valid boolean"),
        ({"quarantineOnAmbiguous": 1}, "valid boolean"),
        ({"failMode": "open"}, "'closed' or 'local'"),
        ({"cap": 2}, "not permitted"),
        ({}, "say at least one of maxConcurrent"),
        ({"resourceVersion": "1"}, "say at least one of maxConcurrent"),
        ({"resourceGroup": {"maxConcurrent": 0}}, "greater than or equal to 1"),
        ({"resourceGroup": {"name": "bus-1", "maxConcurrent": 2}}, "not permitted"),
        ({"resourceGroup": {"maxConcurrent": 2}}, "gpu-1 is in no resource group"),
    ],
)
async def test_a_wrong_limit_is_refused_and_nothing_is_stored(robot, body, says):
    """A-18: no cap of 0; that is what a pause is for."""
    answer = await robot.put("/endpoints/gpu-1/admission", body)

    assert answer.status_code == 422
    assert says in json.dumps(answer.json()["error"])
    assert (await robot.get("/endpoints/gpu-1/admission")).json()["resourceVersion"] == "1"


async def test_what_is_not_there_is_404_and_what_is_no_step_422(robot):
    for answer in (
        await robot.get("/endpoints/gpu-9/admission"),
        await robot.get("/endpoints/gpu-9/queue"),
        await robot.post("/endpoints/gpu-9/pause"),
        await robot.post("/endpoints/gpu-9/clear-queue"),
    ):
        assert await error_of(answer) == (404, "unknown-server")
    assert await error_of(await robot.put("/endpoints/gpu-9/admission", {"maxConcurrent": 1})) == (404, "not-found")
    assert await error_of(await robot.post("/endpoints/gpu-1/stop")) == (422, "invalid")
    assert await error_of(await robot.post("/endpoints/gpu-1/pause", {"reason": "x" * 201})) == (422, "invalid")


async def test_looking_needs_read_and_acting_needs_write(robot, caller):
    reader, writer, stranger = await caller("read", "call"), await caller("write"), await caller("read")
    stranger.headers = {}

    refused = [
        await writer.get("/endpoints"),
        await writer.get("/endpoints/gpu-1/admission"),
        await writer.get("/endpoints/gpu-1/queue"),
        await reader.put("/endpoints/gpu-1/admission", {"maxConcurrent": 1}),
        *[await reader.post(f"/endpoints/gpu-1/{step}") for step in ("pause", "resume", "drain", "quarantine")],
        *[await reader.post(f"/endpoints/gpu-1/{step}") for step in ("clear-quarantine", "clear-queue")],
    ]

    assert [await error_of(answer) for answer in refused] == [(403, "forbidden")] * len(refused)
    assert await error_of(await stranger.get("/endpoints")) == (401, "unauthorized")
    assert (await reader.get("/endpoints/gpu-1/admission")).json()["state"] == "open"


async def test_the_documentation_shows_an_example_of_each_answer(robot):
    paths = (await robot.get("/openapi.json")).json()["paths"]

    for path, methods in paths.items():
        if path.startswith("/api/v1/endpoints"):
            for method, route in methods.items():
                assert route["responses"]["200"]["content"]["application/json"]["example"], (path, method)
    example = paths["/api/v1/endpoints/{name}/admission"]["get"]["responses"]["200"]["content"]["application/json"]
    assert set(example["example"]) == set((await robot.get("/endpoints/gpu-1/admission")).json())
