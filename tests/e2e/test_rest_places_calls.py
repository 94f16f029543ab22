"""Real calls on engines of their own, by REST alone: the worked example, races, dead callers, broken engines."""

import json
import os
import random
import signal
import threading
import time
import urllib.request
from collections.abc import Iterator
from http.client import HTTPConnection
from urllib.parse import urlsplit

import pytest

from tests.e2e.conftest import LEASE_S, Stack
from tests.fakes.engine_server import read_state, switch_faults

pytestmark = pytest.mark.e2e


@pytest.fixture(autouse=True)
def left_clean(stack: Stack) -> Iterator[None]:
    """Every test begins with servers nothing was learned of, and leaves no ticket and no waiter.

    Whatever a test did, the engines never had to make room by themselves.
    """
    stack.register()
    yield
    stack.rest.until(lambda p: not p["waiters"] and not any(s["tickets"] for s in p["servers"]), within_s=30)
    for url in stack.engines.values():
        state = read_state(url)
        assert (state["selfEvictions"], state["reloads"]) == (0, 0)


def hold(stack: Stack, wait: float = 60, **wanted: object) -> dict:
    """Claim a ticket that must be granted."""
    status, body = stack.rest.call("POST", "/tickets", {**wanted, "wait": wait})
    assert status == 201, body
    return body


def waiting(stack: Stack, **wanted: object) -> dict:
    """Claim a ticket that cannot be granted now."""
    status, body = stack.rest.call("POST", "/tickets", {**wanted, "wait": 0})
    assert status == 202, body
    return body


def look(stack: Stack, waiter: str, wait: float = 30) -> tuple[int, dict]:
    """Long-poll a wait."""
    return stack.rest.call("GET", f"/waiters/{waiter}?wait={wait}")


def give_back(stack: Stack, *tickets: dict) -> None:
    """Release tickets."""
    for ticket in tickets:
        status, body = stack.rest.call("DELETE", f"/tickets/{ticket['id']}", {"ok": True})
        assert (status, body["released"]) == (200, True)


def keep(stack: Stack, *tickets: dict) -> None:
    """Renew tickets."""
    for ticket in tickets:
        assert stack.rest.call("POST", f"/tickets/{ticket['id']}/renew")[0] == 200


def engine_call(url: str, path: str, body: dict) -> dict:
    """Call an engine directly, as a caller with a ticket does."""
    request = urllib.request.Request(url + path, data=json.dumps(body).encode(), method="POST")
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.loads(answer.read())


def put_in_memory(stack: Stack, **models: list[str]) -> None:
    """Let outsiders load and unload until the engines hold exactly these models, and the ledger has seen it."""
    wanted = {name.replace("_", "-"): set(held) for name, held in models.items()}
    for name, url in stack.engines.items():
        for model in read_state(url)["loaded"]:
            if model not in wanted.get(name, set()):
                engine_call(url, "/api/generate", {"model": model, "keep_alive": 0})
        for model in wanted.get(name, set()) - set(read_state(url)["loaded"]):
            engine_call(url, "/api/generate", {"model": model, "keep_alive": -1})
    stack.rest.until(
        lambda p: (
            {s["name"]: {r["model"] for r in s["residents"]} for s in p["servers"]}
            == {name: wanted.get(name, set()) for name in stack.engines}
        )
    )


