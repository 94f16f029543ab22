"""A-06: servers that may be one engine under two names, on every page of servers and over REST."""

import html
import re

import pytest
from asgiref.sync import sync_to_async

from kubemoot_web.pages import looking
from scheduler import bootstrap
from scheduler.core.ledger import ServerSeen
from tests.api.conftest import Caller, caller
from tests.board.views import NOON
from tests.crds.documents import apply, bundle, server
from tests.live.elements import Elements
from tests.pages.people import person

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("valkey_url")]
__all__ = ["caller"]

SAYS = (
    "Possible duplicate endpoint: gpu-1 and gpu-2 both lead to 10.0.0.5:11434, so one engine may be counted twice. If "
    "it is one, keep one of them and merge the other into it; if a proxy there tells them apart by their names, leave "
    "both."
)
PAGES = ("/endpoints", "/endpoints/gpu-1", "/endpoints/gpu-2", "/servers", "/servers/gpu-1", "/servers/gpu-2")


@pytest.fixture(autouse=True)
async def ledger(valkey_url, monkeypatch):
    """Give a ledger with three servers, two of which lead to one address."""
    monkeypatch.setattr(looking, "KEPT_S", 0.0)
    await sync_to_async(apply)(bundle(*(server(name) for name in ("gpu-1", "gpu-2", "gpu-3"))))
    rt = await bootstrap.runtime()
    await rt.ledger.configure(servers=await rt.catalog.servers(), footprints={}, weights={})
    for name, place in (("gpu-1", "10.0.0.5"), ("gpu-2", "10.0.0.5"), ("gpu-3", "10.0.0.6")):
        await sees(name, place)
    yield rt.ledger
    await bootstrap.close()


async def sees(name: str, *places: str) -> None:
    """Let a probe find where a server's address leads."""
    rt = await bootstrap.runtime()
    probe = await rt.ledger.probe_begin(server=name, lease_s=10)
    seen = ServerSeen(phase="ready", ready=True, since=NOON, models=(), addresses=places)
    await rt.ledger.probe_end(server=name, probe=probe, seen=seen)


def text(answer) -> str:
    """Read a page as people do."""
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", answer.content.decode())))


@pytest.mark.parametrize("role", ["operator", "viewer"])
@pytest.mark.parametrize("page", PAGES)
async def test_every_page_of_the_two_warns_once_and_leads_to_both(page, role):
    answer = await (await person("ada", role)).get(page)

    found = Elements(answer.content.decode())
    assert text(answer).count(SAYS) == 1
    assert 'href="/endpoints/gpu-1"' in answer.content.decode()
    assert 'href="/endpoints/gpu-2"' in answer.content.decode()
    assert len(found.ids) == len(set(found.ids))


@pytest.mark.parametrize("page", ["/endpoints/gpu-3", "/servers/gpu-3"])
async def test_the_pages_of_another_server_say_nothing_of_it(page):
    assert "Possible duplicate" not in text(await (await person("ada", "operator")).get(page))


async def test_the_warning_goes_when_one_of_them_has_moved():
    client = await person("ada", "operator")
    await sees("gpu-2", "10.0.0.7")

    assert not [page for page in PAGES if "Possible duplicate" in text(await client.get(page))]


async def test_programs_are_told_of_each_endpoint_what_others_share_which_address(caller: Caller):
    robot = await caller("read")

    listed = {one["name"]: one["possibleDuplicates"] for one in (await robot.get("/endpoints")).json()["endpoints"]}
    one = (await robot.get("/endpoints/gpu-2/admission")).json()["possibleDuplicates"]
    resource = (await robot.get("/resources/modelservers/default/gpu-1")).json()

    assert listed == {
        "gpu-1": [{"endpoint": "gpu-2", "address": "10.0.0.5:11434", "message": SAYS}],
        "gpu-2": [{"endpoint": "gpu-1", "address": "10.0.0.5:11434", "message": SAYS}],
        "gpu-3": [],
    }
    assert one == listed["gpu-2"]
    assert resource["status"]["conditions"][1]["message"] == SAYS


async def press(client, do, page="/endpoints/gpu-1", **more):
    """Press a button of the card, and read the page that it leads to."""
    return await client.post(page, {"do": do, **more}, follow=True)


async def test_an_operator_merges_the_one_that_is_drained_into_the_other():
    client = await person("ada", "operator")
    before = (await client.get("/endpoints/gpu-1")).content.decode()

    too_early = await press(client, "merge", duplicate="gpu-2")
    await press(client, "drain", page="/endpoints/gpu-2")
    merged = await press(client, "merge", duplicate="gpu-2")

    assert re.search(r'<option value="gpu-2" selected>', before), "the likely one is chosen beforehand"
    assert too_early.status_code == 422
    assert "gpu-2 still takes calls: drain it first, so that merging it cuts nothing off." in text(too_early)
    assert '<details class="step" id="merge" open>' in too_early.content.decode()
    assert "gpu-2 was merged into gpu-1: it is not registered any more, and its address means gpu-1." in text(merged)
    assert "http://gpu-2:11434" in text(merged)
    assert (await client.get("/endpoints/gpu-2")).status_code == 404
    assert "Possible duplicate" not in text(await client.get("/endpoints"))


async def test_an_operator_writes_another_address_down_and_removes_it():
    client = await person("ada", "operator")

    added = await press(client, "add-address", address="https://GPU-1")
    removed = await press(client, "remove-address", address="https://gpu-1:443")
    again = await press(client, "remove-address", address="https://gpu-1:443")

    assert "https://gpu-1:443 means gpu-1 now: no second server is registered with it." in text(added)
    assert '<input type="hidden" name="address" value="https://gpu-1:443">' in added.content.decode()
    assert "https://gpu-1:443 stands for itself again." in text(removed)
    assert (again.status_code, "stands for itself" in text(again)) == (200, False)


@pytest.mark.parametrize(
    ("address", "says"),
    [
        ("http://gpu-1:11434/v1", "This is the same endpoint already, however it is spelled."),
        (
            "http://gpu-2:11434",
            "This would make gpu-1 and gpu-2 one server, and both are registered: merge one of them",
        ),
        ("gpu-2", "This is no address: write it like http://host:11434."),
        ("", "Write the address."),
    ],
)
async def test_an_address_that_cannot_mean_this_server_is_refused_beside_its_field(address, says):
    answer = await press(await person("ada", "operator"), "add-address", address=address)

    found = Elements(answer.content.decode())
    assert answer.status_code == 422
    assert says in text(answer)
    assert 'id="id_address_error" role="alert"' in answer.content.decode()
    assert len(found.ids) == len(set(found.ids))


async def test_who_may_only_look_sees_no_form_and_a_server_that_is_gone_has_none():
    viewer, operator = await person("vic", "viewer"), await person("ada", "operator")

    page = (await viewer.get("/endpoints/gpu-1")).content.decode()
    refused = [await viewer.post("/endpoints/gpu-1", {"do": do}) for do in ("merge", "add-address", "remove-address")]
    missing = [await press(operator, do, page="/endpoints/gone", address="http://x") for do in ("merge", "add-address")]

    assert 'id="addresses"' not in page
    assert [answer.status_code for answer in refused] == [403] * 3
    assert [answer.status_code for answer in missing] == [404] * 2
