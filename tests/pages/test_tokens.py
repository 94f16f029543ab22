"""The keys' page: who sees which, what can be given away, what is shown once, and what the log tells."""

import html
import logging
import re
from datetime import timedelta

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.test import AsyncClient

from kubemoot_web.access import Principal, token_create
from kubemoot_web.access.tokens import find_token
from kubemoot_web.models import ApiToken
from kubemoot_web.pages.key_forms import KeyForm
from scheduler import bootstrap
from scheduler.core.types import Priority
from tests.crds.documents import apply, crew
from tests.pages.people import BROWSER, person

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("valkey_url")]
DAY = timedelta(days=1)
TOKEN = re.compile(r"km_[0-9a-f]{12}_[\w-]{20,}")


@pytest.fixture(autouse=True)
async def ledger(valkey_url):
    """Let go of the ledger afterwards."""
    yield
    await bootstrap.close()


def text(answer) -> str:
    """Read a page as people do."""
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", answer.content.decode())))


async def key_of(name: str, key: str) -> str:
    """Make a key that belongs to somebody."""
    user, _ = await User.objects.aget_or_create(username=name)
    return await token_create(name=key, scopes=["read"], lifetime=DAY, user_id=user.pk)


def asked(**more: object) -> dict[str, object]:
    """Fill the form."""
    return {"name": "open-webui", "scopes": ["read"], "lifetime": "30d", "ceiling": "interactive"} | more


async def test_a_stranger_is_sent_to_the_sign_in():
    client = AsyncClient(headers=BROWSER)

    answers = [
        await client.get("/tokens"),
        await client.post("/tokens", asked()),
        await client.post("/tokens/revoke", {"key": "x"}),
    ]

    assert [(each.status_code, each["Location"].split("?")[0]) for each in answers] == [(302, "/login/")] * 3
    assert not await ApiToken.objects.aexists()


async def test_without_keys_the_page_says_what_they_are_for():
    page = await (await person("ada", "operator")).get("/tokens")

    assert "No keys yet. A program needs one" in text(page)
    assert 'href="/connect"' in page.content.decode()


async def test_a_viewer_sees_their_own_keys_and_an_operator_everybodys():
    viewer, operator = await person("vic", "viewer"), await person("ada", "operator")
    await key_of("vic", "vics laptop")
    await key_of("ada", "backup")
    await token_create(name="made by hand", scopes=["read"], lifetime=DAY)

    mine, all_of_them = text(await viewer.get("/tokens")), text(await operator.get("/tokens"))

    names = ("vics laptop", "backup", "made by hand")
    assert [name in mine for name in names] == [True, False, False]
    assert [name in all_of_them for name in names] == [True, True, True]
    assert "of vic" in all_of_them


async def test_two_people_who_look_at_the_same_moment_are_not_given_the_same_drawing():
    """Other pages are drawn once for everybody; this one is not the same for everybody."""
    one, other = await person("vic", "viewer"), await person("val", "viewer")
    await key_of("vic", "vics laptop")
    await one.get("/tokens")

    for page in (await other.get("/tokens"), await other.get("/tokens?have=x")):
        assert "vics laptop" not in text(page)


async def test_a_key_is_shown_once_and_works():
    await sync_to_async(apply)(crew("lab"))
    client = await person("ada", "operator")
    limits = asked(scopes=["read", "call"], crews=["default/lab"], ceiling="background", max_calls="2")

    made = await client.post("/tokens", limits)
    again = await client.get("/tokens")

    (token,) = TOKEN.findall(made.content.decode())
    found = await find_token(token)
    assert made.status_code == 201
    assert "no-store" in made["Cache-Control"]
    assert found.principal.scopes == {"read", "call"}
    assert found.principal.crews == {"default/lab"}
    assert (found.principal.ceiling, found.principal.max_calls) == (Priority.BACKGROUND, 2)
    assert 29 * 86400 < found.left_s <= 30 * 86400
    assert not TOKEN.search(again.content.decode())
    assert "crews: lab · background only · 2 calls at once" in text(again)
    assert (await ApiToken.objects.select_related("user").aget()).user.username == "ada"