def test_the_worked_example(stack: Stack):
    """Scheduling rules, section 7, steps 1 to 5, with leases kept alive by hand."""
    put_in_memory(stack, gpu_1=["qwen3:14b"], gpu_2=["qwen3:8b"])
    busy = hold(stack, model="qwen3:8b")
    assert (busy["server"], busy["action"]) == ("gpu-2", "use")

    analyst = hold(stack, agent="default/analyst", thread="t1")
    assert (analyst["server"], analyst["model"], analyst["action"]) == ("gpu-1", "qwen3:14b", "use")

    keeper = waiting(stack, agent="default/rules-keeper")
    assert (keeper["model"], keeper["server"], keeper["reason"], keeper["position"]) == (
        "qwen3:14b",
        "gpu-1",
        "gpu-busy",
        1,
    )

    researcher = waiting(stack, agent="default/researcher")
    assert (researcher["model"], researcher["reason"]) == ("qwen3:32b", "gpu-busy")
    assert researcher["message"] == "waiting for a GPU with room for qwen3:32b"

    keep(stack, busy)
    give_back(stack, analyst)
    status, kept = look(stack, keeper["waiter"])
    assert (status, kept["server"], kept["model"]) == (200, "gpu-1", "qwen3:14b")
    assert look(stack, researcher["waiter"], wait=0)[0] == 202

    keep(stack, busy)
    give_back(stack, kept)
    status, granted = look(stack, researcher["waiter"])
    assert (status, granted["action"], granted["server"], granted["evicted"]) == (
        200,
        "evict",
        "gpu-1",
        ["qwen3:14b"],
    )
    assert read_state(stack.engines["gpu-1"])["loaded"] == ["qwen3:32b"]
    give_back(stack, granted, busy)

    status, refused = stack.rest.call("POST", "/tickets", {"model": "unheard-of:400b", "wait": 30})
    assert (status, refused["standAside"], refused["model"]) == (409, "model-too-large", "unheard-of:400b")


def test_planning_at_selection_starts_the_load_and_the_first_call_takes_the_held_place(stack: Stack):
    put_in_memory(stack)

    status, planned = stack.rest.call(
        "POST", "/plans", {"agents": ["default/analyst", "default/rules-keeper"], "thread": "t2"}
    )
    assert status == 201, planned
    held = [plan for plan in planned["plans"] if plan["held"]]
    assert {plan["model"] for plan in held} == {"qwen3:14b"}
    stack.rest.until(lambda p: any(r["model"] == "qwen3:14b" for s in p["servers"] for r in s["residents"]))

    owner = held[0]["agent"]
    ticket = hold(stack, agent=owner, thread="t2")
    assert (ticket["server"], ticket["model"]) == (held[0]["server"], "qwen3:14b")
    give_back(stack, ticket)
    for plan in planned["plans"]:
        stack.rest.call("DELETE", f"/plans/{plan['id']}")


def test_a_lost_lease_frees_the_slot_for_who_waits(stack: Stack):
    put_in_memory(stack, gpu_1=["qwen3:14b"], gpu_2=["qwen3:8b"])
    dead = hold(stack, model="qwen3:14b")
    waiter = waiting(stack, agent="default/rules-keeper")

    status, granted = look(stack, waiter["waiter"], wait=LEASE_S + 5)

    assert (status, granted["server"]) == (200, "gpu-1")
    assert stack.rest.call("POST", f"/tickets/{dead['id']}/renew")[0] == 404
    assert stack.rest.call("DELETE", f"/tickets/{dead['id']}", {"ok": True})[1] == {
        "id": dead["id"],
        "released": False,
    }
    give_back(stack, granted)


def test_a_caller_that_hangs_up_leaves_the_line_at_once(stack: Stack):
    put_in_memory(stack, gpu_1=["qwen3:14b"], gpu_2=["qwen3:8b"])
    running = hold(stack, model="qwen3:14b")
    connection = HTTPConnection(urlsplit(stack.rest.address).netloc)
    connection.request(
        "POST",
        "/api/v1/tickets",
        body=json.dumps({"agent": "default/rules-keeper", "wait": 60}),
        headers={"Authorization": f"Bearer {stack.rest.token}", "Content-Type": "application/json"},
    )
    stack.rest.until(lambda p: len(p["waiters"]) == 1)

    connection.close()

    stack.rest.until(lambda p: not p["waiters"], within_s=10)  # its lease would end after thirty
    give_back(stack, running)


