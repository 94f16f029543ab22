"""Wishes to load and unload, sent to the whole gateway: answered at once, without a place and without an engine."""

from datetime import timedelta

import httpx
import pytest

from kubemoot_web.access import token_create
from kubemoot_web.gateway.app import Gateway
from scheduler import bootstrap
from scheduler.core.ledger import ServerConfig, ServerSeen

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
async def cluster(valkey_url):
    """Make a server of OpenAI's wire, which nothing listens behind, that has a model on its disk."""
    rt = await bootstrap.runtime()
    config = ServerConfig(name="gpu-1", kind="vllm", endpoint="http://127.0.0.1:9")
    await rt.ledger.configure(servers=[config], footprints={}, weights={})
    probe = await rt.ledger.probe_begin(server="gpu-1", lease_s=10)
    seen = ServerSeen(phase="ready", ready=True, models=("qwen3:14b",), probed_at=rt.now())
    await rt.ledger.probe_end(server="gpu-1", probe=probe, seen=seen)
    yield
    await rt.ledger.catch_up()
    assert (rt.ledger.replica.tickets, rt.ledger.replica.waiters) == ({}, {})
    await bootstrap.close()


async def send(path: str, *scopes: str, **body: object) -> httpx.Response:
    """Send a call with a key that may do this."""
    token = await token_create(name="robot", scopes=scopes, lifetime=timedelta(hours=1))
    headers = {"authorization": f"Bearer {token}"}
    transport = httpx.ASGITransport(app=Gateway(None))
    async with httpx.AsyncClient(transport=transport, base_url="http://kubemoot", headers=headers) as client:
        return await client.post(path, json={"model": "qwen3:14b", **body})


@pytest.mark.parametrize(
    ("path", "body", "told"),
    [
        ("/api/generate", {}, {"response": "", "done": True, "done_reason": "load"}),
        ("/api/generate", {"keep_alive": 0}, {"response": "", "done": True, "done_reason": "unload"}),
        (
            "/api/chat",
            {"messages": []},
            {"message": {"role": "assistant", "content": ""}, "done": True, "done_reason": "load"},
        ),
        ("/api/embed", {"input": []}, {"embeddings": []}),
    ],
)
async def test_a_wish_is_answered_at_once(path, body, told):
    answer = await send(path, "call", **body)

    assert (answer.status_code, answer.json()) == (200, {"model": "qwen3:14b", **told})


async def test_who_may_not_call_may_not_wish():
    assert (await send("/api/generate", "read")).status_code == 403
