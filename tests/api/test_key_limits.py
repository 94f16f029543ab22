"""What a key may call, over REST."""

import pytest

from scheduler import bootstrap
from scheduler.core.ledger import ServerSeen
from scheduler.core.snapshot import Resident
from scheduler.core.types import Priority
from tests.crds.documents import bundle, crew, server

pytestmark = pytest.mark.django_db(transaction=True)

AGENTS = """
apiVersion: kubemoot.ai/v1alpha1
kind: Agent
metadata: {name: analyst, labels: {kubemoot.ai/crew: lab}}
spec: {capabilities: [analysis]}
"""
MODEL = """
apiVersion: kubemoot.ai/v1alpha1
kind: Model
metadata: {name: %(name)s, labels: {capability/analysis: "true"}}
spec: {model: "%(model)s", vramMib: 4096}
"""


@pytest.fixture(autouse=True)
async def cluster(valkey_url, caller):
    """Register one agent, and a server that holds both models that it may use."""
    models = [MODEL % {"name": name, "model": f"qwen3:{name}"} for name in ("8b", "14b")]
    applied = await (await caller("write")).apply(bundle(server("gpu-1"), crew("lab"), AGENTS, *models))
    assert applied.status_code == 200, applied.content
    rt = await bootstrap.runtime()
    probe = await rt.ledger.probe_begin(server="gpu-1", lease_s=10)
    residents = tuple(
        Resident(model=f"qwen3:{name}", footprint_mib=4096, context_length=8192) for name in ("8b", "14b")
    )
    seen = ServerSeen(phase="ready", ready=True, since=rt.now(), residents=residents, probed_at=rt.now())
    await rt.ledger.probe_end(server="gpu-1", probe=probe, seen=seen)


async def replica():
    """Give the present account of who holds what."""
    ledger = (await bootstrap.runtime()).ledger
    await ledger.catch_up()
    return ledger.replica


async def test_a_model_that_the_key_may_not_use_is_refused_by_name(caller):
    robot = await caller("call", models=["qwen3:8b"])

    answer = await robot.post("/tickets", {"model": "qwen3:14b", "wait": 0})

    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "forbidden")
    assert answer.json()["error"]["message"] == "The key robot may not use qwen3:14b; it is for qwen3:8b."
    assert not (await replica()).tickets


@pytest.mark.parametrize("wanted", [{"agent": "analyst"}, {"capabilities": ["analysis"]}])
async def test_candidates_are_narrowed_and_an_interactive_call_becomes_a_background_one(caller, wanted):
    robot = await caller("call", models=["qwen3:8b"], ceiling=Priority.BACKGROUND)

    answer = await robot.post("/tickets", {**wanted, "wait": 0})

    assert answer.status_code == 201, answer.content
    (ticket,) = (await replica()).tickets.values()
    assert (ticket.model, ticket.priority) == ("qwen3:8b", Priority.BACKGROUND)


async def test_a_key_of_another_crew_neither_calls_nor_plans(caller):
    robot = await caller("call", crews=["studio"])

    called = await robot.post("/tickets", {"agent": "analyst", "wait": 0})
    planned = await robot.post("/plans", {"agent": "analyst", "thread": "t"})

    assert [each.status_code for each in (called, planned)] == [403, 403]
    assert called.json()["error"]["message"] == "The key robot calls for studio alone, not for lab."


async def test_a_plan_is_made_with_the_models_of_the_key(caller):
    robot = await caller("call", models=["qwen3:8b"])

    answer = await robot.post("/plans", {"agent": "analyst", "thread": "t"})

    assert answer.status_code == 201
    assert answer.json()["held"] is True
    (ticket,) = (await replica()).tickets.values()
    assert ticket.model == "qwen3:8b"


async def test_a_key_with_a_cap_of_one_call_at_once_waits_for_its_own_first(caller):
    """The server has another model warm and free: what is in the way is the key alone."""
    robot = await caller("call", max_calls=1)
    first = await robot.post("/tickets", {"model": "qwen3:8b", "wait": 0})

    second = await robot.post("/tickets", {"model": "qwen3:14b", "wait": 0})
    other = await (await caller("call")).post("/tickets", {"model": "qwen3:14b", "wait": 0})

    assert [each.status_code for each in (first, second, other)] == [201, 202, 201]
