"""`POST /decide`: the contract of the what-if, and what it says to whoever sends half of it."""

import pytest

from tests.example import SNAPSHOT

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("valkey_url")]


async def test_a_snapshot_is_decided_with_what_was_weighed(caller):
    """32b does not fit beside 14b, which is in use: the wait for 14b's slot is what is left."""
    robot = await caller("read")

    answer = await robot.post("/decide", SNAPSHOT)

    assert (answer.status_code, answer.json()) == (
        200,
        {
            "action": "queue",
            "server": "gpu-1",
            "model": "qwen3:14b",
            "evicts": [],
            "reason": None,
            "costSeconds": 25.0,
            "options": [
                {
                    "action": "queue",
                    "server": "gpu-1",
                    "model": "qwen3:14b",
                    "costSeconds": 25.0,
                    "evicts": [],
                    "why": "wait for a slot of qwen3:14b on gpu-1 (25 s): chosen",
                }
            ],
        },
    )


async def test_a_request_alone_is_decided_on_the_living_cluster(caller):
    """Nothing is registered: no server could ever hold the model."""
    robot = await caller("read")

    answer = await robot.post("/decide", {"request": {"candidates": [{"model": "qwen3:14b", "score": 1}]}})

    assert (answer.json()["action"], answer.json()["reason"]) == ("stand_aside", "model-too-large")


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"request": {"candidates": []}}, "request.candidates"),
        ({"request": {"candidates": [{"model": "m", "score": "high"}]}}, "request.candidates[0].score"),
        ({"servers": [{"name": "a", "slots": 0}]}, "servers[0].slots"),
        ({"servers": [{"name": "a", "totalMib": 1}]}, "servers[0].totalMib"),
        ({"servers": [{"name": "a"}, {"name": "a"}]}, "body"),
        ({"servers": [{"name": "a", "resourceGroup": {"name": "bus-1"}}]}, "servers[0].resourceGroup.maxConcurrent"),
        (
            {"servers": [{"name": "a", "resourceGroup": {"name": "bus-1", "maxConcurrent": 0}}]},
            "servers[0].resourceGroup.maxConcurrent",
        ),
        ({"now": None}, "body"),
    ],
)
async def test_half_a_snapshot_is_refused_with_the_field_that_is_wrong(caller, change, field):
    robot = await caller("read")

    answer = await robot.post("/decide", SNAPSHOT | change)

    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "invalid")
    assert answer.json()["error"]["details"][0]["field"] == field


async def test_the_cap_of_a_resource_group_is_weighed(caller):
    """A-35. gpu-2 has what is wanted and a free slot; the group's only place is taken on gpu-1, for 25 s still."""
    robot = await caller("read")
    bus = {"resourceGroup": {"name": "bus-1", "maxConcurrent": 1}}
    first = SNAPSHOT["servers"][0] | bus
    second = {"name": "gpu-2", "residents": [{"model": "qwen3:32b", "footprintMiB": 20480}]} | bus

    answer = await robot.post("/decide", SNAPSHOT | {"servers": [first, second]})
    free = await robot.post("/decide", SNAPSHOT | {"servers": [first, second | {"resourceGroup": None}]})

    assert (answer.json()["action"], answer.json()["costSeconds"]) == ("queue", 25.0)
    assert (free.json()["action"], free.json()["server"]) == ("use", "gpu-2")


async def test_servers_that_contradict_each_other_about_their_group_are_refused_by_name(caller):
    robot = await caller("read")
    servers = [
        {"name": name, "resourceGroup": {"name": "bus-1", "maxConcurrent": most}}
        for name, most in (("gpu-1", 2), ("gpu-2", 2), ("gpu-3", 4))
    ]

    answer = await robot.post("/decide", SNAPSHOT | {"servers": servers})

    assert answer.status_code == 422
    (problem,) = answer.json()["error"]["details"]
    assert "resourceGroup.maxConcurrent of gpu-3 must be 2, not 4: gpu-1 is in the resource group bus-1" in str(problem)


async def test_numbers_that_are_none_are_refused(caller):
    """nan makes every comparison false, and the answer no JSON (C87)."""
    robot = await caller("read")

    answer = await robot._send(
        robot.client.post,
        "/decide",
        '{"now": 1, "servers": [], "request": {"candidates": [{"model": "m", "score": NaN}]}}',
        content_type="application/json",
    )

    assert answer.status_code in (400, 422)


async def test_what_if_takes_the_scope_read(caller):
    robot = await caller("call")

    assert (await robot.post("/decide", SNAPSHOT)).status_code == 403
