"""Tickets, waiters, plans and the live picture over REST, on a real ledger; engines are written down, not run."""

import pytest

from scheduler import bootstrap
from scheduler.core.ledger import ServerSeen
from scheduler.core.snapshot import Resident
from scheduler.services.project import project
from tests.crds.documents import bundle, crew, server

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("valkey_url")]

AGENT = """
apiVersion: kubemoot.ai/v1alpha1
kind: Agent
metadata: {name: analyst, labels: {kubemoot.ai/crew: lab}}
spec: {capabilities: [analysis]}
"""
MODEL = """
apiVersion: kubemoot.ai/v1alpha1
kind: Model
metadata: {name: middle, labels: {capability/analysis: "true"}}
spec: {model: "qwen3:14b", vramMib: 10240}
"""


@pytest.fixture
async def robot(caller):
    """Give a program with every scope, and one server that holds qwen3:14b."""
    robot = await caller("read", "call", "write")
    applied = await robot.apply(bundle(server("gpu-1"), crew("lab"), AGENT, MODEL))
    assert applied.status_code == 200, applied.content
    rt = await bootstrap.runtime()
    probe = await rt.ledger.probe_begin(server="gpu-1", lease_s=10)
    residents = (Resident(model="qwen3:14b", footprint_mib=10240, context_length=8192),)
    seen = ServerSeen(phase="ready", ready=True, since=rt.now(), residents=residents, probed_at=rt.now())
    await rt.ledger.probe_end(server="gpu-1", probe=probe, seen=seen)
    return robot


async def test_a_warm_model_gives_a_ticket_that_is_renewed_and_given_back(robot):
    answer = await robot.post("/tickets", {"agent": "analyst", "thread": "t", "wait": 0})
    ticket = answer.json()
    rt = await bootstrap.runtime()

    assert answer.status_code == 201
    assert ticket == {
        "id": ticket["id"],
        "call": ticket["call"],
        "agent": "default/analyst",
        "server": "gpu-1",
        "endpoint": rt.ledger.replica.servers["gpu-1"].config.endpoint,
        "model": "qwen3:14b",
        "action": "use",
        "waitedMs": 0,
        "evicted": [],
        "leaseSeconds": 15.0,
        "options": {"num_ctx": 8192},
    }
    renewed = await robot.post(f"/tickets/{ticket['id']}/renew")
    assert renewed.json() == {"id": ticket["id"], "leaseSeconds": 15.0}
    for expected in (True, False):
        released = await robot.delete(f"/tickets/{ticket['id']}", {"ok": True, "completionTokens": 12})
        assert (released.status_code, released.json()) == (200, {"id": ticket["id"], "released": expected})
    gone = await robot.post(f"/tickets/{ticket['id']}/renew")
    assert (gone.status_code, gone.json()["error"]["code"]) == (404, "ticket-gone")


async def test_a_ticket_may_be_given_back_without_a_body(robot):
    ticket = (await robot.post("/tickets", {"model": "qwen3:14b"})).json()

    assert (await robot.delete(f"/tickets/{ticket['id']}")).json()["released"] is True


async def test_a_busy_model_makes_a_waiter_that_is_looked_up_and_given_up(robot):
    holder = (await robot.post("/tickets", {"model": "qwen3:14b"})).json()
    answer = await robot.post("/tickets", {"capabilities": ["analysis"], "wait": 0})
    waiter = answer.json()

    assert answer.status_code == 202
    assert (waiter["model"], waiter["reason"], waiter["position"], waiter["state"]) == (
        "qwen3:14b",
        "gpu-busy",
        1,
        "waiting",
    )
    assert 0 < waiter["etaSeconds"] <= 30
    assert (await robot.get(f"/waiters/{waiter['waiter']}")).status_code == 202
    picture = (await robot.get("/cluster")).json()
    assert [(w["id"], w["position"]) for w in picture["waiters"]] == [(waiter["waiter"], 1)]
    assert [t["id"] for t in picture["servers"][0]["tickets"]] == [holder["id"]]
    for expected in (True, False):
        left = await robot.delete(f"/waiters/{waiter['waiter']}")
        assert (left.status_code, left.json()) == (200, {"id": waiter["waiter"], "ended": expected})
    assert (await robot.get(f"/waiters/{waiter['waiter']}")).status_code == 404


