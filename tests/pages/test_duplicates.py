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