def test_a_server_that_vanishes_gets_nothing_and_comes_back_by_itself(stack: Stack):
    put_in_memory(stack, gpu_1=["qwen3:14b"], gpu_2=["qwen3:8b"])
    switch_faults(stack.engines["gpu-1"], refuse=6)
    stack.rest.until(lambda p: p["servers"][0]["phase"] == "Failed")
    assert "gpu-1" in {s["name"] for s in stack.rest.cluster()["servers"]}
    assert stack.rest.server("gpu-1")["detail"]

    elsewhere = hold(stack, model="qwen3:14b")

    assert elsewhere["server"] == "gpu-2"
    give_back(stack, elsewhere)
    stack.rest.until(lambda p: p["servers"][0]["ready"], within_s=30)


@pytest.mark.parametrize("fault", ["nonsense", "error500", "hang"])
def test_a_server_that_answers_wrongly_is_shown_and_recovers(stack: Stack, fault: str):
    switch_faults(stack.engines["gpu-2"], **{fault: True})
    stack.rest.until(lambda p: not p["servers"][1]["ready"], within_s=30)
    detail = stack.rest.server("gpu-2")["detail"]

    switch_faults(stack.engines["gpu-2"], **{fault: False})

    assert detail
    stack.rest.until(lambda p: p["servers"][1]["ready"], within_s=30)


def test_a_killed_worker_costs_seconds_and_no_call(stack: Stack):
    put_in_memory(stack)
    worker = next(pid for pid, command in stack.up.children().items() if " worker " in command)
    answers: list[tuple[int, dict]] = []
    asking = threading.Thread(
        target=lambda: answers.append(stack.rest.call("POST", "/tickets", {"model": "qwen3:32b", "wait": 60}))
    )
    os.kill(worker, signal.SIGKILL)
    asking.start()
    asking.join(timeout=70)

    ((status, ticket),) = answers
    assert (status, ticket["model"], ticket["action"]) == (201, "qwen3:32b", "load")
    give_back(stack, ticket)


def test_many_agents_never_overload_a_copy(stack: Stack):
    """Twelve callers for fifteen seconds: real calls, one slot a copy, three models that do not fit together."""
    put_in_memory(stack)
    over = time.monotonic() + 15
    served: list[str] = []
    problems: list[object] = []

    def caller(number: int) -> None:
        chance = random.Random(number)
        while time.monotonic() < over:
            wanted = chance.choice(
                [
                    {"agent": "default/analyst"},
                    {"agent": "default/rules-keeper"},
                    {"agent": "default/researcher"},
                    {"model": "qwen3:8b"},
                    {"model": "qwen3:14b", "priority": "background"},
                ]
            )
            status, body = stack.rest.call("POST", "/tickets", {**wanted, "wait": 60, "thread": f"load-{number}"})
            while status == 202:
                status, body = stack.rest.call("GET", f"/waiters/{body['waiter']}?wait=30")
            if status not in (200, 201):
                if status != 409:
                    problems.append((status, body))
                continue
            try:
                answer = engine_call(
                    body["endpoint"],
                    "/api/chat",
                    {
                        "model": body["model"],
                        "messages": [{"role": "user", "content": "hello"}],
                        "stream": False,
                        "options": body["options"],
                    },
                )
                served.append(answer["model"])
            except OSError as error:
                problems.append(error)
            finally:
                stack.rest.call("DELETE", f"/tickets/{body['id']}", {"ok": True})

    callers = [threading.Thread(target=caller, args=(number,)) for number in range(12)]
    for thread in callers:
        thread.start()
    for thread in callers:
        thread.join(timeout=120)

    assert problems == []
    assert set(served) == {"qwen3:8b", "qwen3:14b", "qwen3:32b"}
    for url in stack.engines.values():
        state = read_state(url)
        assert all(count == 1 for count in state["maxInFlight"].values()), state["maxInFlight"]
        assert (state["selfEvictions"], state["reloads"]) == (0, 0)
