"""A-35. The cap of a resource group on the endpoints' pages: shown on each of its servers, and set on all of them."""

import pytest
from asgiref.sync import sync_to_async

from kubemoot_web.crds import limits
from kubemoot_web.pages import looking
from providers.models import ModelServer
from scheduler import bootstrap
from tests.crds.documents import apply, bundle, server
from tests.pages.people import person
from tests.pages.test_endpoints import ONE, post, text

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("valkey_url")]
BUS = "  scheduling: {maxConcurrent: 2, resourceGroup: {name: default/bus-1, maxConcurrent: 2}}\n"
ALONE = server("gpu-3", spec="  scheduling: {maxConcurrent: 2}\n")
ELSEWHERE = server("gpu-2", spec=BUS).replace("{name: gpu-2}", "{name: gpu-2, namespace: team-b}")


@pytest.fixture(autouse=True)
async def ledger(valkey_url, monkeypatch):
    """Give a ledger with two servers in one group and one in none, and keep no drawings."""
    monkeypatch.setattr(looking, "KEPT_S", 0.0)
    await sync_to_async(apply)(bundle(server("gpu-1", spec=BUS), ELSEWHERE, ALONE))
    rt = await bootstrap.runtime()
    await rt.ledger.configure(servers=await rt.catalog.servers(), footprints={}, weights={})
    yield rt.ledger
    await bootstrap.close()


async def caps():
    """Give the cap that each server of the group says, and the server's version."""
    rows = [row async for row in ModelServer.objects.exclude(name="gpu-3").order_by("name")]
    return [(row.spec["scheduling"]["resourceGroup"]["maxConcurrent"], row.resource_version) for row in rows]


async def test_it_is_shown_with_whom_it_is_shared_and_set_on_all_servers_in_one_step():
    """Unchanged, it touches no other server."""
    client = await person("ada", "operator")
    page, listed = text(await client.get(ONE)), text(await client.get("/endpoints"))

    done = await post(client, "limits", cap="2", reserve="0", group_cap="5", version="1")
    again = await post(client, "limits", cap="3", reserve="0", group_cap="5", version="2")

    assert "Resource group bus-1, with team-b/gpu-2: 0 of 2 calls at once." in page
    assert "Calls at once in the resource group bus-1" in page
    assert "Together with team-b/gpu-2: it counts the calls of all, and is set on each of them." in page
    assert listed.count("Resource group bus-1, with") == 2
    assert "Resource group bus-1, with team-b/gpu-2: 0 of 5 calls at once." in text(done)
    assert "0 of 3 calls at once" in text(again)
    assert await caps() == [(5, 3), (5, 2)]


async def test_a_server_in_no_group_has_no_field_for_it():
    page = text(await (await person("ada", "operator")).get("/endpoints/gpu-3"))

    assert "Calls at once" in page
    assert "resource group" not in page.lower()


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        ("", "A resource group has a cap, at least 1."),
        ("0", "At least 1."),
        ("many", "Enter a whole number."),
    ],
)
async def test_what_is_wrong_with_it_is_said_beside_its_field_and_nothing_is_stored(typed, says):
    client = await person("ada", "operator")

    answer = await client.post(ONE, {"do": "limits", "cap": "2", "reserve": "1", "group_cap": typed, "version": "1"})

    assert answer.status_code == 422
    assert says in text(answer)
    assert 'id="id_group_cap_error"' in answer.content.decode()
    assert await caps() == [(2, 1), (2, 1)]


async def test_a_form_from_before_the_server_was_in_its_group_loses_to_that_change():
    """It has no field for the group's cap: nothing is taken for it."""
    client = await person("ada", "operator")
    await sync_to_async(apply)(server("gpu-3", spec=BUS))

    answer = await client.post("/endpoints/gpu-3", {"do": "limits", "cap": "9", "reserve": "0", "version": "1"})

    assert answer.status_code == 422
    assert "gpu-3 was changed meanwhile." in text(answer)


async def test_who_joins_the_group_while_its_cap_is_set_is_named_beside_the_field(monkeypatch):
    client = await person("ada", "operator")
    put_documents = limits.documents_put

    async def slow(**asked):
        await sync_to_async(apply)(server("gpu-3", spec=BUS))
        return await put_documents(**asked)

    monkeypatch.setattr(limits, "documents_put", slow)
    answer = await client.post(ONE, {"do": "limits", "cap": "2", "reserve": "1", "group_cap": "7", "version": "1"})

    assert "This must be 2, not 7: gpu-3 is in the resource group bus-1 too" in text(answer)
    assert await caps() == [(2, 1), (2, 1)]


async def test_a_viewer_sees_it_and_cannot_set_it():
    viewer = await person("vic", "viewer")

    page = await viewer.get(ONE)
    refused = await viewer.post(ONE, {"do": "limits", "cap": "2", "group_cap": "5", "version": "1"})

    assert "Resource group bus-1, with team-b/gpu-2: 0 of 2 calls at once." in text(page)
    assert 'name="group_cap"' not in page.content.decode()
    assert refused.status_code == 403
    assert await caps() == [(2, 1), (2, 1)]
