"""The page that gives every client its lines: the person's own address, a real model, a key shown once."""

import html
import re

import pytest
from django.test import AsyncClient

from kubemoot_web.access.tokens import find_token
from kubemoot_web.models import ApiToken
from scheduler import bootstrap
from tests.pages.people import BROWSER, person

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("valkey_url")]
TOKEN = re.compile(r"km_[0-9a-f]{12}_[\w-]{20,}")


@pytest.fixture(autouse=True)
async def ledger(valkey_url):
    """Let go of the ledger afterwards."""
    yield
    await bootstrap.close()


def lines(answer, client: str) -> str:
    """Read the lines of one client."""
    found = re.search(rf'<pre[^>]*id="{client}-lines"[^>]*><code>(.*?)</code>', answer.content.decode(), re.DOTALL)
    return html.unescape(found[1])


async def test_a_stranger_is_sent_to_the_sign_in():
    client = AsyncClient(headers=BROWSER)

    for answer in (await client.get("/connect"), await client.post("/connect/key")):
        assert (answer.status_code, answer["Location"].split("?")[0]) == (302, "/login/")


async def test_the_lines_carry_the_address_by_which_the_person_came_and_a_place_for_the_key():
    page = await (await person("ada", "operator")).get("/connect")

    assert 'base_url="http://testserver/v1"' in lines(page, "openai")
    assert 'host="http://testserver"' in lines(page, "ollama")
    assert "OPENAI_API_KEY=YOUR_KEY" in lines(page, "aider")
    assert not await ApiToken.objects.aexists()


async def test_without_a_model_the_page_says_that_the_name_is_an_example():
    page = await (await person("ada", "operator")).get("/connect")

    assert "No model is known yet" in page.content.decode()


async def test_one_button_makes_a_key_that_stands_in_all_lines_this_once():
    client = await person("ada", "operator")

    made = await client.post("/connect/key")
    again = await client.get("/connect")

    (token,) = set(TOKEN.findall(made.content.decode()))
    found = await find_token(token)
    assert made.status_code == 201
    assert "no-store" in made["Cache-Control"]
    assert "YOUR_KEY" not in made.content.decode()
    assert found.principal.name == "client of ada"
    assert found.principal.scopes == {"read", "call"}
    assert not TOKEN.search(again.content.decode())


async def test_a_key_may_be_named_after_its_client():
    made = await (await person("ada", "operator")).post("/connect/key", {"name": " my/aider " + "x" * 200})

    assert made.status_code == 201
    assert (await ApiToken.objects.aget()).name == ("my aider " + "x" * 200)[:100]


async def test_a_viewer_sees_the_lines_and_makes_no_key():
    client = await person("vic", "viewer")

    page, refused = await client.get("/connect"), await client.post("/connect/key")

    assert "Ask an operator for one" in page.content.decode()
    assert refused.status_code == 403
    assert not await ApiToken.objects.aexists()


async def test_a_key_is_not_made_without_the_csrf_token_nor_by_opening_an_address():
    strict = AsyncClient(headers=BROWSER, enforce_csrf_checks=True)
    operator = await person("ada", "operator")
    strict.cookies = operator.cookies

    assert (await strict.post("/connect/key")).status_code == 403
    assert (await operator.get("/connect/key")).status_code == 405
    assert not await ApiToken.objects.aexists()
