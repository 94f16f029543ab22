"""Probes of an engine that is idle for all that is known end the doubt whether it still works on a call."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest

from providers.clients.engine import EngineHttp
from providers.core.engines.base import HttpCall, HttpReply
from scheduler.core.gate import Admission, AdmissionBy, AdmissionState, QuarantineCause
from scheduler.core.ledger import CallEnd, Outcome, ServerConfig
from scheduler.services.probing import server_probe
from tests.fakes.engine_server import simulated_engine
from tests.fakes.fixed_resolver import FixedResolver
from tests.services.world import World, call, ticket_of, waiter_of

MODEL = "qwen3:8b"
IN_DOUBT = Outcome(ok=False, end=CallEnd.ERROR, ambiguity=QuarantineCause.AMBIGUOUS_TIMEOUT)


class Hooked:
    """A door to engines that lets something happen while the first of a probe's calls is under way."""

    def __init__(self, engine: EngineHttp, meanwhile: Callable[[], Awaitable[object]]) -> None:
        self._engine = engine
        self._meanwhile: Callable[[], Awaitable[object]] | None = meanwhile

    async def send(self, *, endpoint: str, call: HttpCall) -> HttpReply:
        """Send a call."""
        meanwhile, self._meanwhile = self._meanwhile, None
        if meanwhile is not None:
            await meanwhile()
        return await self._engine.send(endpoint=endpoint, call=call)

    async def close(self) -> None:
        """Nothing is open."""


class Doubted:
    """A server with a model in memory, taken out at 1000 s because a call timed out there."""

    def __init__(self, engine: Any) -> None:
        self.engine = engine
        self.world = World()

    async def start(self, url: str, *, others: int = 0, **config: Any) -> "Doubted":
        """Register it, let a call time out, and `others` run."""
        server = ServerConfig(
            name="gpu-1", kind="ollama", endpoint=url, total_mib=32768, slots=4, quarantine_on_ambiguous=True, **config
        )
        await self.world.ledger.configure(servers=[server], footprints={}, weights={})
        await self.probe()
        tickets = [ticket_of(await self.world.submit(call(f"a{n}", MODEL))).id for n in range(others + 1)]
        await self.world.ledger.release(ticket=tickets[0], outcome=IN_DOUBT, now=self.world.clock())
        assert self.said == Admission(
            state=AdmissionState.QUARANTINED,
            since=self.world.clock(),
            by=AdmissionBy.SYSTEM,
            cause=QuarantineCause.AMBIGUOUS_TIMEOUT,
        )
        return self

    async def probe(self, engine: Any = None, *, after_s: float = 10) -> bool:
        """Let some time pass, and probe it."""
        self.world.clock.advance(after_s)
        return await server_probe(
            **self.world.parts,
            engine=engine or self.engine,
            resolver=FixedResolver(),
            now=self.world.clock,
            server="gpu-1",
        )

    @property
    def said(self) -> Admission:
        """Give how it stands."""
        return self.world.ledger.replica.servers["gpu-1"].admission


@pytest.fixture
async def engine():
    async with simulated_engine() as server:
        model = server.engine.config.models[MODEL]
        async with server.engine.hold(model=model, num_ctx=None, keep_alive_s=-1):
            pass
        yield server


async def test_a_good_probe_of_an_idle_engine_takes_it_back_and_the_line_moves(engine, engine_http):
    """A-28."""
    doubted = await Doubted(engine_http).start(engine.url)
    world = doubted.world
    waiter = waiter_of(await world.submit(call("waits", MODEL)))

    assert await doubted.probe() is True

    assert doubted.said == Admission(since=world.clock(), by=AdmissionBy.SYSTEM)
    assert ticket_of(await world.look(waiter)).server == "gpu-1"


async def test_one_that_was_asked_too_soon_does_not_though_its_answer_comes_late(engine, engine_http):
    """What counts is when the engine was asked: it may have been at work then."""
    doubted = await Doubted(engine_http).start(engine.url)

    async def late() -> None:
        doubted.world.clock.advance(60)

    await doubted.probe(Hooked(engine_http, late), after_s=9.9)

    assert not doubted.said.is_open
    await doubted.probe()
    assert doubted.said.is_open


