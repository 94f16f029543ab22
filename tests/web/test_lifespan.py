"""What a web process does before its first request."""

import gc
import sys

import httpx
import pytest
from asgiref.testing import ApplicationCommunicator
from django.db import DatabaseError

from kubemoot_web.asgi import application
from scheduler import bootstrap
from scheduler.stores.catalog import OrmCatalog
from tests.crds.documents import apply, server
from tests.gateway.test_keys_and_limits import QUESTION, key

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("valkey_url")]


@pytest.fixture(autouse=True)
def own_habits():
    """Give the process its habits back: a web process looks for garbage and changes threads at times of its own."""
    threshold, interval_s = gc.get_threshold(), sys.getswitchinterval()
    yield
    gc.unfreeze()
    gc.set_threshold(*threshold)
    sys.setswitchinterval(interval_s)


@pytest.fixture
def stored():
    """Register a server while nothing runs: the ledger hears nothing of it."""
    apply(server("gpu-1"))


@pytest.fixture
async def life(stored):
    """Begin a web process's life, and end it."""
    life = ApplicationCommunicator(application, {"type": "lifespan"})
    yield life
    await life.send_input({"type": "lifespan.shutdown"})
    assert (await life.receive_output())["type"] == "lifespan.shutdown.complete"
    await life.wait()


async def begin(life):
    """Start the process; give what it says of that."""
    await life.send_input({"type": "lifespan.startup"})
    return (await life.receive_output(timeout=10))["type"]


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/api/chat"])
async def test_the_first_call_may_name_a_model_that_lies_on_the_disk_of_a_server_that_nobody_has_asked_yet(life, path):
    """With an empty ledger it heard that no server has the model, or could ever hold it, for ten seconds."""
    assert await begin(life) == "lifespan.startup.complete"

    headers = {"authorization": f"Bearer {await key('call')}", "x-kubemoot-wait": "0"}
    transport = httpx.ASGITransport(app=application)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost", headers=headers) as client:
        answer = await client.post(path, json={"model": "qwen3:8b", **QUESTION})

    assert answer.status_code == 503, answer.content
    assert "retry-after" in answer.headers


async def test_a_database_that_is_away_keeps_no_web_process_from_starting(life, monkeypatch, caplog):
    """It says so on its pages; the timer tells the ledger later."""

    async def away(self):
        raise DatabaseError("the disk is full")

    monkeypatch.setattr(OrmCatalog, "servers", away)

    assert await begin(life) == "lifespan.startup.complete"
    assert "The registered servers are not known yet: the disk is full" in caplog.text
    assert not (await bootstrap.runtime()).ledger.replica.servers
