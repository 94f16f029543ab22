"""The simulated engine behaves to those who drive it as the real one does."""

import asyncio
import json

import httpx
import pytest

from providers.core.engines.base import Delta, Done
from providers.core.engines.ollama_answers import AnswerReader
from tests.fakes.engine_server import eventually, simulated_engine

ASK = {"model": "qwen3:8b", "messages": [{"role": "user", "content": "two and two?"}], "options": {"num_predict": 3}}


@pytest.fixture
async def server():
    async with simulated_engine(memory_mib=24576, max_queue=2) as server:
        yield server


def happened(server, name):
    return [event["model"] for event in server.engine.journal.events if event["event"] == name]


async def test_a_chat_streams_lines_that_end_with_their_mark(http):
    reader = AnswerReader()
    async with http.stream("POST", "/api/chat", json=ASK) as answer:
        events = [event async for piece in answer.aiter_raw() for event in reader.feed(piece)]
    events += reader.close()

    done = events.pop()
    assert answer.headers["content-type"] == "application/x-ndjson"
    assert events == [Delta(text="The "), Delta(text="cluster "), Delta(text="is ")]
    assert done == Done(reason="stop", prompt_tokens=4, completion_tokens=3, load_s=done.load_s)
    assert done.load_s >= 6144 / 1024 / 200


async def test_a_generation_that_is_not_streamed_is_one_object(http):
    answer = await http.post(
        "/api/generate", json={"model": "qwen3:8b", "prompt": "two?", "stream": False} | {"options": {"num_predict": 2}}
    )

    body = answer.json()
    assert (body["response"], body["done"], body["eval_count"]) == ("The cluster ", True, 2)


async def test_a_warm_call_loads_nothing(http, server):
    for _ in range(2):
        await http.post("/api/chat", json=ASK)

    assert happened(server, "load_start") == ["qwen3:8b"]


async def test_calls_beyond_the_slots_queue_inside_in_turn_and_are_counted(http, server):
    calls = [asyncio.create_task(http.post("/api/chat", json=ASK)) for _ in range(3)]

    answers = await asyncio.gather(*calls)

    assert sorted(answer.status_code for answer in answers) in ([200, 200, 200], [200, 200, 503])
    assert server.engine.journal.max_in_flight["qwen3:8b"] >= 2
    assert server.engine.waiting == 0


async def test_a_full_queue_answers_503_at_once(http, server):
    """C14"""
    server.engine.faults.switch({"load_hang": True})
    waiting = [asyncio.create_task(http.post("/api/chat", json=ASK)) for _ in range(2)]
    await eventually(lambda: server.engine.waiting == 2)

    refused = await http.post("/api/chat", json=ASK)

    assert refused.status_code == 503
    assert set(refused.json()) == {"error"}
    server.engine.faults.switch({"load_hang": False})
    assert [(await task).status_code for task in waiting] == [200, 200]


async def test_a_client_that_leaves_ends_its_generation_and_frees_the_slot(http, server):
    """C33"""
    async with http.stream("POST", "/api/chat", json=ASK | {"options": {"num_predict": 100_000}}) as answer:
        await anext(answer.aiter_raw())

    await eventually(lambda: server.engine.journal.in_flight["qwen3:8b"] == 0)
    assert server.engine.journal.events[-1]["how"] == "aborted"
    assert (await http.post("/api/chat", json=ASK)).status_code == 200


async def test_a_client_that_leaves_during_the_load_ends_the_load(http, server):
    """C52: a client time-out that is too short makes a loop of half loads."""
    server.engine.faults.switch({"load_hang": True})
    with pytest.raises(httpx.ReadTimeout):
        await http.post("/api/chat", json=ASK, timeout=httpx.Timeout(5, read=0.05))

    await eventually(lambda: happened(server, "load_abort") == ["qwen3:8b"])
    assert server.engine.copies == {}


async def test_another_context_reloads_the_model(http, server):
    """C10: also leaving the context out, also sending 0."""
    for context in (8192, 8192, None, 0, 4096):
        await http.post("/api/chat", json=ASK | {"options": {"num_ctx": context, "num_predict": 1}})

    assert server.engine.journal.reloads == 1
    assert [e["numCtx"] for e in server.engine.journal.events if e["event"] == "load_start"] == [8192, 4096]


async def test_memory_that_is_short_makes_the_engine_evict_by_itself_and_count_it(http, server):
    for model in ("qwen3:14b", "qwen3:8b", "qwen3:32b"):
        await http.post("/api/generate", json={"model": model})

    assert happened(server, "self_evict") == ["qwen3:14b", "qwen3:8b"]
    assert server.engine.journal.self_evictions == 2
    assert server.engine.free_mib == 24576 - 20480


async def test_a_busy_model_is_not_evicted_before_its_call_ended(http, server):
    engine = server.engine
    async with engine.hold(model=engine.config.models["qwen3:14b"], num_ctx=None, keep_alive_s=None):
        loading = asyncio.create_task(http.post("/api/generate", json={"model": "qwen3:32b"}))
        await eventually(lambda: engine.journal.requests["POST /api/generate"] == 1)
        assert happened(server, "self_evict") == []

    assert (await loading).status_code == 200
    assert happened(server, "self_evict") == ["qwen3:14b"]


async def test_an_unloaded_model_stays_until_its_last_call_has_ended(http, server):
    """The engine answers an unload at once; whoever counts the memory as free then is too early."""
    engine = server.engine
    async with engine.hold(model=engine.config.models["qwen3:14b"], num_ctx=None, keep_alive_s=None) as copy:
        answer = await http.post("/api/generate", json={"model": "qwen3:14b", "keep_alive": 0})
        done, _ = await asyncio.wait({copy.departure}, timeout=0.05)

        assert (answer.json()["done_reason"], done, engine.free_mib) == ("unload", set(), 24576 - 10240)

    await eventually(lambda: engine.free_mib == 24576)


