"""A ledger whose boards have something to show: calls in flight, one of which ends and another begins at each step."""

import asyncio
import re
from collections import deque
from time import monotonic

from scheduler import bootstrap
from scheduler.core.ledger import GrantChange, Outcome, ServerConfig, ServerSeen
from scheduler.core.snapshot import Resident
from scheduler.core.types import Ticket, TicketState
from scheduler.ports import Ledger

MODELS = {"qwen3:14b": 10240, "qwen3:8b": 6144}
TOTAL_MIB = 24576
SLOTS = 4
CALLS_EACH = 4
STEP = re.compile(rb"step-(\d+)")
"""How a board shows the agent of a step, and with it from when it is."""


class Life:
    """Each step is one version of the ledger, and names itself on the board."""

    def __init__(self, *, ledger: Ledger, servers: int) -> None:
        self.ledger = ledger
        self.servers = tuple(f"gpu-{number}" for number in range(1, servers + 1))
        self.began: list[float] = []
        self._calls: dict[str, deque[Ticket]] = {name: deque() for name in self.servers}

    async def settle(self) -> None:
        """Register the servers, and give each its first calls."""
        configs = [
            ServerConfig(name=name, kind="ollama", endpoint=f"http://{name}", total_mib=TOTAL_MIB, slots=SLOTS)
            for name in self.servers
        ]
        await self.ledger.configure(servers=configs, footprints=MODELS, weights={})
        residents = tuple(Resident(model=model, footprint_mib=mib) for model, mib in MODELS.items())
        for name in self.servers:
            probe = await self.ledger.probe_begin(server=name, lease_s=10.0)
            assert probe is not None, "nobody else probes here"
            now = bootstrap.clock()
            seen = ServerSeen(phase="ready", ready=True, since=now, residents=residents, probed_at=now)
            await self.ledger.probe_end(server=name, probe=probe, seen=seen)
            for number in range(CALLS_EACH):
                await self._begin(server=name, agent=f"colleague-{number}")

    async def live(self, *, steps: int, every_s: float) -> None:
        """Take so many steps at a steady pace, and note when each began."""
        first = monotonic() - len(self.began) * every_s
        for _ in range(steps):
            await asyncio.sleep(first + len(self.began) * every_s - monotonic())
            await self._step()

    async def _step(self) -> None:
        """End the oldest call of one server and begin another: one turn of the loop, one version."""
        number = len(self.began)
        server = self.servers[number % len(self.servers)]
        oldest = self._calls[server].popleft()
        self.began.append(monotonic())
        await asyncio.gather(
            self.ledger.release(ticket=oldest.id, outcome=Outcome(ok=True), now=bootstrap.clock()),
            self._begin(server=server, agent=f"step-{number}"),
        )

    async def _begin(self, *, server: str, agent: str) -> None:
        calls = self._calls[server]
        ticket = Ticket(
            id=f"{server}-{agent}",
            server=server,
            agent=f"default/{agent}",
            model=tuple(MODELS)[len(self.began) // len(self.servers) % len(MODELS)],
            state=TicketState.ACTIVE,
            started_at=bootstrap.clock(),
        )
        calls.append(ticket)
        committed = await self.ledger.commit(changes=[GrantChange(ticket=ticket)], now=bootstrap.clock())
        if committed.refused:
            raise RuntimeError(f"the ledger refused a call of the bench: {committed.refused}")
