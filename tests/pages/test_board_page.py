"""`/`: the board for people, the greeting for programs."""

import re

import pytest
from django.contrib.auth.models import Group, User
from django.test import AsyncClient

from scheduler import bootstrap
from tests.board.views import record

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("valkey_url")]
BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"


@pytest.fixture(autouse=True)
async def ledger():
    """Give the ledger, and let go of it afterwards."""
    rt = await bootstrap.runtime()
    yield rt.ledger
    await bootstrap.close()


async def person(name: str, role: str | None = None) -> AsyncClient:
    """Sign somebody in."""
    user = await User.objects.acreate(username=name)
    if role:
        group, _ = await Group.objects.aget_or_create(name=role)
        await user.groups.aadd(group)
    client = AsyncClient()
    await client.aforce_login(user)
    return client


@pytest.mark.parametrize("role", ["admin", "viewer", None])
async def test_whoever_can_sign_in_sees_the_board(ledger, role):
    await ledger.configure(servers=[record().config], footprints={}, weights={})
    client = await person("ada", role)

    answer = await client.get("/", headers={"accept": BROWSER})

    html = answer.content.decode()
    assert answer.status_code == 200
    for wanted in ('id="server-gpu-1"', 'id="summary"', 'id="line"', 'id="decisions"', 'ws-connect="/ws/board/"'):
        assert wanted in html
    assert "Nobody waits." in html
    assert "Accept" in answer["Vary"]
    assert "no-cache" in answer["Cache-Control"]


async def test_a_stranger_is_sent_to_the_sign_in():
    answer = await AsyncClient().get("/", headers={"accept": BROWSER})

    assert (answer.status_code, answer["Location"]) == (302, "/login/?next=/")


async def test_somebody_who_was_disabled_is_a_stranger():
    client = await person("ada")
    await User.objects.aupdate(is_active=False)

    assert (await client.get("/", headers={"accept": BROWSER})).status_code == 302


@pytest.mark.parametrize("accept", [None, "*/*", "application/json", "text/plain, */*"])
@pytest.mark.parametrize("method", ["get", "head"])
async def test_programs_are_greeted_as_ollama_greets(method, accept):
    answer = await getattr(AsyncClient(), method)("/", headers={"accept": accept} if accept else {})

    assert answer.status_code == 200
    assert answer["Content-Type"].startswith("text/plain")
    assert answer.content == (b"Ollama is running" if method == "get" else b"")


async def test_nothing_is_written_to_the_root():
    assert (await AsyncClient().post("/")).status_code == 405


async def test_a_board_without_servers_says_what_to_do_next():
    html = (await (await person("ada")).get("/", headers={"accept": BROWSER})).content.decode()

    assert "No server yet" in html
    assert "manage.py apply -f mine.yaml --dry-run" in html
    assert "deploy/examples/one-pc.yaml" in html


async def test_the_page_has_each_id_once_and_works_without_scripts(ledger):
    await ledger.configure(servers=[record("a/b").config, record("a.b").config], footprints={}, weights={})
    html = (await (await person("ada")).get("/", headers={"accept": BROWSER})).content.decode()

    ids = re.findall(r'\sid="([^"]+)"', html)
    assert len(ids) == len(set(ids))
    assert re.findall(r"<script(?![^>]*\bsrc=)[^>]*>", html) == []
    assert " style=" not in html
    assert re.search(r"Not probed yet", html)


async def test_every_label_names_an_element(ledger):
    await ledger.configure(servers=[record().config], footprints={}, weights={})
    html = (await (await person("ada")).get("/", headers={"accept": BROWSER})).content.decode()

    ids = set(re.findall(r'\sid="([^"]+)"', html))
    assert set(re.findall(r'aria-labelledby="([^"]+)"', html)) - ids == set()
    assert html.count('aria-live="polite"') == 1
