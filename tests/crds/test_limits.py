"""Cap and reserve of a server: set without losing what others change meanwhile."""

import pytest
from asgiref.sync import sync_to_async

from kubemoot_web.crds import limits as written
from kubemoot_web.crds.errors import Conflict, NotFound
from kubemoot_web.crds.limits import Limits, limits_get, limits_put
from providers.models import ModelServer
from tests.crds.documents import NOW, Told, apply, server

pytestmark = pytest.mark.django_db(transaction=True)
SPEC = "  scheduling: {memoryMiB: %d, maxConcurrent: 2}\n"


async def put(told=None, *, version=None, name="gpu-1", **limits):
    """Set limits."""
    await limits_put(server=name, limits=limits, resource_version=version, node="n1", now=NOW, changed=told or Told())


@pytest.fixture(autouse=True)
async def stored():
    """Register a server."""
    await sync_to_async(apply)(server("gpu-1", spec=SPEC % 1024))


async def test_what_is_not_named_stays_and_whoever_must_know_is_told():
    told = Told()

    await put(told, interactiveReserve=1)

    assert await limits_get(server="gpu-1") == Limits(
        max_concurrent=2,
        interactive_reserve=1,
        aborts_on_disconnect=True,
        quarantine_on_ambiguous=False,
        resource_version="2",
    )
    assert (await ModelServer.objects.aget()).spec["scheduling"]["memoryMiB"] == 1024
    assert len(told.changes) == 1


async def test_nothing_that_somebody_else_changes_meanwhile_is_lost(monkeypatch):
    """Read, change, write: a change in between must not be written over."""
    meanwhile = [2048]
    put_document = written.document_put

    async def slow(**asked):
        if meanwhile:
            await sync_to_async(apply)(server("gpu-1", spec=SPEC % meanwhile.pop()))
        return await put_document(**asked)

    monkeypatch.setattr(written, "document_put", slow)
    await put(maxConcurrent=9)

    scheduling = (await ModelServer.objects.aget()).spec["scheduling"]
    assert (scheduling["memoryMiB"], scheduling["maxConcurrent"]) == (2048, 9)


async def test_a_named_version_that_is_gone_is_a_conflict_at_once():
    await put(maxConcurrent=3)

    with pytest.raises(Conflict):
        await put(maxConcurrent=4, version="1")
    assert (await limits_get(server="gpu-1")).max_concurrent == 3


async def test_a_server_that_is_not_there_is_said_not_to_be():
    with pytest.raises(NotFound):
        await put(name="team-b/gpu-1", maxConcurrent=1)
