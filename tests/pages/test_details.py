"""The pages one asks for next: who may, what they show, that they look again by themselves and cheaply."""

import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import AsyncClient

from kubemoot_web.pages import looking
from providers.models import Model
from scheduler import bootstrap
from scheduler.core.ledger import ServerSeen
from scheduler.models import Agent, Call, ServerEvent
from tests.board.views import NOON, copy, record, waiter
from tests.live.elements import Elements
from tests.pages.people import asked_of_the_database, person
from tests.queries.test_history import call, event, time

pytestmark = pytest.mark.django_db(transaction=True)
PAGES = ["/servers", "/servers/gpu-1", "/models", "/models/qwen3:14b", "/waiting", "/calls", "/calls/c1"]


@pytest.fixture(autouse=True)
async def ledger(valkey_url, monkeypatch):
    """Give a ledger with one ready server and a history of one call, and keep no drawings."""
    monkeypatch.setattr(looking, "KEPT_S", 0.0)
    rt = await bootstrap.runtime()
    await register(rt.ledger, "gpu-1")
    await Call.objects.abulk_create([call("c1", 0, started=1, ended=5, model="qwen3:14b")])
    yield rt.ledger
    await bootstrap.close()


async def register(ledger: Any, *names: str) -> None:
    """Register servers that hold one model each."""
    await ledger.configure(servers=[record(name).config for name in names], footprints={}, weights={})
    for name in names:
        probe = await ledger.probe_begin(server=name, lease_s=10)
        seen = ServerSeen(phase="ready", ready=True, since=NOON, residents=(copy(),), models=("qwen3:14b", "other:1b"))
        await ledger.probe_end(server=name, probe=probe, seen=seen)


async def html_of(client: AsyncClient, address: str) -> str:
    """Read a page that must be there."""
    answer = await client.get(address)
    assert answer.status_code == 200, address
    return answer.content.decode()


def have_of(html: str) -> str:
    """Read what a page says it shows."""
    found = re.search(r'id="have" name="have" value="([0-9a-f.]+)"', html)
    assert found
    return found[1]


@pytest.mark.parametrize(("role", "is_offered"), [("operator", True), ("viewer", False)])
async def test_a_server_is_added_from_the_list_by_those_who_may(role, is_offered):
    html = await html_of(await person("ada", role), "/servers")

    assert ('href="/start/">Add a server' in html) is is_offered


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("role", ["viewer", None])
async def test_whoever_can_sign_in_sees_every_page(page, role):
    html = await html_of(await person("ada", role), page)

    found = Elements(html)
    assert len(found.ids) == len(set(found.ids))
    assert re.findall(r"<script(?![^>]*\bsrc=)[^>]*>", html) == []
    assert "style" not in found.attributes
    assert html.count("aria-current") >= 1
    labels = {label for labels in re.findall(r'aria-labelledby="([^"]+)"', html) for label in labels.split()}
    assert labels - set(found.ids) == set()


@pytest.mark.parametrize("page", PAGES)
async def test_a_stranger_is_sent_to_the_sign_in_and_comes_back_to_where_they_wanted(page):
    answer = await AsyncClient().get(f"{page}?since=1h")

    assert answer.status_code == 302
    assert answer["Location"] == f"/login/?next={page}%3Fsince%3D1h".replace(":", "%3A")


MISSING = {
    "/servers/nobody": "No server is registered as nobody.",
    "/servers/gpu-1/more": "No server is registered as gpu-1/more.",
    "/endpoints/nobody": "No server is registered as nobody.",
    "/models/nobody:1b": "No model is known as nobody:1b:",
    "/calls/nobody": "No call nobody is known.",
    "/nothing/here": "No page has this address.",
}


@pytest.mark.parametrize("page", MISSING)
async def test_what_is_not_there_is_not_found_and_named(page):
    answer = await (await person("ada")).get(page)

    assert answer.status_code == 404
    assert MISSING[page] in answer.content.decode()


