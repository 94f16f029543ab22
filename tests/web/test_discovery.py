"""Model servers on this machine are found, and offered as a file that can be applied."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from kubemoot_web.crds.bundle import decoded, parse
from kubemoot_web.management.discovery import manifest
from providers.bootstrap import engine_api
from providers.core.types import EngineKind
from providers.services.discovery import Found, look_around

OLLAMA = {"/api/version": {"version": "0.12.0"}, "/api/tags": {"models": [{"name": "qwen3:14b"}, {"name": "Qwen3:8B"}]}}
VLLM = {"/v1/models": {"data": [{"id": "Qwen/Qwen3-32B", "owned_by": "vllm"}]}}
LLAMACPP = {"/props": {"total_slots": 4}, "/v1/models": {"data": [{"id": "gemma3"}]}}


@pytest.fixture
def serve():
    """Start servers that answer GETs from a table of paths, each on a port of its own."""
    servers = []

    def start(answers):
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                known = self.path in answers
                body = json.dumps(answers.get(self.path, {"detail": "no"})).encode()
                self.send_response(200 if known else 404)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}).start()
        servers.append(server)
        return server.server_port

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.fixture
async def engine():
    """Give the door to engines, and close it."""
    api = engine_api()
    yield api
    await api.close()


async def test_each_engine_is_known_by_an_answer_that_only_it_gives(serve, engine):
    ports = {"ollama": serve(OLLAMA), "vllm": serve(VLLM), "llamacpp": serve(LLAMACPP)}

    assert await look_around(engine=engine, ports=ports) == (
        Found(
            kind=EngineKind.OLLAMA,
            title="Ollama",
            endpoint=f"http://127.0.0.1:{ports['ollama']}",
            models=("qwen3:14b", "Qwen3:8B"),
        ),
        Found(
            kind=EngineKind.LLAMACPP,
            title="llama.cpp",
            endpoint=f"http://127.0.0.1:{ports['llamacpp']}",
            models=("gemma3",),
            can_load=False,
            slots=4,
        ),
        Found(
            kind=EngineKind.VLLM,
            title="vLLM",
            endpoint=f"http://127.0.0.1:{ports['vllm']}",
            models=("Qwen/Qwen3-32B",),
            can_load=False,
        ),
    )


async def test_a_router_is_known_by_its_role_and_does_not_say_how_many_calls_it_takes(serve, engine):
    port = serve({"/props": {"role": "router", "max_instances": 0}, "/v1/models": {"data": [{"id": "gemma3"}]}})

    (found,) = await look_around(engine=engine, ports={"ollama": 1, "vllm": 1, "llamacpp": port})

    assert (found.kind, found.models, found.can_load, found.slots) == (EngineKind.LLAMACPP, ("gemma3",), True, None)


@pytest.mark.parametrize(
    "answers",
    [
        {},
        {"/props": ["total_slots"], "/v1/models": {"data": []}},
        {"/props": {"total_slots": "many"}, "/v1/models": {"data": []}},
        {"/props": "total_slots", "/v1/models": {"data": []}},
        {"/api/version": ["version"], "/api/tags": [], "/props": [], "/v1/models": {"data": [{"id": "x"}]}},
        {"/api/version": {"version": 1}, "/api/tags": {}, "/props": {"total_slots": 1}, "/v1/models": None},
    ],
)
async def test_another_program_on_a_usual_port_is_nothing(serve, engine, answers):
    port = serve(answers)

    assert await look_around(engine=engine, ports=dict.fromkeys(("ollama", "vllm", "llamacpp"), port)) == ()


async def test_our_own_port_is_not_asked(serve, engine):
    port = serve(VLLM)

    assert await look_around(engine=engine, ports={"ollama": 1, "llamacpp": 1, "vllm": port}, own_port=port) == ()


def test_what_was_found_can_be_applied_as_it_is():
    found = (
        Found(
            kind=EngineKind.OLLAMA,
            title="Ollama",
            endpoint="http://127.0.0.1:11434",
            models=("qwen3:14b", "hf.co/A/B:Q4_K_M"),
        ),
    )

    documents = parse([decoded(file="found.yaml", data=manifest(found).encode())])

    assert [(document.write.key.kind, document.write.key.name) for document in documents] == [
        ("ModelServer", "ollama"),
        ("Model", "qwen3-14b"),
        ("Model", "hf-co-a-b-q4-k-m"),
    ]
    assert documents[1].write.labels == {"family": "qwen3", "params": "14b", "latencyClass": "medium"}
    assert "memoryMiB" in manifest(found)


def test_what_a_server_says_of_its_slots_is_written_down():
    server = Found(
        kind=EngineKind.LLAMACPP, title="llama.cpp", endpoint="http://127.0.0.1:8080", models=("gemma3",), slots=4
    )

    (document, _) = parse([decoded(file="found.yaml", data=manifest((server,)).encode())])

    assert document.write.spec["scheduling"]["maxParallel"] == 4
