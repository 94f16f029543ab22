"""One of the fighting processes: callers that claim at random, a driver of loads, a prober, a reaper.

The claims are blind on purpose: what must hold is the ledger's business, not theirs. A process that is asked to
end lets its callers finish; one that is killed leaves everything as it stands.
"""

import asyncio
import json
import random
import signal
import time
from contextlib import suppress
from dataclasses import dataclass, field

from redis.asyncio import Redis

from scheduler.core.ledger import (
    DrainChange,
    GrantChange,
    Intent,
    Outcome,
    Plan,
    ServerSeen,
    Settled,
    StandAsideChange,
    WaitChange,
)
from scheduler.core.replica import Replica
from scheduler.core.server import Resident
from scheduler.core.types import Candidate, Drain, LoadUnderWay, Priority, Ticket, TicketState, Waiter
from scheduler.ports import TicketGone
from scheduler.stores.ledger import RedisLedger
from tests.race.fleet import CONFIG, KEY, KEY_LIMIT, SIZES, Engines

CALLERS = 2
SIZES_JSON = json.dumps(SIZES)
RUNNING_ANYWAY = 0.15
"""How often a claim ignores what its replica says."""
LEAVES_SOON = 0.2
"""How often a caller gives up that is asked to end: on a busy machine it may not be served for long."""


def main(url: str, name: str, crew: str, seed: int) -> None:
    """Fight until told to end."""
    asyncio.run(_fight(url, name, crew, seed))


async def _fight(url: str, name: str, crew: str, seed: int) -> None:
    ledger = RedisLedger(url=url, name=name, config=CONFIG, timeout_s=30)
    client = Redis.from_url(url)
    await ledger.start()
    fighter = Fighter(ledger=ledger, engines=Engines(client=client, name=name), crew=crew, chance=random.Random(seed))
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, fighter.ending.set)
    helpers = [asyncio.create_task(work) for work in (fighter.drive(), fighter.probe(), fighter.reap())]
    await asyncio.gather(*(fighter.call(number) for number in range(CALLERS)))
    for helper in helpers:
        helper.cancel()
    await asyncio.gather(*helpers, return_exceptions=True)
    await ledger.close()
    await client.aclose()


