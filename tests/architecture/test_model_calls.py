"""A-16: who may speak to model servers at all, and that every call of a model goes through the one attempt loop."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings

ROOT = Path(settings.BASE_DIR)
PACKAGES = ("kubemoot_web", "scheduler", "providers")
CLIENTS = frozenset(
    {"aiohttp", "httpx", "httpx2", "requests", "urllib3", "http.client", "urllib.request", "openai", "ollama"}
    | {"anthropic", "litellm", "pycurl", "websockets"}
)
DOORS = frozenset({"engine_api", "engine_relay", "EngineHttp", "RelayClient"})
SOCKETS = frozenset({"open_connection", "open_unix_connection", "create_connection"})

SPEAKS_HTTP = {
    "providers/clients/engine.py": "the door to engines for probes and loads",
    "providers/clients/relay.py": "the door to engines for the calls of clients",
    "kubemoot_web/management/http_json.py": "commands that speak to Kubemoot's own REST API",
}
OPENS_SOCKETS = {
    "providers/clients/relay.py": "the door to engines for the calls of clients",
    "kubemoot_web/management/programs.py": "the supervisor, which looks whether its programs listen",
    "kubemoot_web/management/commands/up.py": "the supervisor",
}
MAKES_A_DOOR = {
    "providers/bootstrap.py": "makes both",
    "scheduler/bootstrap.py": "wires both",
    "kubemoot_web/management/commands/up.py": "looks for engines on the usual ports",
    "kubemoot_web/management/commands/demo_agents.py": "the demo's agents: programs outside, with a ticket each",
}
CALLS_A_MODEL = {"scheduler/services/attempts.py": "the attempt loop"}
ASKS_AN_ENGINE = {
    "providers/services/discovery.py": "looks which engine answers",
    "providers/services/loading.py": "loads and unloads",
    "providers/services/probe.py": "probes",
    "scheduler/services/showing.py": "asks for a model's description",
    "kubemoot_web/management/commands/demo_agents.py": "the demo's agents: programs outside, with a ticket each",
}
GENERATES = (
    "/api/chat",
    "/api/generate",
    "/api/embed",
    "/v1/chat",
    "/v1/completions",
    "/v1/embeddings",
    "/v1/messages",
)
MAY_NAME_A_GENERATION = {
    "providers/core/engines/ollama.py": "a load is a generation without a prompt",
    "providers/core/endpoint_key.py": "what people write behind an address",
    "kubemoot_web/gateway/dialects.py": "what clients may call",
    "kubemoot_web/gateway/upstream.py": "which path a call takes that has a place",
    "kubemoot_web/management/commands/demo_agents.py": "the demo's agents: programs outside, with a ticket each",
}
NO_PRODUCT = ("providers/simulator/", "kubemoot_web/management/benches/")
"""Engines that are no engines, and measurements that call engines directly to have something to compare with."""


def uses(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """List what a module does with the world: imports of clients, doors, sockets, requests to engines, paths."""
    for node in ast.walk(tree):
        match node:
            case ast.Import():
                yield from (("http", each.name) for each in node.names if _is_client(each.name))
            case ast.ImportFrom(module=str(module)):
                names = [each.name for each in node.names]
                yield from (("http", name) for name in {module, *(f"{module}.{n}" for n in names)} if _is_client(name))
                yield from (("door", name) for name in names if name in DOORS)
            case ast.Name(id=name) | ast.Attribute(attr=name) if name in DOORS:
                yield "door", name
            case ast.Attribute(attr=name) if name in SOCKETS:
                yield "socket", name
            case ast.Call(func=ast.Attribute(attr="open" | "send" as verb), keywords=[*keywords]):
                if any(keyword.arg == "endpoint" for keyword in keywords):
                    yield ("call" if verb == "open" else "ask"), verb
            case ast.Constant(value=str(text)) if text.startswith(GENERATES):
                yield "path", text


def _is_client(name: str) -> bool:
    return any(name == client or name.startswith(f"{client}.") for client in CLIENTS)


@pytest.fixture(scope="module")
def found() -> dict[str, set[str]]:
    """Map each kind of use to the files that have it."""
    by_kind: dict[str, set[str]] = {}
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*.py"):
            name = path.relative_to(ROOT).as_posix()
            if not name.startswith(NO_PRODUCT):
                for kind, _ in uses(ast.parse(path.read_text())):
                    by_kind.setdefault(kind, set()).add(name)
    return by_kind


@pytest.mark.parametrize(
    ("kind", "allowed"),
    [
        ("http", SPEAKS_HTTP),
        ("socket", OPENS_SOCKETS),
        ("door", {**MAKES_A_DOOR, "providers/clients/engine.py": "", "providers/clients/relay.py": ""}),
        ("call", CALLS_A_MODEL),
        ("ask", ASKS_AN_ENGINE),
        ("path", MAY_NAME_A_GENERATION),
    ],
    ids=["speaks HTTP", "opens sockets", "makes a door", "calls a model", "asks an engine", "names a generation"],
)
def test_nobody_reaches_a_model_beside_the_attempt_loop(found: dict[str, set[str]], kind: str, allowed: dict[str, str]):
    """Whoever is new here needs a reason, or goes through `call_open`."""
    assert found[kind] - set(allowed) == set()


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ("import httpx", "http"),
        ("from aiohttp import ClientSession", "http"),
        ("from urllib import request", "http"),
        ("import openai.types", "http"),
        ("from providers.bootstrap import engine_relay", "door"),
        ("bootstrap.engine_api()", "door"),
        ("asyncio.open_connection(host, port)", "socket"),
        ("await doors.relay.open(endpoint=e, request=r)", "call"),
        ("await rt.engine.send(endpoint=e, call=c)", "ask"),
        ("HttpCall(method='POST', path='/api/chat', json=body)", "path"),
    ],
)
def test_a_way_past_the_loop_is_seen(source: str, kind: str):
    assert {found for found, _ in uses(ast.parse(source))} == {kind}
