"""A llama.cpp server of one model: the first of the catalog is in memory, and answers whatever is asked for."""

import asyncio

import pytest

from tests.fakes.engine_server import eventually, simulated_engine

ASK = {"model": "qwen3:8b", "messages": [{"role": "user", "content": "two?"}], "max_tokens": 2}


@pytest.fixture
async def server():
    async with simulated_engine(kind="llamacpp-single", slots=2) as server:
        yield server


async def said(http, method: str, path: str, body: dict | None = None) -> tuple:
    """Give the status and the value of an answer."""
    answer = await http.request(method, path, json=body)
    return (answer.status_code, answer.json())


async def gauges(http) -> dict[str, str]:
    """Read the measurements."""
    answer = await http.get("/metrics")
    assert answer.headers["content-type"] == "text/plain; version=0.0.4"
    return dict(line.split(" ") for line in answer.text.splitlines() if not line.startswith("#"))


async def test_its_model_is_in_memory_from_the_start_without_a_load(http, server):
    assert (await http.post("/v1/chat/completions", json=ASK)).status_code == 200

    state = server.state()
    assert (state["kind"], state["loaded"], state["freeMib"]) == ("llamacpp-single", ["qwen3:8b"], 32768 - 6144)
    assert [event["event"] for event in state["events"]] == ["call_start", "call_end"]


async def test_it_says_what_it_serves_and_how_many_calls_it_takes_at_once(http):
    """The context is that of one slot."""
    assert await said(http, "GET", "/health") == await said(http, "GET", "/v1/health") == (200, {"status": "ok"})
    assert await said(http, "GET", "/props") == (
        200,
        {
            "default_generation_settings": {"n_ctx": 4096},
            "total_slots": 2,
            "model_path": "models/qwen3-8b.gguf",
            "model_alias": "qwen3:8b",
            "chat_template": "",
            "modalities": {"vision": False},
            "build_info": "b1-sim",
            "is_sleeping": False,
        },
    )


@pytest.mark.parametrize("path", ["/v1/models", "/models"])
async def test_it_lists_its_one_model_with_the_size_of_its_file(http, path):
    (entry,) = (await http.get(path)).json()["data"]

    assert entry == {
        "id": "qwen3:8b",
        "aliases": [],
        "tags": [],
        "object": "model",
        "created": entry["created"],
        "owned_by": "llamacpp",
        "meta": {
            "vocab_type": 1,
            "n_vocab": 1000,
            "n_ctx_train": 32768,
            "n_embd": 640,
            "n_params": 1,
            "size": 5120 * 1024 * 1024,
        },
    }


async def test_calls_beyond_the_slots_are_deferred_inside_and_shown(http, server):
    idle = (await said(http, "GET", "/slots"), await gauges(http))
    server.engine.faults.switch({"wedge": True})
    calls = [asyncio.create_task(http.post("/v1/chat/completions", json=ASK)) for _ in range(3)]
    await eventually(lambda: server.state()["inFlight"] == {"qwen3:8b": 3})
    busy = (await said(http, "GET", "/slots"), await gauges(http))
    server.engine.faults.switch({"wedge": False})

    assert [(await call).status_code for call in calls] == [200, 200, 200]
    assert idle == shown(busy=(False, False), processing=0, deferred=0)
    assert busy == shown(busy=(True, True), processing=2, deferred=1)
    assert (await said(http, "GET", "/slots"), await gauges(http)) == idle


def shown(*, busy: tuple[bool, ...], processing: int, deferred: int) -> tuple:
    """Write what the slots and the measurements say."""
    slots = [{"id": n, "n_ctx": 4096, "is_processing": is_busy} for n, is_busy in enumerate(busy)]
    metrics = {"llamacpp:requests_processing": str(processing), "llamacpp:requests_deferred": str(deferred)}
    return ((200, slots), metrics)


@pytest.mark.parametrize("named", [{"model": "qwen3:14b"}, {"model": None}])
async def test_whatever_a_request_names_is_answered_by_the_one_model_under_its_own_name(http, server, named):
    answer = await http.post("/v1/chat/completions", json=ASK | named)

    assert (answer.status_code, answer.json()["model"]) == (200, "qwen3:8b")
    assert server.state()["loaded"] == ["qwen3:8b"]
    assert [e["named"] for e in server.state()["events"] if e["event"] == "misnamed"] == [
        name for name in named.values() if name
    ]


@pytest.mark.parametrize(
    ("method", "path", "body", "refused"),
    [
        ("POST", "/models/load", {"model": "qwen3:8b"}, (404, "not_found_error", "File Not Found")),
        ("POST", "/models/unload", {"model": "qwen3:8b"}, (404, "not_found_error", "File Not Found")),
        ("POST", "/api/chat", ASK, (404, "not_found_error", "File Not Found")),
        ("GET", "/api/ps", None, (404, "not_found_error", "File Not Found")),
        ("GET", "/v1/models/qwen3:8b", None, (404, "not_found_error", "File Not Found")),
        (
            "POST",
            "/v1/chat/completions",
            {"model": "qwen3:8b"},
            (400, "invalid_request_error", "there is nothing to answer"),
        ),
        (
            "POST",
            "/v1/embeddings",
            {"model": "qwen3:8b", "input": "a"},
            (501, "not_supported_error", '"qwen3:8b" does not support embeddings'),
        ),
    ],
)
async def test_what_it_does_not_do_it_says_in_its_own_form(http, method, path, body, refused):
    status, kind, text = refused

    assert await said(http, method, path, body) == (
        status,
        {"error": {"code": status, "message": text, "type": kind}},
    )


async def test_a_model_that_is_too_large_for_the_card_runs_from_host_memory_in_part():
    async with simulated_engine(kind="llamacpp-single", memory_mib=4096) as server:
        (copy,) = server.engine.copies.values()

        assert (copy.vram_mib, copy.host_mib) == (4096, 2048)


async def test_without_a_model_there_is_no_such_server():
    with pytest.raises(ValueError, match="llamacpp-single"):
        async with simulated_engine(kind="llamacpp-single", models=""):
            pass
