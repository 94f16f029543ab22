"""Many clients at once that know nothing of each other: what a simulated engine must never do, whatever they do."""

import asyncio
import random
from contextlib import suppress

import httpx

from tests.fakes.engine_server import eventually, simulated_engine

MODELS = ("qwen3:8b", "qwen3:14b", "qwen3:32b", "gpt-oss:20b", "chat-prod")


async def client(http, rng, watch):
    for _ in range(8):
        body = {
            "model": rng.choice(MODELS),
            "prompt": "two and two?",
            "keep_alive": rng.choice(("5ms", -1, 0, None)),
            "options": {"num_predict": rng.randint(1, 8), "num_ctx": rng.choice((4096, 8192))},
        }
        if rng.random() < 0.2:
            body = {"model": body["model"], "keep_alive": 0}
        with suppress(httpx.ReadTimeout):  # a client that left
            await http.post("/api/generate", json=body, timeout=httpx.Timeout(20, read=rng.choice((0.02, 20, 20))))
        watch()


async def test_under_pressure_memory_is_never_over_committed_and_every_call_ends():
    async with (
        simulated_engine(memory_mib=24576, slots=2, speed=2000.0) as server,
        httpx.AsyncClient(base_url=server.url, trust_env=False, limits=httpx.Limits(max_connections=None)) as http,
    ):
        engine = server.engine
        free = []
        async with asyncio.timeout(60):
            await asyncio.gather(
                *(client(http, random.Random(seed), lambda: free.append(engine.free_mib)) for seed in range(20))
            )
        await eventually(lambda: not any(engine.journal.in_flight.values()))

        assert min(free) >= 0
        assert engine.waiting == 0
        assert all(copy.holders == 0 for copy in engine.copies.values())