async def test_a_model_larger_than_the_card_runs_partly_from_host_memory(http):
    async with simulated_engine(memory_mib=10240) as small:
        await http.post(f"{small.url}/api/generate", json={"model": "qwen3:32b"})
        (entry,) = (await http.get(f"{small.url}/api/ps")).json()["models"]

    assert (entry["size"], entry["size_vram"]) == (20480 * 1024**2, 10240 * 1024**2)


async def test_a_model_goes_when_its_keep_alive_is_over(http, server):
    await http.post("/api/generate", json={"model": "qwen3:8b", "keep_alive": "5ms"})

    await eventually(lambda: happened(server, "unload_end") == ["qwen3:8b"])


async def test_a_model_kept_for_ever_is_listed_with_a_date_centuries_ahead(http):
    """C01"""
    await http.post("/api/generate", json={"model": "qwen3:8b", "keep_alive": -1})

    (entry,) = (await http.get("/api/ps")).json()["models"]

    assert int(entry["expires_at"][:4]) > 2300


@pytest.mark.parametrize("value", ["-1", "", "soon", True, [], "5 m"])
async def test_a_keep_alive_without_a_unit_is_refused(http, value):
    """C12: the text "-1" is answered with HTTP 400."""
    answer = await http.post("/api/generate", json={"model": "qwen3:8b", "keep_alive": value})

    assert answer.status_code == 400


async def test_a_model_that_is_loading_is_listed(http, server):
    server.engine.faults.switch({"load_hang": True})
    loading = asyncio.create_task(http.post("/api/generate", json={"model": "qwen3:8b"}))
    await eventually(lambda: bool(server.engine.copies))

    listed = (await http.get("/api/ps")).json()["models"]
    state = (await http.get("/_sim/state")).json()

    assert [entry["name"] for entry in listed] == ["qwen3:8b"]
    assert (state["loaded"], state["loading"]) == ([], ["qwen3:8b"])
    server.engine.faults.switch({"load_hang": None})
    await loading


async def test_two_tags_share_one_copy(http, server):
    """C08"""
    for model in ("chat-prod", "gpt-oss:20b"):
        await http.post("/api/chat", json=ASK | {"model": model})

    listed = (await http.get("/api/ps")).json()["models"]

    assert [entry["name"] for entry in listed] == ["chat-prod:latest"]


async def test_embeddings_come_from_models_that_only_embed(http):
    embedded = await http.post("/api/embed", json={"model": "nomic-embed-text", "input": ["a", "b"]})
    chatted = await http.post("/api/chat", json=ASK | {"model": "nomic-embed-text"})

    assert len(embedded.json()["embeddings"]) == 2
    assert chatted.status_code == 400


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("GET", "/", None, 200),
        ("HEAD", "/", None, 200),
        ("GET", "/api/version", None, 200),
        ("POST", "/api/show", {"model": "qwen3:8b"}, 200),
        ("POST", "/api/show", {"name": "qwen3"}, 404),
        ("POST", "/api/chat", {"model": "no-such:1b"}, 404),
        ("POST", "/api/chat", {}, 400),
        ("POST", "/api/pull", {"model": "qwen3:8b"}, 403),
        ("DELETE", "/api/delete", {"model": "qwen3:8b"}, 403),
        ("GET", "/metrics", None, 404),
        ("POST", "/_sim/faults", {"no-such-fault": True}, 400),
        ("POST", "/_sim/faults", {"hang": "yes"}, 400),
        ("GET", "/_sim/other", None, 404),
    ],
)
async def test_routes(http, method, path, body, status):
    answer = await http.request(method, path, json=body)

    assert answer.status_code == status


async def test_a_body_that_is_no_json_is_refused(http):
    assert (await http.post("/api/chat", content=b"{")).status_code == 400


FAULTS = {
    "nonsense": (200, "/api/ps"),
    "error500": (500, "/api/ps"),
    "slow": (200, "/api/ps"),
    "busy503": (503, "/api/chat"),
    "load_fail": (500, "/api/chat"),
}


@pytest.mark.parametrize("fault", FAULTS)
async def test_faults_are_switched_while_it_runs(http, fault):
    status, path = FAULTS[fault]
    value = 0.01 if fault == "slow" else True
    assert (await http.post("/_sim/faults", json={fault: value})).json() == {fault: float(value)}

    ill = await http.request("GET" if path == "/api/ps" else "POST", path, json=ASK)
    await http.post("/_sim/faults", json={fault: False})
    well = await http.post("/api/chat", json=ASK)

    assert (ill.status_code, well.status_code) == (status, 200)
    if fault == "nonsense":
        with pytest.raises(json.JSONDecodeError):
            ill.json()


async def test_a_hang_lasts_until_it_is_lifted(http, server):
    await http.post("/_sim/faults", json={"hang": True})
    asked = asyncio.create_task(http.get("/api/version"))
    await eventually(lambda: server.engine.journal.requests["GET /api/version"] == 1)
    assert not asked.done()

    await http.post("/_sim/faults", json={"hang": False})

    assert (await asked).status_code == 200


async def test_a_port_that_refuses_opens_again_by_itself_and_keeps_what_was_in_memory(http, server):
    await http.post("/api/generate", json={"model": "qwen3:8b"})
    await http.post("/_sim/faults", json={"refuse": 0.2})
    await eventually(lambda: not server.is_listening)
    with pytest.raises(httpx.ConnectError):
        await http.get("/api/version")

    await eventually(lambda: server.is_listening)

    assert len((await http.get("/api/ps")).json()["models"]) == 1