async def test_a_freed_slot_reaches_the_waiter(robot):
    holder = (await robot.post("/tickets", {"model": "qwen3:14b"})).json()
    waiter = (await robot.post("/tickets", {"agent": "default/analyst", "wait": 0})).json()

    await robot.delete(f"/tickets/{holder['id']}", {"ok": True})

    granted = await robot.get(f"/waiters/{waiter['waiter']}?wait=5")
    assert (granted.status_code, granted.json()["model"]) == (200, "qwen3:14b")
    assert (await robot.get(f"/waiters/{waiter['waiter']}")).status_code == 404


async def test_a_model_that_nobody_can_hold_stands_aside(robot):
    answer = await robot.post("/tickets", {"model": "giant:900b"})

    assert answer.status_code in (202, 409)
    if answer.status_code == 202:
        await robot.delete(f"/waiters/{answer.json()['waiter']}")


async def test_a_plan_holds_a_place_that_the_agents_call_takes(robot):
    planned = await robot.post("/plans", {"agent": "default/analyst", "thread": "t9"})
    plan = planned.json()
    assert planned.status_code == 201
    assert (plan["held"], plan["server"], plan["model"], plan["action"]) == (True, "gpu-1", "qwen3:14b", "use")
    stranger = await robot.post("/tickets", {"model": "qwen3:14b", "wait": 0})
    assert stranger.status_code == 202

    ticket = await robot.post("/tickets", {"agent": "analyst", "thread": "t9", "wait": 0})

    assert ticket.status_code == 201
    for expected in (False, False):
        assert (await robot.delete(f"/plans/{plan['id']}")).json() == {"id": plan["id"], "dropped": expected}
    await robot.delete(f"/waiters/{stranger.json()['waiter']}")


async def test_several_agents_are_planned_at_once(robot):
    answer = await robot.post("/plans", {"agents": ["default/analyst"], "thread": "t"})

    assert [plan["agent"] for plan in answer.json()["plans"]] == ["default/analyst"]
    assert (await robot.delete(f"/plans/{answer.json()['plans'][0]['id']}")).json()["dropped"] is True


@pytest.mark.parametrize(
    ("path", "body", "status", "code"),
    [
        ("/tickets", {}, 422, "invalid"),
        ("/tickets", {"agent": "a", "model": "m"}, 422, "invalid"),
        ("/tickets", {"model": "m", "wait": -1}, 422, "invalid"),
        ("/tickets", {"model": "m", "waits": 1}, 422, "invalid"),
        ("/tickets", {"agent": "default/nobody"}, 404, "unknown-agent"),
        ("/tickets", {"capabilities": ["flying"]}, 422, "no-candidates"),
        ("/plans", {"thread": "t"}, 422, "invalid"),
        ("/plans", {"agent": "default/nobody", "thread": "t"}, 404, "unknown-agent"),
    ],
)
async def test_a_wrong_request_is_told_what_is_wrong(robot, path, body, status, code):
    answer = await robot.post(path, body)

    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)
    assert answer.json()["error"]["message"]


async def test_the_scopes_are_kept(caller, robot):
    reader = await caller("read")
    other = await caller("call", agent="default/other")
    stranger = await caller()
    stranger.headers = {}

    assert (await reader.post("/tickets", {"model": "qwen3:14b"})).status_code == 403
    assert (await other.post("/tickets", {"agent": "default/analyst"})).status_code == 403
    assert (await other.get("/cluster")).status_code == 403
    assert (await stranger.get("/cluster")).status_code == 401
    assert (await robot.get("/cluster")).status_code == 200


