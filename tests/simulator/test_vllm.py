"""vLLM's server: all models are in memory from the start, under their exact names; OpenAI's client is served."""

import asyncio

import httpx
import openai
import pytest
from openai import AsyncOpenAI

from tests.fakes.engine_server import eventually, simulated_engine

CATALOG = "qwen3:8b,gpt-oss:20b,chat-prod=gpt-oss:20b,nomic-embed-text"
ASK = {"model": "qwen3:8b", "messages": [{"role": "user", "content": "two?"}], "max_tokens": 2}


@pytest.fixture
async def server():
    async with simulated_engine(kind="vllm", models=CATALOG, slots=2, context_length=8192) as server:
        yield server


@pytest.fixture
async def client(server):
    async with AsyncOpenAI(
        base_url=f"{server.url}/v1", api_key="any", max_retries=0, http_client=httpx.AsyncClient(trust_env=False)
    ) as client:
        yield client


async def gauges(http) -> dict[str, str]:
    """Read the measurements."""
    answer = await http.get("/metrics")
    assert answer.headers["content-type"] == "text/plain; version=0.0.4"
    return dict(line.split(" ") for line in answer.text.splitlines() if not line.startswith("#"))


def counts(gauge: str, **by_model: float) -> dict[str, str]:
    """Write one gauge of the three models that are in memory."""
    models = {"qwen3:8b": 0.0, "gpt-oss:20b": 0.0, "nomic-embed-text": 0.0} | by_model
    return {f'vllm:{gauge}{{engine="0",model_name="{model}"}}': str(count) for model, count in models.items()}


async def test_all_models_are_in_memory_from_the_start_without_a_load(http, server):
    for model in ("qwen3:8b", "gpt-oss:20b", "chat-prod"):
        assert (await http.post("/v1/chat/completions", json=ASK | {"model": model})).status_code == 200

    state = server.state()
    assert (state["kind"], state["loaded"]) == ("vllm", ["qwen3:8b", "gpt-oss:20b", "nomic-embed-text"])
    assert state["freeMib"] == 32768 - 6144 - 13352 - 614
    assert {event["event"] for event in state["events"]} == {"call_start", "call_end"}


async def test_it_says_what_it_serves_and_that_it_is_well(http):
    listed = (await http.get("/v1/models")).json()
    health = await http.get("/health")

    created = listed["data"][0]["created"]
    roots = {"qwen3:8b": "qwen3:8b", "gpt-oss:20b": "gpt-oss:20b", "chat-prod": "gpt-oss:20b", "nomic-embed-text": None}
    assert listed == {
        "object": "list",
        "data": [
            {
                "id": name,
                "object": "model",
                "created": created,
                "owned_by": "vllm",
                "root": root or name,
                "parent": None,
                "max_model_len": 8192,
            }
            for name, root in roots.items()
        ],
    }
    assert (health.status_code, health.content) == (200, b"")
    assert (await http.get("/version")).json() == {"version": "0.11.0-sim"}


async def test_it_counts_the_calls_that_run_and_those_that_wait(http, server):
    server.engine.faults.switch({"wedge": True})
    calls = [asyncio.create_task(http.post("/v1/chat/completions", json=ASK)) for _ in range(3)]
    await eventually(lambda: server.state()["inFlight"] == {"qwen3:8b": 3})
    busy = (await gauges(http), (await http.get("/load")).json())
    server.engine.faults.switch({"wedge": False})

    assert [(await call).status_code for call in calls] == [200, 200, 200]
    assert busy == (
        counts("num_requests_running", **{"qwen3:8b": 2.0}) | counts("num_requests_waiting", **{"qwen3:8b": 1.0}),
        {"server_load": 3},
    )
    assert await gauges(http) == counts("num_requests_running") | counts("num_requests_waiting")
    assert (await http.get("/load")).json() == {"server_load": 0}


