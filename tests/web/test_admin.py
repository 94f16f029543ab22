"""Django's admin shows the rest, and changes none of it behind the services' backs."""

from datetime import UTC, datetime

import pytest
from django.contrib.auth.models import User
from django.test import Client

from kubemoot_web.models import ApiToken
from providers.models import EndpointAlias, Model, ModelServer
from scheduler.models import Agent, Attempt, Call, Crew, CrewSchedulingPolicy, MootArchetype, PromptModule, ServerEvent

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("valkey_url")]
KINDS = (ModelServer, Model, Crew, Agent, PromptModule, CrewSchedulingPolicy, MootArchetype)


@pytest.fixture
def client():
    """Sign a superuser in."""
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    return client


def path(model: type, what: str, *arguments: object) -> str:
    """Name a page of the admin."""
    meta = model._meta
    return f"/admin/{meta.app_label}/{meta.model_name}/" + "".join(f"{each}/" for each in (*arguments, what) if each)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_listed_searched_and_shown_but_never_changed(client, kind):
    at = datetime.now(UTC)
    row = kind.objects.create(name="one", namespace="default", spec={"crewRef": "x"}, created_at=at, changed_at=at)

    listed = client.get(path(kind, ""), {"q": "one"})
    shown = client.get(path(kind, "change", row.pk))

    assert (listed.status_code, shown.status_code) == (200, 200)
    assert b">one<" in listed.content
    assert client.get(path(kind, "add")).status_code == 403
    assert client.post(path(kind, "change", row.pk), {"name": "two"}).status_code == 403
    assert client.post(path(kind, "delete", row.pk), {"post": "yes"}).status_code == 403


def test_aliases_can_be_searched_and_not_rewritten(client):
    alias = {"alias_key": "https://box:443", "canonical_key": "http://box:80", "created_at": datetime.now(UTC)}
    row = EndpointAlias.objects.create(**alias)

    assert b"https://box:443" in client.get(path(EndpointAlias, ""), {"q": "box"}).content
    assert client.post(path(EndpointAlias, "change", row.pk), {"alias_key": "x"}).status_code == 403
    assert str(row) == "https://box:443 is http://box:80"


def test_calls_can_be_searched_and_not_rewritten(client):
    Call.objects.create(
        id="c1",
        agent="default/analyst",
        priority="interactive",
        state="done",
        model="qwen3:14b",
        arrived_at=datetime.now(UTC),
    )

    assert b"default/analyst" in client.get(path(Call, ""), {"q": "qwen3"}).content
    assert b"default/analyst" not in client.get(path(Call, ""), {"q": "llama"}).content
    assert client.post(path(Call, "change", "c1"), {"state": "failed"}).status_code == 403


def test_the_admin_carries_no_style_or_script_that_our_policy_forbids(client):
    for model in (ModelServer, Call):
        page = client.get(path(model, "")).content.decode()
        assert " style=" not in page
        assert "<style" not in page


def test_guessing_passwords_has_one_door_and_it_is_slowed():
    """The admin's own sign-in counted nothing: whoever was slowed at ours went on guessing there."""
    User.objects.create_superuser("root", password="correct horse battery")
    client = Client()

    asked = client.get("/admin/scheduler/call/")
    sent_on = client.get(asked["Location"])
    guessed = client.post("/admin/login/", {"username": "root", "password": "correct horse battery"})

    assert asked["Location"] == "/admin/login/?next=/admin/scheduler/call/"
    assert sent_on["Location"] == "/login/?next=/admin/scheduler/call/"
    assert guessed["Location"] == "/login/?next=/admin/"
    assert "_auth_user_id" not in client.session
    client.post(sent_on["Location"], {"username": "root", "password": "correct horse battery"})
    assert client.get("/admin/scheduler/call/").status_code == 200


def test_who_is_no_staff_is_told_so_and_not_asked_for_another_password():
    client = Client()
    client.force_login(User.objects.create(username="viewer"))

    answer = client.get("/admin/", follow=True)

    assert answer.status_code == 403
    assert "Only the staff may see the administration." in answer.content.decode()
    assert "password" not in answer.content.decode()


def test_a_token_is_seen_without_its_secret_and_can_be_taken_away(client):
    row = ApiToken.objects.create(prefix="abc123", digest="d1gest", name="robot", scopes=["call"])

    shown = client.get(path(ApiToken, "change", row.pk)).content.decode()

    assert "abc123" in shown
    assert "d1gest" not in shown
    assert client.get(path(ApiToken, "add")).status_code == 403
    assert client.post(path(ApiToken, "change", row.pk), {"scopes": '["admin"]'}).status_code == 403
    assert client.post(path(ApiToken, "delete", row.pk), {"post": "yes"}).status_code == 302
    assert not ApiToken.objects.exists()


def test_exactly_what_can_be_looked_at_is_listed(client):
    labels = ("providers", "scheduler", "kubemoot_web")
    apps = client.get("/admin/").context["available_apps"]

    ours = {listed["model"] for app in apps if app["app_label"] in labels for listed in app["models"]}
    assert ours == {*KINDS, EndpointAlias, Attempt, Call, ServerEvent, ApiToken}