@pytest.mark.parametrize(
    ("role", "changed", "says"),
    [
        ("viewer", {"scopes": ["read", "call"]}, "call is not one of the available choices"),
        ("operator", {"scopes": ["admin"]}, "admin is not one of the available choices"),
        ("operator", {"scopes": []}, "Tick at least one: a key that may do nothing is of no use."),
        ("operator", {"name": " "}, "Write what it is for: its calls go by this name."),
        ("operator", {"name": "default/analyst"}, "Write it without a slash"),
        ("operator", {"crews": ["default/nobody"]}, "nobody is not one of the available choices"),
        ("operator", {"max_calls": "0"}, "At least 1. Empty: any number."),
        ("operator", {"lifetime": "100y"}, "100y is not one of the available choices"),
    ],
)
async def test_what_cannot_be_given_is_refused_beside_its_field_and_nothing_is_made(role, changed, says):
    client = await person("ada", role)

    answer = await client.post("/tokens", asked(**changed))

    assert answer.status_code == 422
    assert says in text(answer)
    assert not await ApiToken.objects.aexists()


@pytest.mark.parametrize(("changed", "is_open"), [({}, False), ({"max_calls": "x"}, True), ({"crews": ["x"]}, True)])
def test_limits_that_were_typed_are_not_hidden(changed, is_open):
    principal = Principal(name="ada", scopes=frozenset({"read"}))
    form = KeyForm(asked(name="", **changed), principal=principal, crews=["x"], models=[])

    assert form.limits_are_open is is_open


async def test_a_key_is_revoked_by_its_owner_or_whoever_manages_and_by_nobody_else():
    owner, other = await person("vic", "viewer"), await person("val", "viewer")
    manager = await person("ada", "operator")
    first, second = await key_of("vic", "first"), await key_of("vic", "second")
    prefixes = [token.split("_")[1] for token in (first, second)]

    stolen = await other.post("/tokens/revoke", {"key": prefixes[0]}, follow=True)
    own = await owner.post("/tokens/revoke", {"key": prefixes[0]}, follow=True)
    managed = await manager.post("/tokens/revoke", {"key": prefixes[1]}, follow=True)
    twice = await manager.post("/tokens/revoke", {"key": prefixes[1]}, follow=True)

    assert "gone already, or is not yours" in text(stolen)
    assert "The key first is revoked" in text(own)
    assert "The key second is revoked" in text(managed)
    assert "gone already" in text(twice)
    assert [await find_token(token) for token in (first, second)] == [None, None]


async def test_a_key_is_neither_made_nor_revoked_without_the_csrf_token():
    strict = AsyncClient(headers=BROWSER, enforce_csrf_checks=True)
    await strict.aforce_login((await User.objects.aget_or_create(username="ada"))[0])
    token = await key_of("ada", "first")

    made = await strict.post("/tokens", asked())
    revoked = await strict.post("/tokens/revoke", {"key": token.split("_")[1]})

    assert (made.status_code, revoked.status_code) == (403, 403)
    assert [key.name async for key in ApiToken.objects.all()] == ["first"]


async def test_the_log_tells_who_made_and_revoked_which_key_and_no_secret(caplog):
    client = await person("ada", "operator")

    with caplog.at_level(logging.INFO, logger="kubemoot_web"):
        made = await client.post("/tokens", asked(name="two\nlines"))
        (token,) = TOKEN.findall(made.content.decode())
        await client.post("/tokens/revoke", {"key": token.split("_")[1]})

    lines = [record.getMessage() for record in caplog.records if record.name.startswith("kubemoot_web.access")]
    prefix, secret = token.split("_")[1:][0], token.split("_", 2)[2]
    assert [line.split(":")[0] for line in lines] == ["key made", "key revoked"]
    assert all(prefix in line and secret not in line and "\n" not in line for line in lines)
    assert lines[1].endswith("by 'ada'")


async def test_an_expired_key_is_said_to_be():
    client = await person("ada", "operator")
    await token_create(name="old", scopes=["read"], lifetime=-DAY)

    assert "never used · expired" in text(await client.get("/tokens"))


async def test_the_page_asks_for_what_changed_and_hears_of_a_new_key():
    client = await person("ada", "operator")
    page = (await client.get("/tokens")).content.decode()
    have = re.search(r'name="have" value="([^"]+)"', page)[1]
    same = await client.get(f"/tokens?have={have}")
    await token_create(name="newcomer", scopes=["read"], lifetime=DAY)

    changed = await client.get("/tokens")

    assert same.status_code == 204
    assert "newcomer" in text(changed)
