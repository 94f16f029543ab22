"""Which requests are the gateway's, and which are passed on to the pages and the REST API."""

import httpx
import pytest

from kubemoot_web.gateway.app import Gateway


async def answered(method: str, path: str, **headers: str) -> httpx.Response:
    """Send a request without a key, which the gateway refuses; what it passes on is told with status 299."""

    async def pages(scope, receive, send):
        await send({"type": "http.response.start", "status": 299, "headers": []})
        await send({"type": "http.response.body", "body": scope["path"].encode()})

    transport = httpx.ASGITransport(app=Gateway(pages))
    async with httpx.AsyncClient(transport=transport, base_url="http://kubemoot", headers=headers) as client:
        return await client.request(method, path)


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/v1/chat/completions"),
        ("POST", "/v1/chat/completions/"),
        ("POST", "/v1//chat/completions"),
        ("GET", "/v1"),
        ("GET", "/v1/"),
        ("GET", "/v1/models/"),
        ("GET", "/api/tags/"),
        ("PUT", "/api/unheard-of"),
    ],
)
async def test_clients_are_answered_by_the_gateway_however_their_address_was_typed(method, path):
    answer = await answered(method, path)

    assert (answer.status_code, answer.headers["x-kubemoot-reason"]) == (401, "unauthorized")


@pytest.mark.parametrize(
    "path", ["/api/v1/cluster", "/api/v1/", "/api/v1", "/api//v1/cluster/", "/tokens/", "/v1x", "/"]
)
async def test_everything_else_reaches_the_pages_as_it_came(path):
    answer = await answered("GET", path, accept="text/html")

    assert (answer.status_code, answer.text) == (299, path)


async def test_a_client_of_anthropic_is_refused_in_its_own_shape_wherever_it_asks():
    for path in ("/v1/models", "/v1/messages/batches"):
        answer = await answered("GET", path, **{"anthropic-version": "2023-06-01"})

        assert answer.json()["error"]["type"] == "authentication_error"
        assert answer.json()["type"] == "error"
