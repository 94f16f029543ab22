"""A-33 in a whole web process: its Valkey is stopped and started while clients, people and programs ask it."""

import asyncio
import html
import re
from datetime import timedelta

import httpx
import pytest
from asgiref.sync import sync_to_async
from django.conf import settings

from kubemoot_web.access import token_create
from kubemoot_web.asgi import application
from kubemoot_web.pages import health, looking
from scheduler import bootstrap
from scheduler.core.ledger import ServerSeen
from scheduler.core.snapshot import Resident
from tests.crds.documents import apply, bundle, server
from tests.fakes.engine_server import simulated_engine
from tests.pages.people import person
from tests.stores.valkey_server import ValkeyServer

pytestmark = pytest.mark.django_db(transaction=True)
MODEL = "qwen3:8b"
LOCAL = "  scheduling: {memoryMiB: 32768, maxParallel: 2, maxConcurrent: 2, failMode: local}\n"
ASKED = {"model": MODEL, "messages": [{"role": "user", "content": "hello"}], "max_tokens": 8}


class Site:
    """A web process with a Valkey and an engine of its own, and what asks it."""

    def __init__(self, valkey, client, engine):
        self.valkey = valkey
        self.client = client
        self.engine = engine

    async def calls(self, **asked):
        """Call a model."""
        return await self.client.post("/v1/chat/completions", json=ASKED | asked, timeout=20)

    async def probe(self):
        """See that both servers hold the model."""
        rt = await bootstrap.runtime()
        for name in ("gpu-1", "gpu-2"):
            number = await rt.ledger.probe_begin(server=name, lease_s=10)
            residents = (Resident(model=MODEL, footprint_mib=6144),)
            seen = ServerSeen(
                phase="ready", ready=True, residents=residents, models=(MODEL,), since=rt.now(), probed_at=rt.now()
            )
            await rt.ledger.probe_end(server=name, probe=number, seen=seen)

    async def back(self):
        """Start Valkey again, empty, and wait until the process has noticed."""
        self.valkey.start()
        rt = await bootstrap.runtime()
        async with asyncio.timeout(20):
            while rt.doors.local.is_on:
                await asyncio.sleep(0.05)
                if "gpu-1" in rt.ledger.replica.servers:
                    await self.probe()


@pytest.fixture
async def site(tmp_path, monkeypatch):
    """Give a site whose server gpu-1 goes on without the ledger, and gpu-2 does not."""
    valkey = ValkeyServer(folder=tmp_path)
    valkey.start()
    monkeypatch.setattr(settings, "REDIS_URL", valkey.url)
    monkeypatch.setattr(looking, "KEPT_S", 0.0)
    async with simulated_engine() as engine:
        text = bundle(server("gpu-1", endpoint=engine.url, spec=LOCAL), server("gpu-2", endpoint="http://192.0.2.1"))
        await sync_to_async(apply)(text)
        await bootstrap.configure()
        token = await token_create(name="robot", scopes=["read", "call", "write"], lifetime=timedelta(hours=1))
        transport = httpx.ASGITransport(app=application)
        headers = {"authorization": f"Bearer {token}"}
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost", headers=headers) as client:
            made = Site(valkey, client, engine)
            await made.probe()
            yield made
            await bootstrap.close()
    valkey.kill()


def text(answer) -> str:
    """Read a page as people do."""
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", answer.content.decode())))


async def test_a_client_s_calls_go_on_while_rest_stays_closed_and_everybody_is_told(site):
    assert (await site.calls()).headers["x-kubemoot-action"] == "use"
    site.valkey.kill()

    answer = await site.calls()
    streamed = await site.calls(stream=True)
    ticket = await site.client.post("/api/v1/tickets", json={"model": MODEL, "wait": 0})
    listed = {one["name"]: one for one in (await site.client.get("/api/v1/endpoints")).json()["endpoints"]}
    metrics = (await site.client.get("/metrics")).text

    assert (answer.status_code, answer.headers["x-kubemoot-action"], answer.headers["x-kubemoot-server"]) == (
        200,
        "local",
        "gpu-1",
    )
    assert streamed.text.rstrip().endswith("data: [DONE]")
    assert (ticket.status_code, ticket.json()["error"]["code"]) == (503, "ledger-unavailable")
    assert [(listed[name]["failMode"], listed[name]["capShared"]) for name in ("gpu-1", "gpu-2")] == [
        ("local", False),
        ("closed", True),
    ]
    assert 'kubemoot_local_mode{endpoint="gpu-1"} 1.0' in metrics
    assert 'kubemoot_local_attempts_total{endpoint="gpu-1",outcome="ok"} 2.0' in metrics

    await site.back()
    assert (await site.calls()).headers["x-kubemoot-action"] == "use"
    assert (await site.client.get("/api/v1/endpoints/gpu-1/admission")).json()["capShared"] is True


async def test_pages_of_this_process_say_that_the_cap_is_not_shared(site):
    client = await person("ada", "operator")
    site.valkey.kill()
    await site.calls()

    pages = ("/endpoints", "/endpoints/gpu-1", "/servers", "/calls")
    shown = {page: text(await client.get(page)) for page in pages}
    other = text(await client.get("/endpoints/gpu-2"))
    await site.back()
    after = text(await client.get("/endpoints/gpu-1"))

    for page in pages:
        assert "Cap not shared: calls go on to gpu-1, as many as this web process alone lets in" in shown[page], page
    assert "each web process lets calls in by its own count" in shown["/endpoints/gpu-1"]
    assert "each web process lets calls in by its own count" not in other
    assert "Cap not shared" not in after


async def test_an_operator_s_button_says_that_nobody_knows_what_came_of_it(site):
    """It said that no calls are placed, which is another thing, and not true where they go on."""
    client = await person("ada", "operator")
    site.valkey.kill()

    answer = await client.post("/endpoints/gpu-1", {"do": "pause"}, follow=True)

    assert "Redis did not answer, so nobody knows whether gpu-1 was changed." in text(answer)
    assert 'class="note bad" role="alert"' in answer.content.decode()


async def test_a_process_that_goes_on_stays_ready(site, monkeypatch):
    """Whoever sends calls to ready processes alone would send none."""
    monkeypatch.setattr(health, "_redis_and_worker", lambda: ("does not answer (ConnectionError)", "unknown"))
    site.valkey.kill()

    answer = await site.client.get("/readyz")

    assert (answer.status_code, answer.json()["status"]) == (200, "goes on without Redis")
    assert answer.json()["parts"]["redis"] == "does not answer (ConnectionError)"
