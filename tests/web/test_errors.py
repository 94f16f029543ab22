"""Whatever goes wrong below /api/v1 is answered in one shape."""

import json
from datetime import timedelta

import pytest
from asgiref.testing import ApplicationCommunicator
from django.contrib.auth.models import User
from django.test import AsyncClient, Client

from kubemoot_web.access import token_create
from kubemoot_web.api.body_limit import BodyLimit

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("valkey_url"),
    pytest.mark.urls("tests.web.urls_for_errors"),
]


async def bearer(*scopes: str) -> dict[str, str]:
    """Make a token and the header that carries it."""
    token = await token_create(name="robot", scopes=scopes, lifetime=timedelta(days=1))
    return {"Authorization": f"Bearer {token}"}


async def test_without_a_token_the_answer_says_how_to_get_one():
    answer = await AsyncClient().get("/api/v1/whoami")

    assert answer.status_code == 401
    assert answer["WWW-Authenticate"] == "Bearer"
    assert answer.json() == {
        "error": {
            "code": "unauthorized",
            "message": "Send a token: `Authorization: Bearer <token>` (made by `manage.py token NAME`).",
            "details": [],
        }
    }


async def test_a_wrong_token_is_no_token():
    answer = await AsyncClient().get("/api/v1/whoami", headers={"Authorization": "Bearer km_nope_nope"})

    assert answer.status_code == 401


async def test_a_token_is_known_by_its_name():
    answer = await AsyncClient().get("/api/v1/whoami", headers=await bearer("read"))

    assert (answer.status_code, answer.json()) == (200, {"name": "robot"})


async def test_a_missing_scope_is_forbidden():
    answer = await AsyncClient().post(
        "/api/v1/things", {"name": "x"}, content_type="application/json", headers=await bearer("read")
    )

    assert answer.status_code == 403
    assert answer.json()["error"] == {
        "code": "forbidden",
        "message": "robot may read; this needs the scope 'write'.",
        "details": [],
    }


async def test_each_wrong_field_is_named_by_its_path_and_never_repeated():
    body = {"name": 7, "parts": [{"size": 1}, {"size": "a secret prompt"}]}

    answer = await AsyncClient().post(
        "/api/v1/things", body, content_type="application/json", headers=await bearer("write")
    )

    assert answer.status_code == 422
    assert answer.json()["error"] == {
        "code": "invalid",
        "message": "name: Input should be a valid string",
        "details": [
            {"field": "name", "message": "Input should be a valid string"},
            {
                "field": "parts[1].size",
                "message": "Input should be a valid integer, unable to parse string as an integer",
            },
        ],
    }


async def test_a_body_that_is_wrong_as_a_whole_says_why():
    answer = await AsyncClient().post(
        "/api/v1/things", {"name": ""}, content_type="application/json", headers=await bearer("write")
    )

    assert answer.json()["error"]["message"] == "body: say something"


async def test_a_wrong_query_parameter_is_named():
    answer = await AsyncClient().get("/api/v1/pages?size=big", headers=await bearer("read"))

    assert answer.json()["error"]["details"] == [
        {"field": "size", "message": "Input should be a valid integer, unable to parse string as an integer"}
    ]


async def test_a_body_that_is_no_json_is_a_bad_request():
    answer = await AsyncClient().post(
        "/api/v1/things", "{", content_type="application/json", headers=await bearer("write")
    )

    assert answer.status_code == 400
    assert answer.json()["error"]["code"] == "bad-request"


async def test_an_unknown_address_is_not_found():
    answer = await AsyncClient().get("/api/v1/nothing/here")

    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not-found")


async def test_a_wrong_method_names_the_right_ones():
    answer = await AsyncClient().delete("/api/v1/things", headers=await bearer("write"))

    assert (answer.status_code, answer.json()["error"]["code"]) == (405, "method-not-allowed")
    assert answer["Allow"] == "POST"


async def test_pages_keep_their_own_errors():
    answer = await AsyncClient().get("/nothing/here")

    assert answer.status_code == 404
    assert "json" not in answer["Content-Type"]


def test_a_session_reads_but_changes_nothing_without_the_csrf_token():
    client = Client(enforce_csrf_checks=True)
    client.force_login(User.objects.create_superuser("ada"))

    read = client.get("/api/v1/whoami")
    refused = client.post("/api/v1/things", {"name": "x"}, content_type="application/json")
    client.cookies["csrftoken"] = "a" * 32
    accepted = client.post(
        "/api/v1/things", {"name": "x"}, content_type="application/json", headers={"X-CSRFToken": "a" * 32}
    )

    assert read.json() == {"name": "ada"}
    assert refused.status_code == 403
    assert refused.json()["error"]["message"].startswith("The CSRF token is missing or wrong")
    assert accepted.status_code == 200


async def echo_length(scope, receive, send):
    """Read the whole body, then answer."""
    length, more = 0, True
    while more:
        message = await receive()
        length, more = length + len(message["body"]), message["more_body"]
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": str(length).encode()})


@pytest.mark.parametrize(
    ("headers", "chunks", "status"),
    [
        ([], [b"x" * 10], 200),
        ([], [b"x" * 6, b"x" * 5], 413),
        ([(b"content-length", b"11")], [], 413),
        ([(b"content-length", b"10")], [b"x" * 10], 200),
    ],
)
async def test_a_body_is_refused_as_soon_as_it_is_too_large(headers, chunks, status):
    scope = {"type": "http", "headers": headers}
    talk = ApplicationCommunicator(BodyLimit(echo_length, limit=10), scope)
    for number, chunk in enumerate(chunks, start=1):
        await talk.send_input({"type": "http.request", "body": chunk, "more_body": number < len(chunks)})

    start, body = await talk.receive_output(), await talk.receive_output()

    assert start["status"] == status
    if status == 413:
        assert json.loads(body["body"])["error"]["code"] == "too-large"
