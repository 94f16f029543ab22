"""The pages that everybody sees, and what every page carries."""

import re

import pytest
from django.contrib.auth.models import User
from django.test import Client

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("valkey_url")]


def test_every_answer_forbids_scripts_from_elsewhere():
    answer = Client().get("/login/")

    assert "script-src 'self'" in answer["Content-Security-Policy"]
    assert "'unsafe-inline'" not in answer["Content-Security-Policy"]


def test_pages_load_nothing_from_other_hosts_and_run_no_inline_script():
    html = Client().get("/login/").content.decode()

    assert re.findall(r'(?:src|href)="(https?:)?//', html) == []
    assert re.findall(r"<script(?![^>]*\bsrc=)[^>]*>", html) == []
    assert " style=" not in html


def test_the_api_page_is_served_without_a_cdn_and_without_inline_scripts():
    answer = Client().get("/api/v1/docs")

    html = answer.content.decode()
    assert answer.status_code == 200
    assert "https://" not in html
    assert re.findall(r"<script>", html) == []
    assert "swagger-ui-bundle.js" in html


def test_the_schema_declares_both_ways_to_authenticate():
    schema = Client().get("/api/v1/openapi.json").json()

    assert schema["info"]["title"] == "Kubemoot"
    assert schema["openapi"].startswith("3.")


def test_someone_logged_in_sees_their_name_and_a_way_out():
    client = Client()
    client.force_login(User.objects.create_superuser("ada"))

    html = client.get("/nothing/here").content.decode()

    assert ">ada<" in html
    assert "Sign out" in html


def test_signing_out_needs_a_post():
    client = Client()
    client.force_login(User.objects.create_superuser("ada"))

    assert client.get("/logout/").status_code == 405
    assert client.post("/logout/").status_code == 302
    assert "_auth_user_id" not in client.session
