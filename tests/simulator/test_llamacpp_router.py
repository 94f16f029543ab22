"""The router of llama.cpp: it loads and unloads what it is told to, in the background, and nothing by itself."""

import asyncio

import httpx
import pytest

from tests.fakes.engine_server import eventually, simulated_engine

ASK = {"model": "qwen3:8b", "messages": [{"role": "user", "content": "two?"}], "max_tokens": 2}
CATALOG = "qwen3:8b,qwen3:14b,qwen3:32b,gpt-oss:20b,chat-prod=gpt-oss:20b,nomic-embed-text"


@pytest.fixture
async def server():
    async with simulated_engine(kind="llamacpp", models=CATALOG, memory_mib=24576, slots=2) as server:
        yield server


def status_of(entry: dict) -> tuple:
    """Give what a list says of a model's load."""
    status = entry["status"]
    return (status["value"], status.get("failed"), status.get("exit_code"))


async def statuses(http) -> dict[str, tuple]:
    """Give what the list says of every model that is not simply unloaded."""
    listed = {entry["id"]: status_of(entry) for entry in (await http.get("/models")).json()["data"]}
    return {name: status for name, status in listed.items() if status != ("unloaded", None, None)}


async def load(http, server, model: str) -> None:
    """Load a model and wait until it is there."""
    assert (await http.post("/models/load", json={"model": model})).status_code == 200
    await eventually(lambda: server.state()["loaded"] and not server.state()["loading"])


def happened(server, name: str) -> list[str]:
    """List the models that an event tells of."""
    return [event["model"] for event in server.engine.journal.events if event["event"] == name]


def refusal(status: int, kind: str, text: str) -> tuple:
    """Write a refusal as the router does."""
    return (status, {"error": {"code": status, "message": text, "type": kind}})


async def said(http, method: str, path: str, body: dict | None = None) -> tuple:
    """Give the status and the value of an answer."""
    answer = await http.request(method, path, json=body)
    return (answer.status_code, answer.json())


async def test_it_says_that_it_is_a_router(http):
    assert await said(http, "GET", "/props") == (
        200,
        {
            "role": "router",
            "max_instances": 0,
            "models_autoload": False,
            "model_alias": "llama-server",
            "model_path": "none",
            "default_generation_settings": {"params": None, "n_ctx": 0},
            "build_info": "b1-sim",
        },
    )
    assert await said(http, "GET", "/health") == await said(http, "GET", "/v1/health") == (200, {"status": "ok"})


@pytest.mark.parametrize("path", ["/models", "/v1/models", "/models?reload=1"])
async def test_it_lists_every_model_once_with_its_arguments_and_the_other_names_of_its_weights(http, path):
    """The slots share the context that a server is started with."""
    listed = (await http.get(path)).json()

    assert listed["object"] == "list"
    assert [(entry["id"], entry["aliases"]) for entry in listed["data"]] == [
        ("qwen3:8b", []),
        ("qwen3:14b", []),
        ("qwen3:32b", []),
        ("gpt-oss:20b", ["chat-prod"]),
        ("nomic-embed-text", []),
    ]
    assert listed["data"][0] == {
        "id": "qwen3:8b",
        "aliases": [],
        "tags": [],
        "object": "model",
        "owned_by": "llamacpp",
        "created": listed["data"][0]["created"],
        "status": {
            "value": "unloaded",
            "args": [
                *("llama-server", "--alias", "qwen3:8b", "--ctx-size", "8192"),
                *("--model", "models/qwen3-8b.gguf", "--parallel", "2"),
            ],
            "preset": "[qwen3:8b]\nctx-size = 8192\n",
        },
        "architecture": {"input_modalities": ["text"], "output_modalities": ["text"]},
        "source": "models_dir",
        "can_remove": False,
    }


async def test_a_load_is_confirmed_at_once_and_goes_on_in_the_background(http, server):
    server.engine.faults.switch({"load_hang": True})

    answered = await said(http, "POST", "/models/load", {"model": "qwen3:8b"})
    meanwhile = await statuses(http)
    called = await said(http, "POST", "/v1/chat/completions", ASK)
    server.engine.faults.switch({"load_hang": False})
    await eventually(lambda: server.state()["loaded"] == ["qwen3:8b"])

    assert answered == (200, {"success": True})
    assert meanwhile == {"qwen3:8b": ("loading", None, None)}
    assert called == refusal(503, "unavailable_error", "Loading model")
    assert await statuses(http) == {"qwen3:8b": ("loaded", None, None)}
    assert (await said(http, "POST", "/v1/chat/completions", ASK))[0] == 200


