"""Many clients at once at one router: what it must never do, whatever they do."""

import asyncio
import random
from contextlib import suppress

import httpx

from tests.fakes.engine_server import eventually, simulated_engine

MODELS = ("qwen3:8b", "qwen3:14b", "qwen3:32b", "gpt-oss:20b", "chat-prod", "no-such:1b")
EXPECTED = {"/models/load": {200, 400, 404}, "/models/unload": {200, 400, 404}, "/v1/chat/completions": {200, 400, 503}}


async def client(http, rng, watch):
    for _ in range(12):
        path = rng.choice(tuple(EXPECTED))
        body = {"model": rng.choice(MODELS), "messages": [{"role": "user", "content": "two?"}], "max_tokens": 3}
        with suppress(httpx.ReadTimeout):  # a client that left
            answer = await http.post(path, json=body, timeout=httpx.Timeout(20, read=rng.choice((0.01, 20, 20))))
            assert answer.status_code in EXPECTED[path], answer.text
        watch()


async def test_under_pressure_nothing_is_evicted_or_over_committed_and_everything_ends():
    async with (
        simulated_engine(kind="llamacpp", memory_mib=24576, slots=2, speed=2000.0) as server,
        httpx.AsyncClient(base_url=server.url, trust_env=False, limits=httpx.Limits(max_connections=None)) as http,
    ):
        engine = server.engine
        free = []
        async with asyncio.timeout(60):
            await asyncio.gather(
                *(client(http, random.Random(seed), lambda: free.append(engine.free_mib)) for seed in range(20))
            )
        await eventually(lambda: not any(engine.journal.in_flight.values()) and not server.state()["loading"])
        await eventually(lambda: all(copy.departure is None for copy in engine.copies.values()))
        listed = (await http.get("/models")).json()["data"]

        assert min(free) >= 0
        assert (engine.journal.self_evictions, engine.journal.reloads, engine.waiting) == (0, 0, 0)
        assert all(copy.holders == copy.answering == 0 for copy in engine.copies.values())
        assert [entry["id"] for entry in listed if entry["status"]["value"] == "loaded"] == [
            model.name for model in engine.config.models.values() if model.name in set(server.state()["loaded"])
        ]
        happened = {event["event"] for event in server.state()["events"]}
        assert {"load_end", "unload_end", "call_end"} <= happened
        assert server.state()["notLoaded"] > 0