@dataclass(kw_only=True)
class Fighter:
    """What one process does."""

    ledger: RedisLedger
    engines: Engines
    crew: str
    chance: random.Random
    ending: asyncio.Event = field(default_factory=asyncio.Event)
    made: int = 0

    @property
    def replica(self) -> Replica:
        """Give this process's copy."""
        return self.ledger.replica

    async def call(self, number: int) -> None:
        """Call again and again: directly, in line, or as a selected agent."""
        while not self.ending.is_set():
            agent = f"{self.crew}-{number}"
            draw = self.chance.random()
            if draw < 0.2:
                await self._call_at_once(agent)
            elif draw < 0.35:
                await self._be_selected(agent)
            else:
                await self._call_in_line(agent)
            await self._pause(0.01)

    async def drive(self) -> None:
        """Drive the loads that nobody drives."""
        while True:
            for load in list(self.replica.loads.values()):
                if self.chance.random() < 0.5:
                    await self._drive_one(load)
            await self._pause(0.01)

    async def probe(self) -> None:
        """Ask the engines what they hold."""
        while True:
            server = self.chance.choice(sorted(self.replica.servers))
            number = await self.ledger.probe_begin(server=server, lease_s=1.0)
            if number is not None:
                models = await self.engines.listed(server=server)
                await self._pause(0.01)
                residents = tuple(Resident(model=model, footprint_mib=SIZES[model]) for model in models)
                seen = ServerSeen(phase="Ready", ready=True, residents=residents, probed_at=time.time())
                await self.ledger.probe_end(server=server, probe=number, seen=seen)
            await self._pause(0.05)

    async def reap(self) -> None:
        """End what is due."""
        while True:
            await self.ledger.reap(now=time.time())
            await self._pause(0.4)

    async def _call_in_line(self, agent: str) -> None:
        waiter = self._waiter(agent)
        await self.ledger.enqueue(waiter=waiter)
        with suppress(TicketGone):  # this process stood still for longer than its lease: the referee takes note
            settled = await self._wait(waiter)
            if settled is not None and settled.ticket is not None:
                await self._hold(settled.ticket.id)

    async def _wait(self, waiter: Waiter) -> Settled | None:
        settled: Settled | None = None
        while settled is None:
            version = self.replica.version
            for_whom = waiter.id if self.chance.random() < 0.7 else self._anybody(waiter.id)
            await self._claim_for(for_whom)
            draw = self.chance.random()
            if draw < (LEAVES_SOON if self.ending.is_set() else 0.02):
                await self.ledger.give_up(waiter=waiter.id, now=time.time())
                return None
            if draw < 0.03:
                change = StandAsideChange(waiter=waiter.id, reason="gpu-busy", model="a")
                await self.ledger.commit(changes=[change], now=time.time())
            settled = await self.ledger.pick_up(waiter=waiter.id, now=time.time())
            if settled is None:
                await self.ledger.wait_for_change(after=version, timeout_s=0.05)
                await self._pause(0.005)
        return settled

    async def _call_at_once(self, agent: str) -> None:
        waiter = self._waiter(agent)
        change = self._grant(waiter, may_load=False)
        if change is None:
            return
        committed = await self.ledger.commit(changes=[change], now=time.time())
        if not committed.refused:
            await self._hold(change.ticket.id)

    async def _be_selected(self, agent: str) -> None:
        waiter = self._waiter(agent)
        plan = Plan(id=f"p-{waiter.id}", agent=agent, thread=waiter.id, crew=self.crew, created_at=time.time())
        intent = Intent(agent=agent, thread=waiter.id, models=("a", "b"), at=time.time())
        await self.ledger.publish_intents(intents=[intent], plans=[plan])
        changes = [change for _ in range(4) if (change := self._grant(waiter, plan=plan))]
        await self.ledger.commit(changes=changes, now=time.time())
        await self._pause(0.05)
        held = self.replica.plans.get(plan.id)
        if held is not None and held.ticket is not None and self.chance.random() < 0.6:
            first = self._grant(waiter, replaces=self.replica.tickets.get(held.ticket))
            if first is not None and not (await self.ledger.commit(changes=[first], now=time.time())).refused:
                await self._hold(first.ticket.id)
        elif self.chance.random() < 0.7:
            await self.ledger.drop_plan(plan=plan.id, now=time.time())

    async def _claim_for(self, id: str) -> None:
        waiter = self.replica.waiters.get(id)
        if waiter is None or not waiter.is_waiting:
            return
        changes = [change for _ in range(self.chance.randint(1, 4)) if (change := self._grant(waiter, in_line=True))]
        said = WaitChange(waiter=Waiter(**_fields(waiter) | {"model": self.chance.choice("abcd")}))
        drain = Drain(model=waiter.candidates[0].model, agent=waiter.agent, victims=("a",), since=1.0, waiter=id)
        extra = [said] if self.chance.random() < 0.1 else []
        if self.chance.random() < 0.002:
            server = self.chance.choice(sorted(self.replica.servers))
            extra.append(DrainChange(server=server, drain=drain))  # type: ignore[arg-type]
        await self.ledger.commit(changes=[*extra, *changes], now=time.time())

    def _grant(
        self,
        waiter: Waiter,
        *,
        in_line: bool = False,
        may_load: bool = True,
        plan: Plan | None = None,
        replaces: Ticket | None = None,
    ) -> GrantChange | None:
        server = self.chance.choice(sorted(self.replica.servers)) if replaces is None else replaces.server
        model = self.chance.choice(waiter.candidates).model if replaces is None else replaces.model
        record = self.replica.servers[server]
        residents = [resident.model for resident in record.seen.residents]
        is_copy = model in residents or f"{server}#{model}" in self.replica.loads
        load = None
        if may_load and not is_copy:
            busy = {ticket.model for ticket in self.replica.tickets_on(server)}
            idle = [m for m in residents if m not in busy or self.chance.random() < RUNNING_ANYWAY]
            share = self.chance.choice([0.4, 1.0])
            victims = tuple(m for m in idle if self.chance.random() < share)
            load = LoadUnderWay(
                server=server, model=model, footprint_mib=SIZES[model], started_at=time.time(), evicts=victims
            )
        elif not is_copy and self.chance.random() > RUNNING_ANYWAY:
            return None
        self.made += 1
        ticket = Ticket(
            id=f"t-{self.crew}-{self.made}",
            server=server,
            agent=waiter.agent,
            model=model,
            state=TicketState.PLANNED if plan else TicketState.ACTIVE,
            started_at=time.time(),
            footprint_mib=SIZES[model],
            evicts=load.evicts if load else (),
            priority=waiter.priority,
            crew=waiter.crew,
            call=waiter.id,
            waiter=waiter.id if in_line else None,
            plan=plan.id if plan else None,
            key="" if plan else waiter.key,
            key_limit=waiter.key_limit,
        )
        return GrantChange(
            ticket=ticket,
            load=load,
            plan=plan.with_ticket(ticket.id, trace="{}") if plan else None,
            replaces=replaces.id if replaces else None,
        )

    async def _hold(self, ticket: str) -> None:
        with suppress(TicketGone):
            for _ in range(self.chance.randint(0, 3)):
                await self._pause(0.01)
                await self.ledger.renew(ticket=ticket)
        if self.chance.random() < 0.97:
            outcome = Outcome(ok=self.chance.random() < 0.9)
            await self.ledger.release(ticket=ticket, outcome=outcome, now=time.time())
            await self.ledger.release(ticket=ticket, outcome=outcome, now=time.time())

    async def _drive_one(self, load: LoadUnderWay) -> None:
        place = {"server": load.server, "model": load.model}
        begun = await self.ledger.load_begin(**place, runner=self.crew)
        if begun is None:
            return
        for victim in begun.evicts:
            await self._pause(0.005)
            await self.engines.unload(server=load.server, model=victim)
            await self.ledger.victim_gone(**place, victim=victim)
        if not await self.ledger.load_renew(**place, runner=self.crew):
            return
        await self.engines.load(**place, sizes=SIZES_JSON)
        await self._pause(0.02)
        if self.chance.random() < 0.2:
            await self.engines.unload(**place)
            await self.ledger.load_failed(**place, problem="no luck", now=time.time())
            return
        copy = Resident(model=load.model, footprint_mib=SIZES[load.model])
        await self.ledger.load_done(**place, resident=copy, took_s=0.02, now=time.time())

    def _waiter(self, agent: str) -> Waiter:
        self.made += 1
        models = self.chance.sample(sorted(SIZES), k=2)
        return Waiter(
            id=f"w-{self.crew}-{self.made}",
            agent=agent,
            candidates=tuple(Candidate(model=model, score=60) for model in models),
            arrived_at=time.time(),
            limit_at=time.time() + 60,
            priority=self.chance.choice([Priority.INTERACTIVE, Priority.INTERACTIVE, Priority.BACKGROUND]),
            crew=self.crew,
            key=KEY if self.chance.random() < 0.3 else "",
            key_limit=KEY_LIMIT,
        )

    def _anybody(self, otherwise: str) -> str:
        waiting = self.replica.waiting()
        return self.chance.choice(waiting).id if waiting else otherwise

    async def _pause(self, seconds: float) -> None:
        await asyncio.sleep(self.chance.uniform(0, 2 * seconds))


def _fields(waiter: Waiter) -> dict[str, object]:
    return {name: getattr(waiter, name) for name in Waiter.__dataclass_fields__}
