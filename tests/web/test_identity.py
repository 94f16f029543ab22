"""Tokens, roles, the login page, the one-time link."""

import json
from datetime import timedelta
from io import StringIO

import pytest
from asgiref.sync import sync_to_async
from celery.signals import task_postrun
from django.contrib.auth.models import Group, User
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db.models.functions import Now
from django.test import AsyncClient, Client

from kubemoot_web.access import Forbidden, Principal, principal_of_user, sign_in, token_create
from kubemoot_web.access.tokens import UnknownScope, find_token, principal_of_token
from kubemoot_web.celery import app
from kubemoot_web.models import ApiToken
from scheduler.core.types import Priority

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("valkey_url")]
DAY = timedelta(days=1)


async def test_a_token_finds_its_principal_and_is_stored_as_a_hash_alone():
    token = await token_create(name="robot", scopes=["call", "read"], lifetime=DAY, agent="default/analyst")

    assert await principal_of_token(token) == Principal(
        name="robot", scopes=frozenset({"read", "call"}), agent="default/analyst", key=token.split("_")[1]
    )
    row = await ApiToken.objects.aget()
    assert token.rsplit("_", 1)[1] not in json.dumps([str(getattr(row, f.attname)) for f in row._meta.fields])
    assert row.scopes == ["read", "call"]
    assert row.last_used_at is not None


@pytest.mark.parametrize("broken", ["", "km_", "x", "km_000000000000_abc", "other_a_b"])
async def test_what_is_no_token_finds_nobody(broken):
    assert await principal_of_token(broken) is None


async def test_a_token_with_one_wrong_character_finds_nobody():
    token = await token_create(name="robot", scopes=["read"], lifetime=DAY)

    assert await principal_of_token(token[:-1] + ("a" if token[-1] != "a" else "b")) is None


async def test_an_expired_token_finds_nobody():
    token = await token_create(name="robot", scopes=["read"], lifetime=-DAY)

    assert await principal_of_token(token) is None


async def test_the_token_of_a_disabled_person_finds_nobody():
    user = await User.objects.acreate(username="gone", is_active=False)
    token = await token_create(name="robot", scopes=["read"], lifetime=None, user_id=user.pk)

    assert await principal_of_token(token) is None


async def test_a_token_never_does_more_than_its_owner_may_now():
    """An operator who is a viewer since must not keep calling with a key from before."""
    user = await User.objects.acreate(username="ada")
    operators, _ = await Group.objects.aget_or_create(name="operator")
    await user.groups.aadd(operators)
    token = await token_create(name="robot", scopes=["read", "call"], lifetime=None, user_id=user.pk)
    before = await principal_of_token(token)
    await user.groups.aremove(operators)

    after = await principal_of_token(token)

    assert before.scopes == {"read", "call"}
    assert after.scopes == {"read"}


async def test_what_a_token_may_call_is_kept_in_one_spelling():
    token = await token_create(
        name="robot",
        scopes=["call"],
        lifetime=DAY,
        crews=["lab", "team-b/studio"],
        models=["qwen3:latest", "library/qwen3:8b"],
        ceiling=Priority.BACKGROUND,
        max_calls=2,
    )

    assert await principal_of_token(token) == Principal(
        name="robot",
        scopes=frozenset({"call"}),
        key=token.split("_")[1],
        crews=frozenset({"default/lab", "team-b/studio"}),
        models=frozenset({"qwen3", "qwen3:8b"}),
        ceiling=Priority.BACKGROUND,
        max_calls=2,
    )


async def test_last_use_is_noted_at_most_once_a_minute():
    token = await token_create(name="robot", scopes=["read"], lifetime=None)
    await principal_of_token(token)
    first = (await ApiToken.objects.aget()).last_used_at

    await principal_of_token(token)
    second = (await ApiToken.objects.aget()).last_used_at
    await ApiToken.objects.aupdate(last_used_at=Now() - timedelta(minutes=2))
    await principal_of_token(token)
    third = (await ApiToken.objects.aget()).last_used_at

    assert first == second
    assert third >= first


async def test_an_unknown_scope_is_refused_by_name():
    with pytest.raises(UnknownScope, match="Unknown scope fly: write some of read, call, write, admin"):
        await token_create(name="robot", scopes=["read", "fly"], lifetime=None)


def test_a_missing_scope_is_refused_with_what_is_needed():
    with pytest.raises(Forbidden, match="robot may read; this needs the scope 'write'"):
        Principal(name="robot", scopes=frozenset({"read"})).require("write")


@pytest.mark.parametrize(
    ("agent", "crew", "passes"),
    [
        (None, None, True),
        ("default/analyst", None, True),
        ("default/scout", None, False),
        (None, "default/lab", True),
        (None, "default/studio", False),
    ],
)
def test_a_bound_token_speaks_for_its_own_agent_or_crew_alone(agent, crew, passes):
    principal = Principal(name="robot", scopes=frozenset({"call"}), agent=agent, crew=crew)

    try:
        principal.require_agent(agent="default/analyst", crew="default/lab")
    except Forbidden:
        assert not passes
    else:
        assert passes


