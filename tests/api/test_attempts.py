"""`/attempts` and the calls that they belong to, as programs read them."""

import pytest

from scheduler import bootstrap
from scheduler.models import Attempt
from tests.queries.test_attempts import attempt
from tests.queries.test_history import NOON, call, time

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
async def robot(caller, valkey_url):
    return await caller("read")


async def test_attempts_are_listed_newest_first_page_by_page(robot):
    await Attempt.objects.abulk_create([attempt("a"), attempt("a.2", 1, server="gpu-2"), attempt("b", 2)])

    first = (await robot.get("/attempts?limit=2")).json()
    second = (await robot.get(f"/attempts?limit=2&before={first['next']}")).json()

    assert ([one["id"] for one in first["attempts"]], first["next"]) == (["b", "a.2"], "a.2")
    assert ([one["id"] for one in second["attempts"]], second["next"]) == (["a"], None)


async def test_filters_narrow_attempts(robot):
    await Attempt.objects.abulk_create(
        [attempt("a", outcome="error"), attempt("b", 1, server="gpu-2", endpoint="http://x/y"), attempt("c", 2)]
    )

    async def found(query: str) -> list[str]:
        return [one["id"] for one in (await robot.get(f"/attempts?{query}")).json()["attempts"]]

    assert await found("outcome=error") == ["a"]
    assert await found("server=gpu-2") == ["b"]
    assert await found("endpoint=http://x/y") == ["b"]
    assert await found("since=2026-11-29T12:03:02Z") == ["c"]
    assert (await robot.get("/attempts?since=soon")).status_code == 422


async def test_an_attempt_tells_everything_but_a_text(robot):
    """A-50, A-52"""
    times = {"admitted_at": 2, "started_at": 3, "first_byte_at": 4, "finished_at": 10}
    await attempt(
        "a.2",
        1,
        **{name: time(NOON + at) for name, at in times.items()},
        model="m",
        key="km_ab12",
        purpose="router",
        status=200,
        prompt_tokens=3,
        completion_tokens=4,
    ).asave()

    (found,) = (await robot.get("/attempts")).json()["attempts"]

    assert found == {
        "id": "a.2",
        "call": "a",
        "number": 2,
        "server": "gpu-1",
        "endpoint": "http://gpu-1:11434",
        "model": "m",
        "agent": "default/scout",
        "crew": None,
        "purpose": "router",
        "priority": "interactive",
        "key": "km_ab12",
        "queuedAt": "2026-11-29T12:03:01.000Z",
        "admittedAt": "2026-11-29T12:03:02.000Z",
        "startedAt": "2026-11-29T12:03:03.000Z",
        "firstByteAt": "2026-11-29T12:03:04.000Z",
        "finishedAt": "2026-11-29T12:03:10.000Z",
        "queueDelayMs": 1000,
        "execMs": 8000,
        "outcome": "ok",
        "status": 200,
        "promptTokens": 3,
        "completionTokens": 4,
    }


async def test_the_summary_tells_of_each_server_how_attempts_ended_queued_and_changed_models(robot):
    """A-53"""
    now = (await bootstrap.runtime()).now() - NOON
    await Attempt.objects.abulk_create(
        [
            *(
                attempt(f"a{n}", now - 600 + n, model=model, admitted_at=time(NOON + now - 590 + n))
                for n, model in enumerate(("m", "n", "m"))
            ),
            attempt("old", now - 4000, outcome="error"),
        ]
    )

    answer = (await robot.get("/attempts/summary")).json()

    assert answer["servers"] == [
        {
            "server": "gpu-1",
            "endpoint": "http://gpu-1:11434",
            "attempts": 3,
            "outcomes": {"ok": 3},
            "queueP50Ms": 10000,
            "queueP95Ms": 10000,
            "modelSwitches": 2,
            "avoidableSwitches": 1,
            "switchesPerHour": 2.0,
        }
    ]
    since = (await robot.get("/attempts/summary?since=2026-01-01T00:00:00Z")).json()
    assert since["servers"][0]["outcomes"] == {"ok": 3, "error": 1}


async def test_one_call_tells_its_attempts_and_is_found_by_any_of_their_ids(robot):
    await call("a", attempts=2, outcome="ok", key="km_ab12", first_byte_at=time(NOON)).asave()
    await Attempt.objects.abulk_create([attempt("a", outcome="error", status=503), attempt("a.2", 1)])

    shown = (await robot.get("/calls/a")).json()

    assert (shown["key"], shown["outcome"], shown["attemptCount"]) == ("km_ab12", "ok", 2)
    assert shown["firstByteAt"] == "2026-11-29T12:03:00.000Z"
    assert [(one["id"], one["outcome"], one["status"]) for one in shown["attempts"]] == [
        ("a", "error", 503),
        ("a.2", "ok", None),
    ]
    assert (await robot.get("/calls/a.2")).json() == shown
    assert (await robot.get("/calls")).json()["calls"][0]["outcome"] == "ok"


async def test_whoever_may_not_read_sees_no_attempts(caller, valkey_url):
    stranger = await caller("call")

    assert [(await stranger.get(path)).status_code for path in ("/attempts", "/attempts/summary")] == [403, 403]
