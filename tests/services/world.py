"""A small cluster around the services: a ledger in memory, a manual clock, effects that only remember."""

import asyncio
from itertools import count
from typing import Any

from scheduler.core.call_history import CallRecord, fold
from scheduler.core.calls import AgentProfile, Call
from scheduler.core.config import SchedulerConfig
from scheduler.core.ledger import Outcome, ServerConfig, ServerSeen, Settled
from scheduler.core.snapshot import Resident
from scheduler.core.types import Candidate
from scheduler.services import selection, submit, tick, tickets
from scheduler.services.held import HeldTickets
from scheduler.services.local import LocalPlaces
from scheduler.services.placing import Doors
from scheduler.services.project import Written, project
from scheduler.services.submit import StillWaiting
from tests.fakes.effects import FakeEffects
from tests.fakes.listed_history import ListedHistory
from tests.fakes.manual_clock import ManualClock
from tests.fakes.memory_ledger import MemoryLedger

SIZES = {"qwen3:8b": 6144, "qwen3:14b": 10240, "qwen3:32b": 20480}
GOOD = Outcome(ok=True)


class World:
    """The two GPUs of the worked example, empty until a test says otherwise."""

    def __init__(self) -> None:
        self.config = SchedulerConfig()
        self.clock = ManualClock()
        self.ledger = MemoryLedger(config=self.config, clock=self.clock)
        self.effects = FakeEffects()
        self.written = Written()
        self.history = ListedHistory()
        numbers = count(1)
        self.ids = lambda: f"id{next(numbers)}"
        self.parts: dict[str, Any] = {"ledger": self.ledger, "effects": self.effects, "config": self.config}
        self.backs = 0

    async def look_again(self, seconds: float) -> None:
        """Let others work before it is looked again whether the ledger is back."""
        await asyncio.sleep(0)

    async def holding(self, **loaded: tuple[str, ...]) -> "World":
        """Register gpu-1 (32 GiB) and gpu-2 (24 GiB), ready, with these models in memory."""
        servers = [
            ServerConfig(name="gpu-1", kind="ollama", endpoint="http://gpu-1", total_mib=32768),
            ServerConfig(name="gpu-2", kind="ollama", endpoint="http://gpu-2", total_mib=24576),
        ]
        await self.ledger.configure(servers=servers, footprints=SIZES, weights={})
        for server in servers:
            models = loaded.get(server.name.replace("-", "_"), ())
            residents = tuple(Resident(model=model, footprint_mib=SIZES[model]) for model in models)
            probe = await self.ledger.probe_begin(server=server.name, lease_s=10)
            seen = ServerSeen(
                phase="ready", ready=True, since=self.clock(), residents=residents, probed_at=self.clock()
            )
            assert probe is not None
            await self.ledger.probe_end(server=server.name, probe=probe, seen=seen)
        return self

    async def submit(self, call: Call, *, wait_s: float = 0) -> Settled | StillWaiting:
        """Send a call in."""
        return await submit.call_submit(**self.parts, ids=self.ids, now=self.clock, call=call, wait_s=wait_s)

    async def look(self, waiter: str) -> Settled | StillWaiting:
        """Ask for a wait without waiting."""
        return await submit.call_wait(ledger=self.ledger, config=self.config, now=self.clock, waiter=waiter, wait_s=0)

    async def release(self, ticket: str) -> bool:
        """Give a ticket back."""
        return await tickets.ticket_release(**self.parts, ticket=ticket, outcome=GOOD, now=self.clock())

    async def select(self, *agents: AgentProfile, thread: str = "th") -> tuple[selection.Planned, ...]:
        """Select agents."""
        return await selection.agents_select(
            **self.parts, ids=self.ids, agents=agents, thread=thread, prompt_tokens=None, now=self.clock()
        )

    async def tick(self) -> int:
        """Let a second's housekeeping happen."""
        return await tick.tick(**self.parts, now=self.clock, written=self.written)

    async def record(self, call: str) -> CallRecord:
        """Give what history will keep of a call."""
        record: CallRecord | None = None
        for entry in await self.ledger.journal(after="", count=1000):
            for event in (event for event in entry.events if event.get("call") == call):
                record = fold(record=record, event=event, at=entry.at)
        assert record is not None, call
        return record

    async def project(self) -> int:
        """Write history."""
        return await project(ledger=self.ledger, history=self.history, written=self.written)

    async def finish_load(self) -> None:
        """Let the engine confirm the last load that was started, victims first."""
        load = self.effects.loads[-1]
        await self.ledger.load_begin(server=load.server, model=load.model, runner="test")
        for victim in load.evicts:
            await self.ledger.victim_gone(server=load.server, model=load.model, victim=victim)
        resident = Resident(model=load.model, footprint_mib=load.footprint_mib)
        await self.ledger.load_done(
            server=load.server, model=load.model, resident=resident, took_s=1.0, now=self.clock()
        )
        await self.tick()


def call(agent: str, *models: str | tuple[str, int], **more: Any) -> Call:
    """Make a call; a bare model scores 60."""
    named = [model if isinstance(model, tuple) else (model, 60) for model in models]
    return Call(agent=agent, candidates=tuple(Candidate(model=model, score=score) for model, score in named), **more)


def profile(agent: str, *models: tuple[str, int]) -> AgentProfile:
    """Make an agent with these ranked candidates for both phases."""
    candidates = tuple(Candidate(model=model, score=score) for model, score in models)
    return AgentProfile(name=agent, crew="", candidates={"mulling": candidates, "triage": candidates}, tolerance=10)


def ticket_of(answer: Settled | StillWaiting) -> Any:
    """Give the ticket that an answer must hold."""
    assert isinstance(answer, Settled), answer
    assert answer.ticket is not None, answer
    return answer.ticket


def waiter_of(answer: Settled | StillWaiting) -> str:
    """Give the waiter that an answer must name."""
    assert isinstance(answer, StillWaiting), answer
    return answer.waiter.id


def doors_of(world: World, relay: Any, **more: Any) -> Doors:
    """Make the doors of a process in a world."""
    held = HeldTickets(ledger=world.ledger, config=world.config)

    async def withdraw(waiter: str) -> None:
        await submit.call_withdraw(**world.parts, waiter=waiter, now=world.clock(), reason="ledger-unavailable")

    async def on_back() -> None:
        world.backs += 1

    local = LocalPlaces(
        ledger=world.ledger, held=held, now=world.clock, on_back=on_back, withdraw=withdraw, pause=world.look_again
    )
    return Doors(**world.parts, relay=relay, held=held, local=local, now=world.clock, **more)