@pytest.mark.parametrize(
    ("path", "body", "status", "kind", "text"),
    [
        (
            "/v1/chat/completions",
            ASK | {"model": "qwen3"},
            404,
            "NotFoundError",
            "The model `qwen3` does not exist.",
        ),
        (
            "/v1/embeddings",
            {"model": "nomic-embed-text:latest", "input": "a"},
            404,
            "NotFoundError",
            "The model `nomic-embed-text:latest` does not exist.",
        ),
        ("/v1/chat/completions", {"messages": ASK["messages"]}, 400, "BadRequestError", "model is required"),
        ("/v1/chat/completions", {"model": "qwen3:8b"}, 400, "BadRequestError", "there is nothing to answer"),
        (
            "/v1/embeddings",
            {"model": "qwen3:8b", "input": "a"},
            400,
            "BadRequestError",
            '"qwen3:8b" does not support embeddings',
        ),
        (
            "/v1/chat/completions",
            ASK | {"model": "nomic-embed-text"},
            400,
            "BadRequestError",
            '"nomic-embed-text" does not support generate',
        ),
    ],
)
async def test_what_it_does_not_do_it_says_in_its_own_form(http, path, body, status, kind, text):
    answer = await http.post(path, json=body)

    assert (answer.status_code, answer.json()) == (
        status,
        {"error": {"message": text, "type": kind, "param": None, "code": status}},
    )


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/"),
        ("GET", "/api/tags"),
        ("GET", "/api/version"),
        ("POST", "/api/chat"),
        ("GET", "/props"),
        ("GET", "/models"),
        ("POST", "/models/load"),
        ("GET", "/slots"),
    ],
)
async def test_it_has_no_path_of_another_engine(http, method, path):
    answer = await http.request(method, path)

    assert (answer.status_code, answer.json()) == (404, {"detail": "Not Found"})


async def test_the_official_client_chats_streams_completes_embeds_and_lists(client):
    whole = await client.chat.completions.create(**ASK)
    stream = await client.chat.completions.create(**ASK, stream=True, stream_options={"include_usage": True})
    chunks = [chunk async for chunk in stream]
    text = await client.completions.create(model="qwen3:8b", prompt="two?", max_tokens=2)
    vectors = await client.embeddings.create(model="nomic-embed-text", input=["a", "bb"])
    listed = await client.models.list()

    pieces = [chunk.choices[0].delta.content for chunk in chunks if chunk.choices]
    assert whole.choices[0].message.content == "".join(filter(None, pieces)) == text.choices[0].text == "The cluster "
    assert [chunk.usage.completion_tokens for chunk in chunks if chunk.usage] == [2]
    assert (whole.choices[0].finish_reason, text.object) == ("stop", "text_completion")
    assert [len(entry.embedding) for entry in vectors.data] == [8, 8]
    assert [model.id for model in listed.data] == ["qwen3:8b", "gpt-oss:20b", "chat-prod", "nomic-embed-text"]


async def test_the_official_client_reads_thoughts_that_the_template_is_told_to_have(client):
    whole = await client.chat.completions.create(**ASK, extra_body={"chat_template_kwargs": {"enable_thinking": True}})

    message = whole.choices[0].message
    assert (message.reasoning_content, message.content) == ("The cluster is ", "The cluster ")


async def test_the_official_client_raises_what_is_refused_and_what_breaks_a_stream(client, server):
    with pytest.raises(openai.NotFoundError, match="does not exist"):
        await client.chat.completions.create(**ASK | {"model": "no-such:1b"})

    server.engine.faults.switch({"error_inside": 1})
    stream = await client.chat.completions.create(**ASK, stream=True)
    with pytest.raises(openai.APIError, match="simulated failure"):
        async for _ in stream:
            pass


async def test_a_name_of_the_same_weights_is_answered_with_the_first_one(client):
    assert (await client.chat.completions.create(**ASK | {"model": "chat-prod"})).model == "gpt-oss:20b"


async def test_models_that_do_not_fit_together_are_no_server():
    with pytest.raises(ValueError, match=r"16384 MiB.* 16383 MiB"):
        async with simulated_engine(kind="vllm", models="qwen3:8b,qwen3:14b", memory_mib=16383):
            pass
