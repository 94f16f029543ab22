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
        ({"now": None}, "body"),
    ],
)
async def test_half_a_snapshot_is_refused_with_the_field_that_is_wrong(caller, change, field):
    robot = await caller("read")

    answer = await robot.post("/decide", SNAPSHOT | change)

    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "invalid")
    assert answer.json()["error"]["details"][0]["field"] == field


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