async def test_loads_go_on_side_by_side_and_a_model_stays_after_its_calls(http, server):
    server.engine.faults.switch({"load_hang": True})
    for model in ("qwen3:8b", "chat-prod"):
        await http.post("/models/load", json={"model": model})
    await eventually(lambda: server.state()["loading"] == ["qwen3:8b", "gpt-oss:20b"])
    server.engine.faults.switch({"load_hang": False})
    await eventually(lambda: len(server.state()["loaded"]) == 2)

    await http.post("/v1/chat/completions", json=ASK)

    assert [copy.expiry for copy in server.engine.copies.values()] == [None, None]
    assert server.engine.free_mib == 24576 - 6144 - 13352


async def test_a_load_that_fails_is_seen_in_the_list_until_the_next_one(http, server):
    server.engine.faults.switch({"load_fail": True})
    await http.post("/models/load", json={"model": "qwen3:8b"})
    await eventually(lambda: happened(server, "load_abort") == ["qwen3:8b"])
    failed = await statuses(http)

    server.engine.faults.switch({"load_fail": False})
    await load(http, server, "qwen3:8b")

    assert failed == {"qwen3:8b": ("unloaded", True, 1)}
    assert await statuses(http) == {"qwen3:8b": ("loaded", None, None)}


async def test_a_load_without_room_fails_and_nothing_is_evicted_for_it(http, server):
    await load(http, server, "qwen3:8b")

    await http.post("/models/load", json={"model": "qwen3:32b"})
    await eventually(lambda: happened(server, "out_of_memory") == ["qwen3:32b"])

    assert await statuses(http) == {"qwen3:8b": ("loaded", None, None), "qwen3:32b": ("unloaded", True, 1)}
    assert server.engine.journal.self_evictions == 0


async def test_an_unload_is_confirmed_at_once_and_waits_for_the_calls(http, server):
    await load(http, server, "qwen3:8b")
    server.engine.faults.switch({"wedge": True})
    call = asyncio.create_task(http.post("/v1/chat/completions", json=ASK))
    await eventually(lambda: server.state()["inFlight"] == {"qwen3:8b": 1})

    answered = await said(http, "POST", "/models/unload", {"model": "qwen3:8b"})
    meanwhile = await statuses(http)
    late = await said(http, "POST", "/v1/chat/completions", ASK)
    server.engine.faults.switch({"wedge": False})

    assert answered == (200, {"success": True})
    assert meanwhile == {"qwen3:8b": ("loaded", None, None)}
    assert late == refusal(400, "invalid_request_error", "model is not loaded")
    assert (await call).status_code == 200
    await eventually(lambda: happened(server, "unload_end") == ["qwen3:8b"])
    assert (await statuses(http), server.engine.free_mib) == ({}, 24576)


async def test_an_unload_ends_a_load_that_still_runs_which_has_then_failed(http, server):
    server.engine.faults.switch({"load_hang": True})
    await http.post("/models/load", json={"model": "qwen3:8b"})
    await eventually(lambda: server.state()["loading"] == ["qwen3:8b"])

    answered = await said(http, "POST", "/models/unload", {"model": "qwen3:8b"})
    await eventually(lambda: happened(server, "load_abort") == ["qwen3:8b"])

    assert answered == (200, {"success": True})
    assert (await statuses(http), server.engine.free_mib) == ({"qwen3:8b": ("unloaded", True, 1)}, 24576)


async def test_an_unload_may_be_confirmed_and_never_happen(http, server):
    await load(http, server, "qwen3:8b")
    server.engine.faults.switch({"unload_ignored": True})

    answered = await said(http, "POST", "/models/unload", {"model": "qwen3:8b"})

    assert answered == (200, {"success": True})
    assert [copy.departure for copy in server.engine.copies.values()] == [None]