async def test_a_page_whose_subject_is_gone_is_told_so_and_to_stop(ledger):
    """It went on asking, and said that the connection was lost."""
    client = await person("ada")
    have = have_of(await html_of(client, "/endpoints/gpu-1"))
    await ledger.configure(servers=[], footprints={}, weights={})

    answer = await client.get("/endpoints/gpu-1", {"have": have})

    assert answer.status_code == looking.STOP_ASKING
    told = Elements(answer.content.decode())
    assert told.swapped == ["problem"]
    assert "No server is registered as gpu-1." in told.text


@pytest.mark.parametrize("page", PAGES)
async def test_nothing_is_written_by_looking(page):
    assert (await (await person("ada")).post(page)).status_code == 405


@pytest.mark.parametrize("page", ["/servers", "/models", "/waiting", "/calls"])
async def test_an_address_with_a_slash_at_its_end_is_the_same_page(page):
    assert (await (await person("ada")).get(f"{page}/")).status_code == 200


@pytest.mark.parametrize("page", PAGES)
async def test_a_page_asks_again_and_is_answered_only_when_something_changed(page, monkeypatch):
    monkeypatch.setattr(bootstrap, "clock", lambda: NOON)
    client = await person("ada")
    html = await html_of(client, page)
    asked = re.search(r'id="look" hx-get="([^"]+)" hx-trigger="every 2s, look"', html)
    assert asked

    same = await client.get(asked[1], {"have": have_of(html)})
    other = await client.get(asked[1], {"have": "0"})

    assert (same.status_code, same.content) == (204, b"")
    assert other.status_code == 200
    told = Elements(other.content.decode())
    assert set(told.swapped) >= {"problem", "have"}
    assert "html" not in told.tags
    assert "no-cache" in other["Cache-Control"]


async def test_only_the_parts_that_changed_are_sent(ledger):
    client = await person("ada")
    html = await html_of(client, "/waiting")

    await ledger.enqueue(waiter=waiter("w1"))
    told = Elements((await client.get("/waiting", {"have": have_of(html)})).content.decode())

    assert set(told.swapped) == {"waiting-count", "waiting-line", "have", "waiting-wishes"} - (
        set() if "waiting-wishes" in told.swapped else {"waiting-wishes"}
    )
    assert "problem" not in told.ids
    assert "1 call waits." in told.text


async def test_a_page_left_open_after_the_sign_out_is_told_to_stop():
    client = await person("ada")
    have = have_of(await html_of(client, "/servers/gpu-1"))
    await User.objects.aupdate(is_active=False)

    answer = await client.get("/servers/gpu-1", {"have": have})

    assert answer.status_code == looking.STOP_ASKING
    told = Elements(answer.content.decode())
    assert told.swapped == ["signed-out"]
    assert "Sign in again" in told.text
    assert "next=/servers/gpu-1" in answer.content.decode()


async def test_what_everybody_looks_at_is_drawn_once(monkeypatch):
    monkeypatch.setattr(looking, "KEPT_S", 60.0)
    client = await person("ada")
    await html_of(client, "/calls")
    async with asked_of_the_database() as asked:
        assert (await client.get("/calls", {"have": "0"})).status_code == 200

    assert asked == []


BOUNDS = {"/servers": 2, "/servers/gpu-1": 8, "/models": 4, "/models/qwen3:14b": 5, "/waiting": 0, "/calls": 3}


@pytest.mark.parametrize(("page", "most"), BOUNDS.items())
async def test_a_page_asks_the_database_little_however_much_there_is(ledger, page, most):
    await register(ledger, *(f"gpu-{n}" for n in range(1, 20)))
    await Call.objects.abulk_create([call(f"x{n}", n, model="qwen3:14b") for n in range(100)])
    await ServerEvent.objects.abulk_create([event("load_done", n, model="m", mib=1) for n in range(100)])
    client = await person("ada")

    async with asked_of_the_database() as asked:
        await html_of(client, page)

    assert len(asked) <= most, asked


