"""Keys at the gateway: what is refused to whom, in the shape of each dialect, before anything is placed."""

import asyncio
import json
from datetime import timedelta

import httpx
import pytest

from kubemoot_web.access import token_create
from kubemoot_web.gateway import line as lines
from kubemoot_web.gateway.app import Gateway
from kubemoot_web.gateway.key_in_path import KeyInPath
from scheduler import bootstrap
from scheduler.core.gate import Admission, AdmissionState
from scheduler.core.ledger import ServerSeen
from scheduler.core.snapshot import Resident
from tests.api.conftest import Caller
from tests.crds.documents import agent, bundle, crew, model, server

pytestmark = pytest.mark.django_db(transaction=True)

QUESTION = {"messages": [{"role": "user", "content": "Hello!"}], "max_tokens": 8}
DIALECTS = {"/v1/chat/completions": "openai", "/api/chat": "ollama", "/v1/messages": "anthropic"}


@pytest.fixture(autouse=True)
async def cluster(valkey_url):
    """Register a crew's agent, one of no crew, and a server that holds two models."""
    robot = Caller(await key("write"))
    applied = await robot.apply(
        bundle(
            server("gpu-1"),
            crew("lab"),
            agent("analyst", crew="lab", spec="{capabilities: [analysis]}"),
            agent("loner", spec="{capabilities: [analysis]}"),
            model("small", "qwen3:8b", labels='    capability/analysis: "true"\n'),
            model("middle", "qwen3:14b", labels='    capability/analysis: "true"\n'),
        )
    )
    assert applied.status_code == 200, applied.content
    rt = await bootstrap.runtime()
    probe = await rt.ledger.probe_begin(server="gpu-1", lease_s=10)
    residents = tuple(
        Resident(model=f"qwen3:{size}", footprint_mib=4096, context_length=8192) for size in ("8b", "14b")
    )
    seen = ServerSeen(
        phase="ready",
        ready=True,
        since=rt.now(),
        residents=residents,
        models=("qwen3:8b", "qwen3:14b"),
        probed_at=rt.now(),
    )
    await rt.ledger.probe_end(server="gpu-1", probe=probe, seen=seen)
    yield
    await rt.ledger.catch_up()
    assert not rt.ledger.replica.tickets, "what is refused claims nothing"
    await bootstrap.close()


async def key(*scopes: str, **limits: object) -> str:
    """Make a key."""
    return await token_create(name="robot", scopes=scopes, lifetime=timedelta(hours=1), **limits)


async def send(method: str, path: str, token: str | None = None, **more: object) -> httpx.Response:
    """Send a request to the gateway alone."""
    headers = {} if token is None else {"authorization": f"Bearer {token}"}
    transport = httpx.ASGITransport(app=KeyInPath(Gateway(None)))
    async with httpx.AsyncClient(transport=transport, base_url="http://kubemoot", headers=headers) as client:
        return await client.request(method, path, **more)


def said(answer: httpx.Response, path: str) -> str:
    """Read the message of an error in the shape that clients of this path expect, and in no other."""
    body = json.loads(answer.content)
    match DIALECTS[path]:
        case "ollama":
            assert set(body) == {"error"}
            return body["error"]
        case "openai":
            assert {"message", "type", "code"} <= set(body["error"])
            return body["error"]["message"]
        case _:
            assert body["type"] == "error"
            return body["error"]["message"]


@pytest.mark.parametrize("path", DIALECTS)
async def test_who_waited_for_a_paused_server_is_told_so_with_the_code_that_programs_know(path):
    ledger = (await bootstrap.runtime()).ledger
    await ledger.admission_set(server="gpu-1", admission=Admission(state=AdmissionState.PAUSED, since=1.0))

    answer = await send(
        "POST", path, await key("call"), json={"model": "qwen3:8b", **QUESTION}, headers={"x-kubemoot-wait": "0"}
    )

    assert answer.headers["x-kubemoot-reason"] == "gpu-busy"
    assert said(answer, path).startswith("No server that can hold qwen3:8b took calls for it when the wait ended")