@pytest.mark.parametrize("bound", [{"agent": "default/other"}, {"crew": "default/other"}])
async def test_a_bound_token_touches_nothing_of_others_though_it_may_know_the_ids(caller, robot, bound):
    """Every id stands in the live picture: whoever may look at it could give others' places back."""
    other = await caller("call", **bound)
    plan = (await robot.post("/plans", {"agent": "analyst", "thread": "t"})).json()
    ticket = (await robot.post("/tickets", {"agent": "analyst", "plan": plan["id"], "wait": 0})).json()
    waiter = (await robot.post("/tickets", {"agent": "analyst", "wait": 0})).json()["waiter"]
    later = (await robot.post("/plans", {"agent": "analyst", "thread": "later"})).json()["id"]

    refused = [
        await other.post(f"/tickets/{ticket['id']}/renew"),
        await other.delete(f"/tickets/{ticket['id']}"),
        await other.get(f"/waiters/{waiter}"),
        await other.delete(f"/waiters/{waiter}"),
        await other.delete(f"/plans/{later}"),
    ]

    assert [answer.status_code for answer in refused] == [403] * len(refused)
    assert (await robot.delete(f"/plans/{later}")).json()["dropped"] is True
    assert (await robot.delete(f"/waiters/{waiter}")).json()["ended"] is True
    assert (await robot.delete(f"/tickets/{ticket['id']}")).json()["released"] is True


async def test_a_bound_token_cannot_take_the_place_that_is_held_for_another_agent(caller, robot):
    other = await caller("call", agent="default/other")
    plan = (await robot.post("/plans", {"agent": "analyst", "thread": "t"})).json()

    taken = await other.post("/tickets", {"model": "qwen3:14b", "plan": plan["id"], "wait": 0})

    assert (plan["held"], taken.status_code) == (True, 403)


async def test_a_bound_token_does_everything_with_what_is_its_own(caller, robot):
    own = await caller("call", agent="default/analyst", crew="default/lab")
    ticket = (await own.post("/tickets", {"agent": "analyst", "wait": 0})).json()["id"]

    assert (await own.post(f"/tickets/{ticket}/renew")).status_code == 200
    assert (await own.delete(f"/tickets/{ticket}")).json()["released"] is True
    assert (await own.delete(f"/tickets/{ticket}")).json()["released"] is False
    assert (await own.get("/waiters/unknown")).status_code == 404


async def test_a_finished_call_is_history_with_its_decision(robot):
    ticket = (await robot.post("/tickets", {"agent": "analyst", "purpose": "batch"})).json()
    await robot.delete(f"/tickets/{ticket['id']}", {"ok": True, "promptTokens": 7, "completionTokens": 12})
    rt = await bootstrap.runtime()
    await project(ledger=rt.ledger, history=rt.history, written=rt.written)
    assert await project(ledger=rt.ledger, history=rt.history, written=rt.written) == 0

    listed = (await robot.get("/calls?agent=default/analyst&limit=5")).json()
    shown = (await robot.get(f"/calls/{ticket['call']}")).json()

    assert [call["id"] for call in listed["calls"]] == [ticket["call"]]
    assert (shown["state"], shown["server"], shown["model"], shown["promptTokens"], shown["completionTokens"]) == (
        "done",
        "gpu-1",
        "qwen3:14b",
        7,
        12,
    )
    assert shown["decision"]["action"] == "use"
    (attempt,) = shown["attempts"]
    assert (attempt["id"], attempt["server"], attempt["outcome"]) == (ticket["call"], "gpu-1", "ok")
    assert attempt["queueDelayMs"] is not None
    assert attempt["execMs"] is not None
    assert (await robot.get("/calls/unknown")).status_code == 404


async def test_an_agents_ranking_says_why(robot):
    answer = await robot.get("/agents/default/analyst/ranking")

    assert [entry["model"] for entry in answer.json()["mulling"]] == ["qwen3:14b"]
    assert answer.json()["mulling"][0]["why"]
    assert (await robot.get("/agents/default/nobody/ranking")).status_code == 404
