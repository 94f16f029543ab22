"""`/calls`: filters in the address, pages that follow each other, what is said when nothing is found."""

import re
from urllib.parse import parse_qs, urlsplit

import pytest

from kubemoot_web.access import token_create
from kubemoot_web.board.details.calls import PAGE
from kubemoot_web.models import ApiToken
from scheduler import bootstrap
from scheduler.models import Call
from tests.pages.people import person
from tests.pages.test_details import html_of
from tests.queries.test_history import NOON, call

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
async def _runtime(valkey_url):
    await bootstrap.runtime()
    yield
    await bootstrap.close()


def shown(html: str) -> list[str]:
    """List the calls of a page."""
    return re.findall(r'class="whole" id="[^"]+" href="/calls/([^"]+)"', html)


async def test_filters_of_the_address_narrow_the_list_and_fill_the_form():
    await Call.objects.abulk_create(
        [
            call("a", 1, agent="default/scout", server="team-b/gpu-1", model="hf.co/x/y:q4", state="failed"),
            call("b", 2, agent="default/scout"),
            call("c", 3, action="evict"),
        ]
    )
    client = await person("ada")

    assert shown(await html_of(client, "/calls")) == ["c", "b", "a"]
    assert shown(await html_of(client, "/calls?agent=scout")) == ["b", "a"]
    assert shown(await html_of(client, "/calls?action=evict")) == ["c"]
    html = await html_of(client, "/calls?agent=scout&server=team-b/gpu-1&model=hf.co/x/y:q4&state=failed")
    assert shown(html) == ["a"]
    assert 'value="scout"' in html
    assert '<option value="failed" selected>' in html


async def test_calls_of_a_key_are_found_by_its_name_and_told_by_it():
    """A call through the gateway that names no agent goes by its key: the link to all of them led to none."""
    await token_create(name="nightly job", scopes=["call"], lifetime=None)
    prefix = (await ApiToken.objects.aget()).prefix
    await Call.objects.abulk_create(
        [call("a", 1, agent="nightly job", key=prefix), call("b", 2, agent="default/scout", key=prefix), call("c", 3)]
    )
    client = await person("ada")

    assert shown(await html_of(client, "/calls?agent=nightly+job")) == ["a"]
    assert 'href="/calls?agent=nightly%20job"' in await html_of(client, "/calls/a")
    assert (await html_of(client, "/calls")).count("key nightly job") == 1
    assert f"nightly job (km_{prefix}…)" in await html_of(client, "/calls/b")


async def test_since_counts_from_now(monkeypatch):
    rt = await bootstrap.runtime()
    now = rt.now()
    await Call.objects.abulk_create([call("old", now - 7200 - NOON), call("new", now - 60 - NOON)])

    assert shown(await html_of(await person("ada"), "/calls?since=1h")) == ["new"]


async def test_a_form_sent_without_scripts_leads_to_an_address_worth_keeping():
    answer = await (await person("ada")).get("/calls?agent=scout&crew=&server=&state=done&since=&before=")

    assert (answer.status_code, answer["Location"]) == (302, "/calls?agent=scout&state=done")


async def test_pages_follow_each_other_with_their_filters_and_only_the_first_stays_live():
    await Call.objects.abulk_create([call(f"c{n:03}", n // 3) for n in range(2 * PAGE + 10)])
    client = await person("ada")
    address, seen, live = "/calls?server=gpu-1", [], []
    while address:
        html = await html_of(client, address)
        seen.extend(shown(html))
        live.append('hx-trigger="every 2s' in html)
        older = re.search(r'id="older" rel="next" href="([^"]+)"', html)
        address = older[1].replace("&amp;", "&") if older else ""
        if address:
            assert parse_qs(urlsplit(address).query)["server"] == ["gpu-1"]

    assert seen == [f"c{n:03}" for n in reversed(range(2 * PAGE + 10))]
    assert live == [True, False, False]


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("?agent=nobody", "No call is like that."),
        ("?before=gone", "There is nothing older."),
        ("?state=sleeping", "state=sleeping is not understood, so it is not used."),
        ("", "No call yet."),
    ],
)
async def test_where_nothing_is_found_it_says_what_to_do(query, said):
    assert said in await html_of(await person("ada"), f"/calls{query}")


async def test_hostile_filters_are_harmless():
    client = await person("ada")

    for query in ("?before=%00", "?agent=%27%20OR%201=1--", "?server=" + "x" * 5000, "?since=1h;drop", "?agent__gt=a"):
        assert (await client.get(f"/calls{query}")).status_code == 200
