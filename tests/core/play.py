"""A cluster played in simulated time: the real cycle on a ledger in memory, engines that do as they are told.

Loads take their footprint's time, calls as long as the test says, and every event is followed by one cycle, as in life;
a tick every second does the rest. Nothing waits for a clock: a minute of play takes milliseconds.
"""

from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Any, TypeVar

from scheduler.core.config import SchedulerConfig
from scheduler.core.ledger import Outcome, ServerConfig, ServerSeen
from scheduler.core.snapshot import Resident
from scheduler.core.types import Candidate, LoadUnderWay, Priority, Waiter
from scheduler.services.cycle import run_cycle
from tests.fakes.manual_clock import ManualClock
from tests.fakes.memory_ledger import MemoryLedger

T = TypeVar("T")
MIB_PER_S = 1024


def at_once(step: Coroutine[Any, Any, T]) -> T:
    """Run a step of the ledger in memory, which never really waits."""
    try:
        step.send(None)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]
    step.close()
    raise AssertionError("The ledger in memory waited.")


@dataclass(frozen=True, kw_only=True)
class Served:
    """A call that ran: where, on what, and when it could begin."""

    at: float
    server: str
    model: str


@dataclass(kw_only=True)
class Play:
    """The stage. Times are seconds since the curtain rose."""

    config: SchedulerConfig = field(default_factory=SchedulerConfig)
    clock: ManualClock = field(default_factory=lambda: ManualClock(at=0.0))
    served: dict[str, Served] = field(default_factory=dict)
    stood_aside: dict[str, tuple[float, str]] = field(default_factory=dict)
    loads: list[tuple[float, str, str, tuple[str, ...]]] = field(default_factory=list)
    drains: list[tuple[float, str, str]] = field(default_factory=list)
    _events: list[tuple[float, int, Callable[[], None]]] = field(default_factory=list)
    _count: int = 0
    _runs_s: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.ledger = MemoryLedger(config=self.config, clock=self.clock)
        self._to_start: list[LoadUnderWay] = []

    # The stage

    def build(
        self,
        *servers: ServerConfig,
        holding: Mapping[str, Sequence[Resident]] | None = None,
        footprints: Mapping[str, int] | None = None,
        weights: Mapping[str, float] | None = None,
    ) -> "Play":
        """Set up servers and what they hold."""
        at_once(self.ledger.configure(servers=servers, footprints=footprints or {}, weights=weights or {}))
        for server in servers:
            self.see(server.name, residents=(holding or {}).get(server.name, ()))
        return self

    def see(self, server: str, *, residents: Sequence[Resident] = (), ready: bool = True) -> None:
        """Probe a server."""
        probe = at_once(self.ledger.probe_begin(server=server, lease_s=1.0))
        assert probe is not None
        phase = "Ready" if ready else "Failed"
        seen = ServerSeen(phase=phase, ready=ready, residents=tuple(residents), probed_at=self.clock.at)
        at_once(self.ledger.probe_end(server=server, probe=probe, seen=seen))

    # The script

    def at(self, seconds: float, event: Callable[[], None]) -> None:
        """Have something happen."""
        self._count += 1
        heappush(self._events, (seconds, self._count, event))

    def call(
        self,
        key: str,
        /,
        *candidates: tuple[str, float],
        at: float = 0.0,
        runs_s: float = 1.0,
        limit_s: float = 90.0,
        priority: str = "interactive",
        **more: Any,
    ) -> "Play":
        """Have an agent of that name call; the call has the same name."""
        waiter = Waiter(
            id=key,
            agent=more.pop("agent", key),
            candidates=tuple(Candidate(model=model, score=score) for model, score in candidates),
            arrived_at=at,
            limit_at=at + limit_s,
            priority=Priority(priority),
            **more,
        )
        self._runs_s[key] = runs_s
        self.at(at, lambda: self._arrive(waiter))
        return self

    def until(self, end: float) -> "Play":
        """Play on."""
        for second in range(int(self.clock.at), int(end) + 1):
            self.at(float(second), lambda: None)
        while self._events and self._events[0][0] <= end:
            when, _, event = heappop(self._events)
            self.clock.at = max(self.clock.at, when)
            event()
            self._cycle()
        return self

    # What follows

    async def start_load(self, *, load: LoadUnderWay) -> None:
        """Be the effect of a granted load."""
        self._to_start.append(load)

    async def wake(self) -> None:
        """Be the effect of a cycle that has more to do."""
        raise AssertionError("One planner on one ledger never loses a race.")

    def _arrive(self, waiter: Waiter) -> None:
        at_once(self.ledger.enqueue(waiter=waiter))

    def _cycle(self) -> None:
        before = dict(self.ledger.replica.drains)
        at_once(run_cycle(ledger=self.ledger, effects=self, config=self.config, now=self.clock.at))
        for name, drain in self.ledger.replica.drains.items():
            if before.get(name) != drain:
                self.drains.append((self.clock.at, name, drain.model))
        for load in self._to_start:
            self._drive(load)
        self._to_start.clear()
        for waiter in tuple(self.ledger.replica.waiters.values()):
            self._ask(waiter)

    def _drive(self, load: LoadUnderWay) -> None:
        at_once(self.ledger.load_begin(server=load.server, model=load.model, runner="play"))
        self.loads.append((self.clock.at, load.server, load.model, load.evicts))
        for victim in load.evicts:
            at_once(self.ledger.victim_gone(server=load.server, model=load.model, victim=victim))
        self.at(self.clock.at + load.footprint_mib / MIB_PER_S, lambda: self._loaded(load))

    def _loaded(self, load: LoadUnderWay) -> None:
        resident = Resident(model=load.model, footprint_mib=load.footprint_mib)
        took_s = load.footprint_mib / MIB_PER_S
        at_once(
            self.ledger.load_done(
                server=load.server, model=load.model, resident=resident, took_s=took_s, now=self.clock.at
            )
        )

    def _ask(self, waiter: Waiter) -> None:
        settled = at_once(self.ledger.pick_up(waiter=waiter.id, now=self.clock.at))
        if settled is None:
            return
        if settled.ticket is None:
            self.stood_aside[waiter.id] = (self.clock.at, settled.reason or "")
            return
        ticket = settled.ticket
        self.served[waiter.id] = Served(at=self.clock.at, server=ticket.server, model=ticket.model)
        self.at(self.clock.at + self._runs_s[waiter.id], lambda: self._release(ticket.id))

    def _release(self, ticket: str) -> None:
        at_once(self.ledger.release(ticket=ticket, outcome=Outcome(ok=True), now=self.clock.at))


def card(name: str = "gpu-a", *, total: int = 24564, slots: int = 1, **more: Any) -> ServerConfig:
    """Make a server with none of its memory in reserve."""
    reserve = more.pop("reserve", 0)
    return ServerConfig(
        name=name, kind="ollama", endpoint=f"http://{name}", total_mib=total, reserve_mib=reserve, slots=slots, **more
    )


def holds(model: str, mib: int) -> Resident:
    """Make a resident."""
    return Resident(model=model, footprint_mib=mib)