HOSTILE = '"><img src=x onerror=alert(1)><div hx-get="/admin/" hx-trigger="load"></div><b id="look">'


async def test_names_are_text_wherever_they_come_from(ledger):
    """Case C83: names and engine texts that are markup, or that htmx would obey."""
    await register(ledger, "team/gpu.1")
    await ledger.enqueue(waiter=waiter("w1", agent=f"default/{HOSTILE}", model="qwen3:32b"))
    await Call.objects.abulk_create(
        [
            call(
                "h",
                9,
                agent=HOSTILE,
                crew=HOSTILE,
                server="team/gpu.1",
                model="qwen3:14b",
                thread=HOSTILE,
                reason=HOSTILE,
            )
        ]
    )
    when = bootstrap.clock()
    failed = {"server": "team/gpu.1", "kind": "load_failed", "model": HOSTILE, "detail": HOSTILE, "at": time(when - 5)}
    await ServerEvent.objects.abulk_create([ServerEvent(**failed)])
    await Agent.objects.acreate(
        namespace="default",
        name="evil",
        spec={},
        status={"scheduling": {HOSTILE: [{"model": "qwen3:14b", "score": 1, "servers": None, "why": HOSTILE}]}},
        created_at=time(NOON),
        changed_at=time(NOON),
    )
    client = await person("ada")

    for page in ("/servers", "/servers/team/gpu.1", "/models", "/models/qwen3:14b", "/waiting", "/calls", "/calls/h"):
        html = await html_of(client, page)
        found = Elements(html)
        assert "<img src=x" not in html, page
        assert "onerror" not in found.attributes, page
        assert found.asking == (["", "look"] if page == "/calls" else ["look"]), page
        assert len(found.ids) == len(set(found.ids)), page
    assert "&lt;img src=x" in await html_of(client, f"/calls?agent={HOSTILE.replace('&', '%26')}")


async def test_names_that_look_alike_have_elements_of_their_own(ledger):
    """Case C84: ids made from names must not collide, nor with those of the page."""
    await register(ledger, "team-a/gpu.1", "team-a/gpu-1", "gpu-1", "state", "day")

    html = await html_of(await person("ada"), "/servers")
    one = await html_of(await person("ada"), "/servers/day")

    assert len(re.findall(r'<li id="row-', html)) == 5
    ids = Elements(one).ids
    assert len(ids) == len(set(ids))


async def test_a_model_says_who_may_use_it(ledger):
    await Model.objects.acreate(
        namespace="default",
        name="m",
        labels={"family": "qwen3"},
        spec={"model": "qwen3:14b", "vramMib": 10240},
        created_at=time(NOON),
        changed_at=time(NOON),
    )
    ranked = [{"model": name, "score": 70, "servers": None, "why": "quality bias"} for name in ("x", "qwen3:14b")]
    await Agent.objects.acreate(
        namespace="default",
        name="analyst",
        crew="lab",
        spec={},
        status={"scheduling": {"mulling": ranked}},
        created_at=time(NOON),
        changed_at=time(NOON),
    )

    text = " ".join(Elements(await html_of(await person("ada"), "/models/qwen3:14b")).text.split())

    assert "analyst of lab mulling choice 2 70 quality bias" in text
    assert "It is loaded here and takes 10.0 GiB." in text
    assert "family qwen3" in text


async def test_empty_pages_say_what_to_expect(ledger):
    await ledger.configure(servers=[], footprints={}, weights={})
    await Call.objects.all().adelete()
    client = await person("ada")

    assert "No server yet." in await html_of(client, "/servers")
    assert "No Model is registered" in await html_of(client, "/models")
    assert "Every call has its place." in await html_of(client, "/waiting")
    assert "No call yet." in await html_of(client, "/calls")