@pytest.mark.parametrize("path", DIALECTS)
@pytest.mark.parametrize("token", [None, "ollama", "km_000000000000_wrong"])
async def test_who_has_no_key_is_told_where_to_get_one(path, token):
    answer = await send("POST", path, token, json={"model": "qwen3:8b", **QUESTION})

    assert answer.status_code == 401
    assert "Connect makes one" in said(answer, path)
    assert answer.headers["x-should-retry"] == "false"


@pytest.mark.parametrize("path", DIALECTS)
async def test_a_key_that_may_only_look_does_not_call(path):
    answer = await send("POST", path, await key("read"), json={"model": "qwen3:8b", **QUESTION})

    assert answer.status_code == 403
    assert "this needs the scope 'call'" in said(answer, path)


@pytest.mark.parametrize("path", DIALECTS)
async def test_a_model_that_the_key_may_not_use_is_refused_by_name(path):
    answer = await send("POST", path, await key("call", models=["qwen3:8b"]), json={"model": "qwen3:14b", **QUESTION})

    assert answer.status_code == 403
    assert said(answer, path) == "The key robot may not use qwen3:14b; it is for qwen3:8b."


@pytest.mark.parametrize("path", DIALECTS)
@pytest.mark.parametrize("asked", ["qwen3:8b", "agent/default/loner", "agent/loner"])
async def test_a_key_of_a_crew_calls_for_its_agents_alone(path, asked):
    answer = await send("POST", path, await key("call", crews=["lab"]), json={"model": asked, **QUESTION})

    assert answer.status_code == 403
    assert said(answer, path).startswith("The key robot calls for lab alone")


@pytest.mark.parametrize("asked", ["agent/loner", "agent/default/loner"])
async def test_a_token_that_belongs_to_a_crew_does_not_speak_for_an_agent_of_none(asked):
    token = await key("call", crew="default/lab")

    answer = await send("POST", "/api/chat", token, json={"model": asked, **QUESTION})

    assert answer.status_code == 403
    assert said(answer, "/api/chat") == "robot belongs to the crew default/lab and cannot speak for default/loner."


@pytest.mark.parametrize("path", DIALECTS)
async def test_a_model_that_nobody_has_is_not_found(path):
    answer = await send("POST", path, await key("call"), json={"model": "nothing:1b", **QUESTION})

    assert answer.status_code == 404
    assert "nothing:1b" in said(answer, path)


@pytest.mark.parametrize(
    ("limits", "names"),
    [
        ({}, {"qwen3:8b", "qwen3:14b", "agent/default/analyst", "agent/default/loner"}),
        ({"models": ["qwen3:8b"]}, {"qwen3:8b", "agent/default/analyst", "agent/default/loner"}),
        ({"models": ["qwen3:32b"]}, set()),
        ({"crews": ["lab"]}, {"agent/default/analyst"}),
        ({"crews": ["lab"], "models": ["qwen3:32b"]}, set()),
    ],
)
async def test_the_list_holds_what_the_key_may_ask_for(limits, names):
    token = await key("call", **limits)

    listed = (await send("GET", "/v1/models", token)).json()["data"]
    tagged = (await send("GET", f"/key/{token}/api/tags")).json()["models"]

    assert {one["id"] for one in listed} == names
    assert {one["model"] for one in tagged} == names


@pytest.mark.parametrize("scope", ["read", "call", "write", "admin"])
@pytest.mark.parametrize(
    ("method", "path"),
    [
        *(("GET", path) for path in ("/v1/models", "/v1/models/qwen3:8b", "/api/tags", "/api/ps", "/api/version")),
        ("POST", "/api/show"),
    ],
)
async def test_who_may_neither_look_nor_call_is_not_told_what_there_is(method, path, scope):
    more = {"json": {"model": "qwen3:8b"}} if method == "POST" else {}

    answer = await send(method, path, await key(scope), **more)

    if scope in ("write", "admin"):
        assert answer.status_code == 403
        assert f"robot may {scope}; this needs the scope 'read' or 'call'." in answer.text
    else:
        assert answer.status_code == (404 if path == "/api/show" else 200), "no engine answers here"


@pytest.mark.parametrize("path", ["/api/pull", "/api/delete"])
async def test_no_key_changes_what_engines_have(path):
    answer = await send("POST", path, await key("call", "write", "admin"), json={"model": "qwen3:8b"})

    assert answer.status_code == 403
    assert "do it on the server itself" in answer.json()["error"]


