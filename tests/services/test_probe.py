"""Probing, against a simulated engine over real HTTP."""

from dataclasses import replace

import pytest

from providers.clients.engine import EngineHttp
from providers.core.engines.base import FailureKind, ProbeFailure
from providers.core.health import Health, HealthPhase, LoadHung, next_health
from providers.core.types import EngineKind, LoadedCopy, Observation
from providers.services.probe import probe_server
from tests.fakes.engine_server import simulated_engine

NOW = 1_000.0


class Hasty:
    """The real door, with less patience."""

    def __init__(self, door, *, timeout_s=5.0):
        self.door = door
        self.timeout_s = timeout_s

    async def send(self, *, endpoint, call):
        return await self.door.send(endpoint=endpoint, call=replace(call, timeout_s=self.timeout_s))


@pytest.fixture
async def door():
    async with EngineHttp() as door:
        yield door


async def probe(door, url, *, now=NOW, kind=EngineKind.OLLAMA):
    return await probe_server(engine=door, kind=kind, endpoint=url, now=now)


async def test_a_probe_tells_what_is_loaded_and_what_is_on_the_disk(door):
    async with simulated_engine(models="qwen3:8b=1200,other=qwen3:8b") as server:
        model = server.engine.config.models["qwen3:8b"]
        async with server.engine.hold(model=model, num_ctx=8192, keep_alive_s=-1):
            result = await probe(door, server.url)

    assert isinstance(result.outcome, Observation)
    assert result.asked_at == NOW
    assert result.outcome.version == "0.12.0"
    assert result.outcome.loaded == (
        LoadedCopy(model="qwen3:8b", footprint_mib=1200, digest=model.digest, context_length=8192, aliases=("other",)),
    )
    assert [(m.model, m.size_mib) for m in result.outcome.available] == [("qwen3:8b", 1000), ("other", 1000)]


async def test_a_probe_sends_no_call_that_could_generate_or_load(door):
    """C24: only the list routes are asked, and nothing is ever unloaded by looking."""
    async with simulated_engine() as server:
        await probe(door, server.url)

        assert dict(server.engine.journal.requests) == {"GET /api/version": 1, "GET /api/ps": 1, "GET /api/tags": 1}
        assert not server.engine.journal.events


@pytest.mark.parametrize(
    ("fault", "kind", "words"),
    [
        ("nonsense", FailureKind.WRONG_ANSWER, "answered something that is not JSON"),
        ("error500", FailureKind.WRONG_ANSWER, "answered HTTP 500"),
        ("hang", FailureKind.NO_ANSWER, "no answer in"),
    ],
)
async def test_a_server_that_is_ill_is_told_how_and_comes_back_by_itself(door, fault, kind, words):
    async with simulated_engine() as server:
        server.engine.faults.switch({fault: True})
        ill = await probe(Hasty(door, timeout_s=0.1), server.url)
        server.engine.faults.switch({fault: False})
        well = await probe(door, server.url)

    assert isinstance(ill.outcome, ProbeFailure)
    assert ill.outcome.kind is kind
    assert words in ill.outcome.detail
    assert isinstance(well.outcome, Observation)


async def test_a_hanging_server_costs_one_time_out_and_not_three(door):
    """C90: probes of a server that hangs must not pile up."""
    async with simulated_engine() as server:
        server.engine.faults.switch({"hang": True})
        await probe(Hasty(door, timeout_s=0.05), server.url)

        assert dict(server.engine.journal.requests) == {"GET /api/version": 1}


async def test_a_dead_server_is_unreachable_since_its_first_failed_probe_and_comes_back(door):
    """C54: polled every 10 s and dead since t=10, it is no place at t=35; its last good reading counts for nothing."""
    async with simulated_engine() as server:
        health = Health()
        told = []
        for now in (0.0, 10.0, 20.0, 30.0, 40.0):
            if now == 10.0:
                await server.stop_listening()
            if now == 40.0:
                await server.start()
            result = await probe(door, server.url, now=now)
            health = next_health(previous=health, event=result.outcome, now=result.asked_at)
            told.append((health.phase, health.since, health.is_ready))

    assert told == [
        (HealthPhase.READY, 0.0, True),
        (HealthPhase.STALE, 10.0, False),
        (HealthPhase.UNREACHABLE, 10.0, False),
        (HealthPhase.UNREACHABLE, 10.0, False),
        (HealthPhase.READY, 40.0, True),
    ]


async def test_probes_stay_green_while_loads_hang(door):
    """C23: only a load that ran into its limit tells."""
    async with simulated_engine() as server:
        server.engine.faults.switch({"load_hang": True})
        result = await probe(door, server.url)

    health = next_health(previous=Health(), event=result.outcome, now=0.0)
    health = next_health(previous=health, event=LoadHung(detail="loads do not finish"), now=90.0)
    assert (health.phase, health.is_ready) == (HealthPhase.DEGRADED, True)


async def test_a_full_queue_leaves_a_server_ready_and_its_models_known(door):
    """C14: 503 to calls is no outage."""
    async with simulated_engine() as server:
        server.engine.faults.switch({"busy503": True})
        result = await probe(door, server.url)

    assert isinstance(result.outcome, Observation)
    assert result.outcome.available
