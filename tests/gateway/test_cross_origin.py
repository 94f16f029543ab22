"""Pages of other origins."""

import pytest
from pydantic import ValidationError

from kubemoot_web.gateway.cross_origin import CrossOrigin
from kubemoot_web.settings.env_gateway import GatewayEnv
from tests.fakes.scripted_relay import Answer
from tests.gateway.relayed import Client, Gate, world_of

CHAT = b"https://chat.example.com"


async def answered(path: str, *, origin: bytes | None, method: str = "POST", asks: bool = False) -> tuple[int, dict]:
    """Send a request through the layer and give the status and headers of its answer; the application says 200."""
    sent: list[dict] = []

    async def app(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": [(b"x-own", b"1")]})
        await send({"type": "http.response.body", "body": b""})

    async def send(message):
        sent.append(message)

    headers = [] if origin is None else [(b"origin", origin)]
    if asks:
        headers += [
            (b"access-control-request-method", b"POST"),
            (b"access-control-request-headers", b"authorization,x-stainless-os"),
        ]
    scope = {"type": "http", "path": path, "method": method, "headers": headers}
    await CrossOrigin(app, origins=[CHAT.decode()])(scope, None, send)
    return sent[0]["status"], dict(sent[0]["headers"])


async def test_a_page_that_is_let_in_may_ask_and_call():
    status, headers = await answered("/v1/chat/completions", origin=CHAT, method="OPTIONS", asks=True)
    assert status == 204
    assert headers[b"access-control-allow-origin"] == CHAT
    assert headers[b"access-control-allow-headers"] == b"authorization,x-stainless-os"

    status, headers = await answered("/api/chat", origin=CHAT)
    assert (status, headers[b"access-control-allow-origin"], headers[b"x-own"]) == (200, CHAT, b"1")
    assert b"access-control-allow-credentials" not in headers


async def test_a_page_reads_all_that_we_say_in_headers():
    client = await Gate(await world_of(), Answer(status=429), Answer(status=429), Answer(status=429)).serve(Client())
    _, headers = await answered("/v1/chat/completions", origin=CHAT)

    said = {name for name, _ in client.headers} - {"content-type", "content-length"}
    assert {"retry-after", "x-should-retry", "x-kubemoot-server"} <= said
    assert said <= set(headers[b"access-control-expose-headers"].decode().split(", "))


@pytest.mark.parametrize(
    ("path", "origin"),
    [
        ("/v1/chat/completions", b"https://evil.example.com"),
        ("/v1/chat/completions", b"null"),
        ("/v1/chat/completions", None),
        ("/api/v1/cluster", CHAT),
        ("/", CHAT),
    ],
)
@pytest.mark.parametrize("method", ["POST", "OPTIONS"])
async def test_nobody_else_is_told_anything(path, origin, method):
    status, headers = await answered(path, origin=origin, method=method, asks=method == "OPTIONS")

    assert status == 200, "the application answers, as if nobody had asked"
    assert not [name for name in headers if name.startswith(b"access-control")]


@pytest.mark.parametrize("origin", ["*", "chat.example.com", "https://chat.example.com/", "ftp://x"])
def test_what_no_browser_sends_is_no_origin(origin, monkeypatch):
    monkeypatch.setenv("KUBEMOOT_CROSS_ORIGINS", origin)

    with pytest.raises(ValidationError, match="write origins as a browser does"):
        GatewayEnv(cross_origins=(origin,), KUBEMOOT_CROSS_ORIGINS=(origin,))