@pytest.mark.parametrize("path", DIALECTS)
async def test_what_goes_wrong_inside_is_told_in_the_clients_dialect_and_not_repeated_in_the_log(
    path, monkeypatch, caplog
):
    async def broken(presented):
        raise RuntimeError(presented)

    monkeypatch.setattr("kubemoot_web.gateway.app.key_principal", broken)

    answer = await send("POST", path, "km_1_secret", json={"model": "qwen3:8b", **QUESTION})

    assert (answer.status_code, answer.headers["x-should-retry"]) == (500, "false")
    assert said(answer, path) == "Something went wrong inside Kubemoot; its log says where."
    assert "RuntimeError" in caplog.text
    assert "secret" not in caplog.text


@pytest.mark.parametrize(
    ("limits", "model", "status"),
    [
        ({"agent": "default/analyst"}, "qwen3:8b", 404),  # it may: no engine answers here
        ({"agent": "default/analyst"}, "agent/analyst", 404),
        ({"agent": "default/analyst"}, "agent/loner", 403),
        ({"crew": "default/lab"}, "qwen3:8b", 404),
        ({"crew": "default/lab"}, "agent/loner", 403),
        ({"crews": ["lab"]}, "qwen3:8b", 403),
        ({"models": ["qwen3:8b"]}, "qwen3:14b", 403),
        ({"models": ["qwen3:8b"]}, "QWEN3:14B", 403),  # in whichever case, it is the same model
    ],
)
async def test_who_may_call_a_model_may_ask_what_it_is_and_nobody_else(limits, model, status):
    answer = await send("POST", "/api/show", await key("call", **limits), json={"model": model})

    assert (answer.status_code, set(answer.json())) == (status, {"error"})


@pytest.mark.parametrize(
    ("path", "limits", "status"),
    [
        ("/api/generate", {}, 200),
        ("/api/chat", {}, 200),
        ("/api/generate", {"models": ["qwen3:14b"]}, 403),
    ],
)
async def test_a_wish_to_unload_is_heard_and_changes_nothing(path, limits, status):
    """Placed like a call it would load a cold model, and unload another for it."""
    answer = await send("POST", path, await key("call", **limits), json={"model": "qwen3:8b", "keep_alive": 0})

    assert (answer.status_code, answer.json().get("done_reason")) == (status, "unload" if status == 200 else None)
    rt = await bootstrap.runtime()
    await rt.ledger.catch_up()
    assert [copy.model for copy in rt.ledger.replica.servers["gpu-1"].seen.residents] == ["qwen3:8b", "qwen3:14b"]


async def test_a_client_that_takes_an_api_which_is_not_there_is_told_which_one_is():
    answer = await send("POST", "/v1/responses", await key("call"), json={"model": "qwen3:8b", "input": "Hello!"})

    assert (answer.status_code, answer.headers["x-should-retry"]) == (404, "false")
    assert answer.json()["error"]["message"] == (
        "The gateway has no POST /v1/responses. Have your client use the chat completions API."
    )


async def test_a_body_that_does_not_come_is_refused_in_the_dialects_shape(monkeypatch):
    monkeypatch.setattr(lines, "LONGEST_UPLOAD_S", 0.05)
    headers = [(b"authorization", f"Bearer {await key('call')}".encode())]
    scope = {"type": "http", "method": "POST", "path": "/v1/chat/completions", "headers": headers}
    sent: list[dict] = []

    async def never() -> dict:
        return await asyncio.Event().wait()

    async def send(message: dict) -> None:
        sent.append(message)

    await asyncio.wait_for(Gateway(None)(scope, never, send), 5)

    assert sent[0]["status"] == 408
    assert json.loads(sent[1]["body"])["error"]["code"] == "too-slow-body"


@pytest.mark.parametrize("path", DIALECTS)
async def test_a_compressed_body_is_told_to_come_as_it_is(path):
    headers = {"content-encoding": "gzip"}

    answer = await send("POST", path, await key("call"), content=b"\x1f\x8b\x08", headers=headers)

    assert answer.status_code == 400
    assert said(answer, path) == "The body is compressed (Content-Encoding): send it as it is."