@pytest.mark.parametrize("fault", ["error500", "nonsense"])
async def test_an_engine_that_is_not_ready_stays_out(engine, engine_http, fault):
    doubted = await Doubted(engine_http).start(engine.url)
    doubted.world.clock.advance(60)
    engine.engine.faults.switch({fault: True})

    await doubted.probe()
    assert not doubted.said.is_open
    engine.engine.faults.switch({fault: False})
    await doubted.probe()

    assert doubted.said.is_open


async def test_a_call_that_is_still_at_work_there_keeps_it_out(engine, engine_http):
    doubted = await Doubted(engine_http).start(engine.url, others=1)
    world = doubted.world
    world.clock.advance(60)
    await doubted.probe()
    assert not doubted.said.is_open

    (other,) = world.ledger.replica.tickets
    await world.release(other)
    await doubted.probe()

    assert doubted.said.is_open


async def test_a_call_that_ends_in_doubt_while_the_probe_is_under_way_keeps_it_out(engine, engine_http):
    """The probe was begun in time for the first doubt, not for the second."""
    doubted = await Doubted(engine_http).start(engine.url)
    world = doubted.world
    world.clock.advance(60)

    async def back_and_in_doubt_again() -> None:
        admission = Admission(since=world.clock())
        await world.ledger.admission_set(server="gpu-1", admission=admission)
        again = ticket_of(await world.submit(call("b", MODEL)))
        await world.ledger.release(ticket=again.id, outcome=IN_DOUBT, now=world.clock())

    await doubted.probe(Hooked(engine_http, back_and_in_doubt_again))

    assert doubted.said.is_in_doubt


async def test_what_an_operator_says_meanwhile_stays(engine, engine_http):
    doubted = await Doubted(engine_http).start(engine.url)
    world = doubted.world
    world.clock.advance(60)
    paused = Admission(state=AdmissionState.PAUSED, reason="new fans", since=world.clock() + 1)

    await doubted.probe(Hooked(engine_http, lambda: world.ledger.admission_set(server="gpu-1", admission=paused)))

    assert doubted.said == paused


@pytest.mark.parametrize("later_is_ready", [True, False], ids=["it failed", "the later one failed"])
async def test_an_answer_that_a_later_probe_has_overtaken_says_nothing(engine, engine_http, later_is_ready):
    doubted = await Doubted(engine_http).start(engine.url)
    world = doubted.world
    engine.engine.faults.switch({"error500": later_is_ready})

    async def overtaken() -> None:
        world.clock.advance(world.config.probe_lease_s)
        number = await world.ledger.probe_begin(server="gpu-1", lease_s=1)
        assert number is not None
        seen = replace(
            world.ledger.replica.servers["gpu-1"].seen, ready=later_is_ready, detail="later", probed_at=world.clock()
        )
        await world.ledger.probe_end(server="gpu-1", probe=number, seen=seen)

    await doubted.probe(Hooked(engine_http, overtaken), after_s=60)

    assert (world.ledger.replica.servers["gpu-1"].seen.ready, doubted.said.is_open) == (later_is_ready, False)


@pytest.mark.parametrize("when", ["while it is asked", "after it answered"])
async def test_a_server_that_is_taken_away_meanwhile_is_no_trouble(engine, engine_http, when):
    doubted = await Doubted(engine_http).start(engine.url)
    ledger, real = doubted.world.ledger, doubted.world.ledger.probe_end

    async def away() -> None:
        await ledger.configure(servers=[], footprints={}, weights={})

    async def probe_end(**seen: Any) -> bool:
        changed = await real(**seen)
        await away()
        return changed

    if when == "after it answered":
        ledger.probe_end = probe_end  # type: ignore[method-assign]
        await doubted.probe(after_s=60)
    else:
        await doubted.probe(Hooked(engine_http, away), after_s=60)

    assert ledger.replica.servers == {}


async def test_one_that_works_on_is_not_believed_idle_before_its_call_timeout_is_over(engine, engine_http):
    doubted = await Doubted(engine_http).start(engine.url, aborts_on_disconnect=False, call_timeout_s=120.0)
    await doubted.probe(after_s=110)
    assert not doubted.said.is_open

    await doubted.probe()

    assert doubted.said.is_open