async def test_an_unload_that_never_happens_lets_a_load_go_on(http, server):
    server.engine.faults.switch({"load_hang": True, "unload_ignored": True})
    await http.post("/models/load", json={"model": "qwen3:8b"})
    await eventually(lambda: server.state()["loading"] == ["qwen3:8b"])

    answered = await said(http, "POST", "/models/unload", {"model": "qwen3:8b"})
    server.engine.faults.switch({"load_hang": False})
    await eventually(lambda: server.state()["loading"] == [])

    assert answered == (200, {"success": True})
    assert await statuses(http) == {"qwen3:8b": ("loaded", None, None)}


@pytest.mark.parametrize(
    ("path", "body", "refused"),
    [
        ("/models/load", {"model": "no-such:1b"}, (404, "not_found_error", "File Not Found")),
        ("/models/load", {"model": "qwen3:8b"}, (400, "invalid_request_error", "model is already running")),
        ("/models/load", {}, (404, "not_found_error", "File Not Found")),
        ("/models/unload", {"model": "no-such:1b"}, (400, "invalid_request_error", "model is not found")),
        ("/models/unload", {"model": "qwen3:14b"}, (400, "invalid_request_error", "model is not running")),
        (
            "/v1/chat/completions",
            {"messages": ASK["messages"]},
            (400, "invalid_request_error", "model name is missing from the request"),
        ),
        ("/v1/chat/completions", ASK | {"model": "qwen3:14b"}, (400, "invalid_request_error", "model is not loaded")),
        (
            "/v1/completions",
            {"model": "qwen3:14b", "prompt": "a"},
            (400, "invalid_request_error", "model is not loaded"),
        ),
        (
            "/v1/embeddings",
            {"model": "nomic-embed-text", "input": "a"},
            (400, "invalid_request_error", "model is not loaded"),
        ),
        (
            "/v1/chat/completions",
            ASK | {"model": "no-such:1b"},
            (400, "invalid_request_error", "model 'no-such:1b' not found"),
        ),
        (
            "/v1/embeddings",
            {"model": "qwen3:8b", "input": "a"},
            (501, "not_supported_error", '"qwen3:8b" does not support embeddings'),
        ),
        ("/api/chat", ASK, (404, "not_found_error", "File Not Found")),
        ("/api/generate", ASK, (404, "not_found_error", "File Not Found")),
    ],
)
async def test_what_it_does_not_do_it_says_in_its_own_form(http, server, path, body, refused):
    await load(http, server, "qwen3:8b")

    assert await said(http, "POST", path, body) == refusal(*refused)


@pytest.mark.parametrize("path", ["/", "/api/version", "/api/tags", "/api/ps", "/version", "/slots", "/metrics"])
async def test_it_has_no_path_of_another_engine(http, path):
    assert await said(http, "GET", path) == refusal(404, "not_found_error", "File Not Found")


async def test_a_call_for_what_is_not_loaded_loads_nothing_and_is_counted(http, server):
    await http.post("/v1/chat/completions", json=ASK)

    state = server.state()
    assert (state["loaded"], state["loading"], state["notLoaded"]) == ([], [], 1)
    assert [event["how"] for event in state["events"] if event["event"] == "call_end"] == ["refused"]
    assert (state["inFlight"], server.engine.waiting) == ({}, 0)


async def test_a_name_of_the_same_weights_is_answered_with_the_first_one(http, server):
    await load(http, server, "chat-prod")

    answer = (await http.post("/v1/chat/completions", json=ASK | {"model": "chat-prod"})).json()

    assert (answer["model"], answer["choices"][0]["message"]["content"]) == ("gpt-oss:20b", "The cluster ")
    assert await statuses(http) == {"gpt-oss:20b": ("loaded", None, None)}


async def test_an_embedder_embeds(http, server):
    await load(http, server, "nomic-embed-text")

    answer = (await http.post("/v1/embeddings", json={"model": "nomic-embed-text", "input": ["a", "bb"]})).json()

    assert [len(entry["embedding"]) for entry in answer["data"]] == [8, 8]


async def test_it_ends_with_a_load_that_never_would():
    async with (
        simulated_engine(kind="llamacpp") as server,
        httpx.AsyncClient(base_url=server.url, trust_env=False) as http,
    ):
        server.engine.faults.switch({"load_hang": True})
        await http.post("/models/load", json={"model": "qwen3:8b"})
        await eventually(lambda: server.state()["loading"] == ["qwen3:8b"])

    assert server.engine.copies == {}
