"""The endpoints' pages: who sees what, what the buttons do, and that it looks again by itself."""

import html
import logging
import re

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.test import AsyncClient

from kubemoot_web.pages import looking
from providers.models import ModelServer
from scheduler import bootstrap
from scheduler.core.ledger import GrantChange, LeftChange, ServerSeen
from scheduler.core.types import Ticket, TicketState
from tests.board.views import NOON, copy, waiter
from tests.crds.documents import apply, bundle, server
from tests.live.elements import Elements
from tests.pages.people import BROWSER, person

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("valkey_url")]
CAP = "  scheduling: {memoryMiB: 32768, maxConcurrent: 2, interactiveReserve: 1}\n"
ELSEWHERE = server("gpu-2").replace("{name: gpu-2}", "{name: gpu-2, namespace: team-b}")
ONE = "/endpoints/gpu-1"


@pytest.fixture(autouse=True)
async def ledger(valkey_url, monkeypatch):
    """Give a ledger with two ready servers, and keep no drawings."""
    monkeypatch.setattr(looking, "KEPT_S", 0.0)
    await sync_to_async(apply)(bundle(server("gpu-1", spec=CAP), ELSEWHERE))
    rt = await bootstrap.runtime()
    await rt.ledger.configure(servers=await rt.catalog.servers(), footprints={}, weights={})
    for name in ("gpu-1", "team-b/gpu-2"):
        probe = await rt.ledger.probe_begin(server=name, lease_s=10)
        seen = ServerSeen(phase="ready", ready=True, since=NOON, residents=(copy(),), models=("qwen3:14b",))
        await rt.ledger.probe_end(server=name, probe=probe, seen=seen)
    yield rt.ledger
    await bootstrap.close()


def text(answer) -> str:
    """Read a page as people do."""
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", answer.content.decode())))


async def post(client, what, address=ONE, **more):
    """Press a button, and read the page that it leads to."""
    return await client.post(address, {"do": what, **more}, follow=True)


async def queues(ledger, id="w1"):
    """Let a call wait for gpu-1."""
    rt = await bootstrap.runtime()
    waits = waiter(id, model="qwen3:14b", arrived_at=rt.now(), limit_at=rt.now() + 90, server="gpu-1", action="queue")
    await ledger.enqueue(waiter=waits)


@pytest.mark.parametrize("page", ["/endpoints", ONE, "/endpoints/team-b/gpu-2"])
@pytest.mark.parametrize("role", ["operator", "viewer", None])
async def test_whoever_can_sign_in_sees_the_pages(page, role):
    answer = await (await person("ada", role)).get(page)

    found = Elements(answer.content.decode())
    assert answer.status_code == 200
    assert len(found.ids) == len(set(found.ids))
    assert "style" not in found.attributes
    labels = set(re.findall(r'aria-labelledby="([^"]+)"', answer.content.decode()))
    assert labels - set(found.ids) == set()


async def test_a_stranger_is_sent_to_the_sign_in_and_changes_nothing(ledger):
    client = AsyncClient(headers=BROWSER)

    answers = [await client.get("/endpoints"), await client.get(ONE), await client.post(ONE, {"do": "pause"})]

    assert [(each.status_code, each["Location"].split("?")[0]) for each in answers] == [(302, "/login/")] * 3
    assert ledger.replica.servers["gpu-1"].admission.is_open


async def test_only_operators_are_shown_buttons_and_only_theirs_work(ledger):
    viewer = await person("vic", "viewer")

    seen = await viewer.get(ONE)
    polled = await viewer.get(f"{ONE}?have=0")
    refused = [await viewer.post(ONE, {"do": step}) for step in ("pause", "clear-queue", "limits")]

    for page in (seen, polled):
        assert not re.findall(r'name="do"|id="act"', page.content.decode())
    assert [answer.status_code for answer in refused] == [403] * 3
    assert ledger.replica.servers["gpu-1"].admission.is_open


async def test_an_operator_and_a_viewer_who_look_at_once_are_not_given_the_same_drawing(monkeypatch):
    monkeypatch.setattr(looking, "KEPT_S", 60.0)
    viewer, operator = await person("vic", "viewer"), await person("ada", "operator")

    shown = [await client.get(f"{ONE}?have=0") for client in (operator, viewer, operator)]

    assert ['value="pause"' in answer.content.decode() for answer in shown] == [True, False, True]


async def test_pausing_says_so_here_on_the_list_on_the_servers_and_on_the_board(caplog):
    client = await person("ada", "operator")

    with caplog.at_level(logging.INFO, logger="kubemoot_web"):
        done = await post(client, "pause", reason="new  fans")
    pages = [
        text(await client.get(page, headers=BROWSER)) for page in (ONE, "/endpoints", "/servers", "/servers/gpu-1", "/")
    ]

    assert "gpu-1 is paused. What runs there goes on." in text(done)
    for page in pages:
        assert "Paused" in page
        assert "Paused: new fans. What runs here goes on; nothing new is placed here until it is resumed." in page
    lines = [record.getMessage() for record in caplog.records if record.name == "kubemoot_web.access.operating"]
    assert lines == ["endpoint 'gpu-1': pause, by 'ada', because 'new fans'"]


@pytest.mark.parametrize(
    ("steps", "says"),
    [
        (("drain",), "gpu-1 is being drained."),
        (("drain", "resume"), "gpu-1 takes calls again."),
        (("quarantine",), "gpu-1 is taken out."),
        (("quarantine", "clear-quarantine"), "gpu-1 takes calls again."),
        (("pause", "pause"), "gpu-1 was paused already."),
        (("resume",), "gpu-1 was neither paused nor drained."),
        (("clear-queue",), "Nobody waited for gpu-1 alone: nobody was sent away."),
    ],
)
async def test_each_button_says_what_came_of_it(steps, says):
    client = await person("ada", "operator")

    answers = [await post(client, step) for step in steps]

    assert says in text(answers[-1])


