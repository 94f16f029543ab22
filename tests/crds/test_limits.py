"""Cap and reserve of a server: set without losing what others change meanwhile."""

import pytest
from asgiref.sync import sync_to_async

from kubemoot_web.crds import limits as written
from kubemoot_web.crds.errors import Conflict, ImportRefused, NotFound
from kubemoot_web.crds.limits import Limits, limits_get, limits_put
from providers.core.specs import ResourceGroup
from providers.models import ModelServer
from tests.crds.documents import NOW, Told, apply, bundle, server

pytestmark = pytest.mark.django_db(transaction=True)
SPEC = "  scheduling: {memoryMiB: %d, maxConcurrent: 2}\n"


async def put(told=None, *, version=None, name="gpu-1", group_cap=None, **limits):
    """Set limits."""
    await limits_put(
        server=name,
        limits=limits,
        group_cap=group_cap,
        resource_version=version,
        node="n1",
        now=NOW,
        changed=told or Told(),
    )


@pytest.fixture(autouse=True)
async def stored():
    """Register a server."""
    await sync_to_async(apply)(server("gpu-1", spec=SPEC % 1024))


async def test_what_is_not_named_stays_and_whoever_must_know_is_told():
    told = Told()

    await put(told, interactiveReserve=1, failMode="local")

    assert await limits_get(server="gpu-1") == Limits(
        max_concurrent=2,
        interactive_reserve=1,
        aborts_on_disconnect=True,
        quarantine_on_ambiguous=False,
        fail_mode="local",
        resource_version="2",
    )
    assert (await ModelServer.objects.aget()).spec["scheduling"]["memoryMiB"] == 1024
    assert len(told.changes) == 1


async def test_nothing_that_somebody_else_changes_meanwhile_is_lost(monkeypatch):
    """Read, change, write: a change in between must not be written over."""
    meanwhile = [2048]
    put_documents = written.documents_put

    async def slow(**asked):
        if meanwhile:
            await sync_to_async(apply)(server("gpu-1", spec=SPEC % meanwhile.pop()))
        return await put_documents(**asked)

    monkeypatch.setattr(written, "documents_put", slow)
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


def grouped(name, most=2, *, memory=1024):
    """Describe a server that shares a cap."""
    group = f"{{name: bus-1, maxConcurrent: {most}}}"
    return server(name, spec=f"  scheduling: {{memoryMiB: {memory}, resourceGroup: {group}}}\n")


async def caps():
    """Give the cap of each server's group."""
    return {
        row.name: row.spec["scheduling"].get("resourceGroup", {}).get("maxConcurrent")
        async for row in ModelServer.objects.all()
    }


async def test_the_cap_of_a_resource_group_is_set_on_all_its_servers_in_one_step():
    """A-35. And only there; the server's own limits that are named change with it."""
    await sync_to_async(apply)(bundle(grouped("gpu-1"), grouped("gpu-2"), server("gpu-3", spec=SPEC % 1)))
    told = Told()

    await put(told, group_cap=5, maxConcurrent=3, interactiveReserve=1)

    assert await caps() == {"gpu-1": 5, "gpu-2": 5, "gpu-3": None}
    found = await limits_get(server="gpu-1")
    assert (found.max_concurrent, found.interactive_reserve) == (3, 1)
    assert (found.group, found.beside) == (ResourceGroup(name="bus-1", max_concurrent=5), ("gpu-2",))
    assert [len(change.written) for change in told.changes] == [2]


async def test_a_server_that_changes_meanwhile_or_joins_the_group_is_not_written_over(monkeypatch):
    """Between reading and writing gpu-2 gets more memory, and gpu-3 comes into the group."""
    await sync_to_async(apply)(bundle(grouped("gpu-1"), grouped("gpu-2")))
    meanwhile = [bundle(grouped("gpu-2", memory=2048), grouped("gpu-3"))]
    put_documents = written.documents_put

    async def slow(**asked):
        if meanwhile:
            await sync_to_async(apply)(meanwhile.pop())
        return await put_documents(**asked)

    monkeypatch.setattr(written, "documents_put", slow)
    await put(group_cap=5, version="2")

    assert await caps() == {"gpu-1": 5, "gpu-2": 5, "gpu-3": 5}
    assert (await ModelServer.objects.aget(name="gpu-2")).spec["scheduling"]["memoryMiB"] == 2048


async def test_a_named_version_that_is_gone_changes_no_server_of_the_group():
    await sync_to_async(apply)(bundle(grouped("gpu-1"), grouped("gpu-2")))

    with pytest.raises(Conflict):
        await put(group_cap=5, version="1")
    assert await caps() == {"gpu-1": 2, "gpu-2": 2}


async def test_a_cap_for_a_group_that_there_is_not_is_refused_with_the_field():
    with pytest.raises(ImportRefused) as refused:
        await put(group_cap=5)

    (problem,) = refused.value.problems
    assert problem.field == "spec.scheduling.resourceGroup"
    assert problem.message.startswith("is not set: gpu-1 is in no resource group")