@pytest.mark.parametrize(
    ("role", "scopes"),
    [
        (None, {"read"}),
        ("viewer", {"read"}),
        ("operator", {"read", "call", "write"}),
        ("admin", {"read", "call", "write", "admin"}),
    ],
)
async def test_roles_give_scopes(role, scopes):
    user = await User.objects.acreate(username="ada")
    if role:
        group, _ = await Group.objects.aget_or_create(name=role)
        await user.groups.aadd(group)

    assert await principal_of_user(user) == Principal(name="ada", scopes=frozenset(scopes))


def test_the_token_command_prints_the_token_alone_on_one_line():
    out = StringIO()

    call_command("token", "robot", "--scopes", "read,call", "--agent", "analyst", stdout=out)

    (line,) = out.getvalue().splitlines()
    assert line.startswith("km_")
    row = ApiToken.objects.get()
    assert (row.name, row.scopes, row.agent) == ("robot", ["read", "call"], "default/analyst")
    assert row.expires_at is not None


async def test_the_token_command_limits_what_it_may_call():
    out = StringIO()
    limits = ["--crews", "lab, team-b/studio", "--models", "qwen3:8b", "--ceiling", "background", "--max-calls", "3"]

    await sync_to_async(call_command)("token", "robot", *limits, "--expires", "12h", stdout=out)

    token = out.getvalue().strip()
    found = await find_token(token)
    assert found.principal == Principal(
        name="robot",
        scopes=frozenset({"read", "call"}),
        key=token.split("_")[1],
        crews=frozenset({"default/lab", "team-b/studio"}),
        models=frozenset({"qwen3:8b"}),
        ceiling=Priority.BACKGROUND,
        max_calls=3,
    )
    assert 12 * 3600 - 60 < found.left_s <= 12 * 3600


async def test_the_token_command_makes_one_that_never_ends():
    out = StringIO()

    await sync_to_async(call_command)("token", "robot", "--expires", "never", stdout=out)

    assert (await find_token(out.getvalue().strip())).left_s is None


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--scopes", "fly"], "Unknown scope fly"),
        (["--expires", "soon"], "--expires is a number of days or hours, such as 90d or 12h, or never"),
        (["--expires", "0d"], "--expires is a number"),
        (["--max-calls", "0"], "--max-calls must be 1 or more"),
    ],
)
def test_the_token_command_refuses_what_makes_no_sense(arguments, says):
    with pytest.raises(CommandError, match=says):
        call_command("token", "robot", *arguments, stdout=StringIO())


def test_a_login_link_works_once():
    user = User.objects.create(username="ada")
    link = f"/login/link/{sign_in.login_link_token(user=user)}/"
    first, second = Client(), Client()

    answer, late = first.get(link), second.get(link)

    assert (answer.status_code, answer["Location"]) == (302, "/")
    assert first.session["_auth_user_id"] == str(user.pk)
    assert late.status_code == 403
    assert "_auth_user_id" not in second.session
    assert first.get(link).status_code == 302, "whoever is in already is only sent on"


def test_a_forged_login_link_logs_nobody_in():
    client = Client()

    assert client.get("/login/link/eyJ1c2VyIjoxfQ:1abc:forged/").status_code == 403
    assert "_auth_user_id" not in client.session


def test_guessing_a_password_is_slowed_for_that_account_and_address_only():
    User.objects.create_user("ada", password="correct horse battery")
    User.objects.create_user("bob", password="correct horse battery")
    client = Client()
    for _ in range(sign_in.FREE_GUESSES):
        assert client.post("/login/", {"username": "ada", "password": "wrong"}).status_code == 200

    paused = client.post("/login/", {"username": "ada", "password": "correct horse battery"})
    elsewhere = Client(REMOTE_ADDR="192.0.2.9").post(
        "/login/", {"username": "ada", "password": "correct horse battery"}
    )
    other = Client().post("/login/", {"username": "bob", "password": "correct horse battery"})

    assert "Too many wrong passwords" in paused.content.decode()
    assert elsewhere.status_code == 302
    assert other.status_code == 302


def test_the_pause_doubles_and_has_an_end():
    pauses = [sign_in.wrong_password(account="ada", address="::1") for _ in range(16)]

    assert pauses[:8] == [0, 0, 0, 2, 4, 8, 16, 32]
    assert pauses[-1] == sign_in.LONGEST_PAUSE_S


async def test_ready_names_each_part(db):
    answer = await AsyncClient().get("/readyz")

    assert answer.status_code == 503
    assert answer.json() == {
        "status": "not ready",
        "parts": {"database": "ok", "redis": "ok", "worker": "no worker has finished a task in the last seconds"},
    }


async def test_a_worker_that_finishes_its_ticks_makes_it_ready(db):
    """A worker that is connected but finishes nothing is no worker."""
    app.loader.import_default_modules()
    task_postrun.send(sender=app.tasks["scheduler.tick"])

    answer = await AsyncClient().get("/readyz")

    assert (answer.status_code, answer.json()["parts"]["worker"]) == (200, "ok")


async def test_alive_answers():
    answer = await AsyncClient().get("/healthz")

    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})