async def test_clearing_the_queue_sends_away_who_waits_for_it(ledger):
    client = await person("ada", "operator")
    await queues(ledger)
    before = text(await client.get(ONE))

    done = await post(client, "clear-queue")

    assert "1 call waits." in before
    assert "researcher of lab" in before
    assert "1 waiting call is sent away with an error. This cannot be undone." in before
    assert "1 waiting call was sent away from gpu-1." in text(done)
    assert ledger.replica.waiters["w1"].stood_aside == "queue-cleared"


async def test_limits_are_set_through_the_resource(ledger):
    client = await person("ada", "operator")
    page = (await client.get(ONE)).content.decode()
    version = re.search(r'name="version" value="(\d+)"', page)[1]

    done = await post(client, "limits", cap="4", reserve="2", goes_on="on", version=version)

    assert "The limits of gpu-1 are set." in text(done)
    assert "0 of 4 calls at once " in text(done)
    assert "2 places are kept for interactive calls." in text(done)
    stored = await ModelServer.objects.aget(name="gpu-1")
    assert (stored.resource_version, stored.spec["scheduling"]["memoryMiB"]) == (2, 32768)
    await ledger.catch_up()
    config = ledger.replica.servers["gpu-1"].config
    assert (config.max_concurrent, config.interactive_reserve, config.fail_mode) == (4, 2, "local")
    assert re.search(r'name="goes_on"[^>]* checked', done.content.decode())


async def test_an_engine_that_works_on_is_said_to_and_a_place_that_is_kept_for_it_is_told(ledger):
    """A-23."""
    client = await person("ada", "operator")
    ticket = Ticket(id="t1", server="gpu-1", agent="a", model="qwen3:14b", state=TicketState.ACTIVE, started_at=NOON)

    await post(client, "limits", cap="2", reserve="1", works_on="on", version="1")
    await ledger.commit(changes=[GrantChange(ticket=ticket), LeftChange(ticket="t1")], now=NOON)
    page = await client.get(ONE)

    assert ledger.replica.servers["gpu-1"].config.aborts_on_disconnect is False
    assert "Of 1 call the caller has left; the engine works on, and the place is kept until it ends." in text(page)
    assert 'name="works_on" aria-describedby="id_works_on_helptext" id="id_works_on" checked' in page.content.decode()
    await post(client, "limits", cap="2", reserve="1", version="2")
    assert ledger.replica.servers["gpu-1"].config.aborts_on_disconnect is True


async def test_an_empty_cap_is_none():
    client = await person("ada", "operator")

    done = await post(client, "limits", cap="", reserve="", version="1")

    assert "0 calls at once, no cap" in text(done)


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        ({"cap": "0"}, "At least 1. To let nobody in, pause it."),
        ({"cap": "many"}, "Enter a whole number."),
        ({"cap": "2", "reserve": "3"}, "At most the calls at once, which are 2."),
        ({"cap": "", "reserve": "1"}, "Places are kept of a cap: say how many calls at once, too."),
        ({"cap": "3", "version": "7"}, "gpu-1 was changed meanwhile."),
    ],
)
async def test_what_is_wrong_with_limits_is_said_beside_the_field_and_nothing_is_stored(typed, says):
    client = await person("ada", "operator")

    answer = await client.post(ONE, {"do": "limits", "cap": "2", "reserve": "1", "version": "1"} | typed)

    assert answer.status_code == 422
    assert says in text(answer)
    assert (await ModelServer.objects.aget(name="gpu-1")).resource_version == 1


async def test_what_is_not_there_is_not_found_and_what_is_no_button_refused():
    client = await person("ada", "operator")

    answers = [
        await client.get("/endpoints/gpu-9"),
        await client.post("/endpoints/gpu-9", {"do": "pause"}),
        await client.post("/endpoints/gpu-9", {"do": "limits", "cap": "1", "version": "1"}),
        await client.post(ONE, {"do": "explode"}),
    ]

    assert [answer.status_code for answer in answers] == [404, 404, 404, 400]


async def test_nothing_is_done_without_the_csrf_token(ledger):
    strict = AsyncClient(headers=BROWSER, enforce_csrf_checks=True)
    await person("ada", "operator")
    await strict.aforce_login(await User.objects.aget(username="ada"))

    assert (await strict.post(ONE, {"do": "pause"})).status_code == 403
    assert ledger.replica.servers["gpu-1"].admission.is_open


@pytest.mark.parametrize("page", ["/endpoints", ONE])
async def test_a_page_asks_again_and_is_answered_only_when_something_changed(page, ledger, monkeypatch):
    monkeypatch.setattr(bootstrap, "clock", lambda: NOON)
    client = await person("ada", "operator")
    shown = (await client.get(page)).content.decode()
    have = re.search(r'id="have" name="have" value="([0-9a-f.]+)"', shown)[1]

    same = await client.get(page, {"have": have})
    await queues(ledger)
    other = await client.get(page, {"have": have})

    assert (same.status_code, same.content) == (204, b"")
    assert other.status_code == 200
    assert re.search("1 waiting for it|1 call waits.", text(other))


async def test_without_servers_the_list_says_what_will_be_here(ledger):
    await ledger.configure(servers=[], footprints={}, weights={})

    page = text(await (await person("ada", "operator")).get("/endpoints"))

    assert "No endpoint yet. Every registered server is one" in page
