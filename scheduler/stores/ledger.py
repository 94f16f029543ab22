"""The ledger in Redis. Every method is one function there; what it did comes back as deltas for the replica."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from scheduler.core import ledger_docs as docs
from scheduler.core.config import SchedulerConfig
from scheduler.core.gate import Admission, States
from scheduler.core.ledger import (
    Change,
    Committed,
    DrainChange,
    GrantChange,
    Intent,
    JournalEntry,
    LeftChange,
    Outcome,
    Plan,
    Reaped,
    Refusal,
    ServerConfig,
    ServerLearned,
    ServerSeen,
    Settled,
    StandAsideChange,
    WaitChange,
)
from scheduler.core.replica import Replica
from scheduler.core.server import Resident
from scheduler.core.types import LoadUnderWay, Waiter
from scheduler.ports import LineFull, TicketGone, UnknownServer
from scheduler.stores.journal import read_entry
from scheduler.stores.layout import clear_other_layouts, forget_other_libraries, root_of
from scheduler.stores.ledger_batch import Batch
from scheduler.stores.ledger_feed import ReplicaFeed
from scheduler.stores.link import Link

JOURNAL_LENGTH = 20_000
TIMEOUT_S = 2.0
BLOCK_S = 5.0


class RedisLedger:
    """One ledger, named, in one Redis or Valkey. `clock` replaces the server's clock for leases, in tests."""

    def __init__(
        self,
        *,
        url: str,
        name: str,
        config: SchedulerConfig,
        clock: Callable[[], float] | None = None,
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        self._config = config
        self._clock = clock
        self._name = name
        self._root = root_of(name=name)
        self._limits = docs.to_text(asdict(config) | {"journal": JOURNAL_LENGTH}).encode()
        self._link = Link(url=url, timeout_s=timeout_s)
        self._batch = Batch(carry=self._commit)
        self._follower = Link(url=url, timeout_s=timeout_s + BLOCK_S)
        self._feed = ReplicaFeed(
            replica=Replica(config=config), link=self._link, follower=self._follower, root=self._root, block_s=BLOCK_S
        )

    @property
    def replica(self) -> Replica:
        """Give this process's copy."""
        return self._feed.replica

    async def start(self) -> None:
        """Load the replica and follow the deltas. What a version with another layout left is removed first."""
        await clear_other_layouts(link=self._link, name=self._name)
        await forget_other_libraries(link=self._link)
        await self._feed.start()

    async def close(self) -> None:
        """Stop following and let go of connections."""
        await self._feed.close()
        await self._follower.close()
        await self._link.close()

    async def catch_up(self) -> None:
        """Bring the replica up to the ledger's present version."""
        await self._feed.catch_up()

    async def wait_for_change(self, *, after: int, timeout_s: float) -> None:
        """Return once the replica is past version `after`, or when the time is over."""
        await self._feed.wait_for_change(after=after, timeout_s=timeout_s)

    async def wait_until_settled(self, *, waiter: str, timeout_s: float) -> bool:
        """Sleep until this wait is over, and say so; False when the time is over first."""
        return await self._feed.bells.sleep(waiter=waiter, timeout_s=timeout_s)

    def wake(self, *, waiter: str) -> None:
        """Have whoever sleeps until this wait is over look again now."""
        self._feed.bells.wake(waiter=waiter)

    @property
    def losses(self) -> int:
        """Count how often this process lost the ledger."""
        return self._feed.losses

    @property
    def wake_ups(self) -> int:
        """Count the sleeping callers that this process has woken because their wait was over."""
        return self._feed.bells.rung

    async def configure(
        self, *, servers: Sequence[ServerConfig], footprints: Mapping[str, int], weights: Mapping[str, float]
    ) -> bool:
        """Make these the registered servers, known footprints and crews' weights; say whether anything changed."""
        rows = [
            *((server.name, docs.to_text(server)) for server in servers),
            *((model, docs.to_text(size)) for model, size in footprints.items()),
            *((crew, docs.to_text(weight)) for crew, weight in weights.items()),
        ]
        empty = (docs.to_text(ServerSeen()), docs.to_text(ServerLearned()))
        sizes = (len(servers), len(footprints), len(weights))
        return bool(await self._step("configure", *empty, *sizes, *(part for row in rows for part in row)))

    async def probe_begin(self, *, server: str, lease_s: float, every_s: float = 0.0) -> int | None:
        """Begin a probe and give its number, or None while one is under way or began less than `every_s` ago."""
        return int(await self._step("probe_begin", server, repr(lease_s), repr(every_s))) or None

    async def probe_end(self, *, server: str, probe: int, seen: ServerSeen) -> bool:
        """Store what a probe saw; say whether anything but `probed_at` changed."""
        return bool(await self._step("probe_end", server, probe, docs.to_text(seen), now=seen.probed_at))

    async def admission_set(
        self, *, server: str, admission: Admission, when: States = (), since: float | None = None, trial: bool = False
    ) -> bool:
        """Let calls be placed on a server, or keep them away; say whether that changed anything."""
        told = (server, docs.to_text(admission), "1" if trial else "", "" if since is None else repr(since))
        states = sorted(state.value for state in when)
        changed = int(await self._step("admission_set", *told, *states, now=admission.since))
        if changed < 0:
            raise UnknownServer(server)
        return bool(changed)

    async def enqueue(self, *, waiter: Waiter) -> tuple[Waiter, int]:
        """Add a waiter; give it back with its fair-queueing tag, and the version before it was added."""
        answer = await self._step("enqueue", docs.to_text(waiter), now=waiter.arrived_at)
        if answer == b"full":
            raise LineFull(limit=self._config.max_waiters)
        if answer == b"full-of-own":
            raise LineFull(limit=self._config.max_waiters_per_agent, agent=waiter.agent, key=waiter.key)
        stored, before = answer
        return docs.waiter(json.loads(stored)), int(before)

    async def commit(self, *, changes: Sequence[Change], now: float) -> Committed:
        """Check each change against the stored documents and apply those that hold, in order, in one atomic step."""
        version, results = await self._batch.ask(changes=[_change_args(change) for change in changes], now=now)
        return Committed(
            version=version, results=tuple(Refusal(result.decode()) if result else None for result in results)
        )

    async def pick_up(self, *, waiter: str, now: float) -> Settled | None:
        """Hand a settled wait to its caller and forget the waiter; None while it waits or its load runs."""
        answer = await self._step("pick_up", waiter, now=now)
        if answer == b"gone":
            raise TicketGone(waiter)
        if answer == b"waiting":
            return None
        if answer[0] == b"reason":
            _, reason, model, arrived_at = answer
            return Settled(reason=reason.decode(), model=model.decode(), waited_s=max(now - float(arrived_at), 0.0))
        ticket = docs.ticket(json.loads(answer[1]))
        waited_s = max(now - float(answer[2]), 0.0)
        return Settled(ticket=ticket, model=ticket.model, waited_s=waited_s, evicted=ticket.evicted)

    async def give_up(self, *, waiter: str, now: float, reason: str = "") -> bool:
        """End a wait; a ticket granted meanwhile is given back. False when it is gone already."""
        return bool(await self._step("give_up", waiter, reason, now=now))

    async def renew(self, *, ticket: str, progress_at: float | None = None) -> float:
        """Renew a ticket's lease and give its length in seconds."""
        if not await self._step("renew", ticket, "" if progress_at is None else repr(progress_at)):
            raise TicketGone(ticket)
        return self._config.ticket_lease_s

    async def progress(self) -> Mapping[str, float]:
        """Tell when the calls whose callers say so had a byte from their engines last, by ticket."""
        flat = await self._step("progress")
        return {ticket.decode(): float(at) for ticket, at in zip(flat[::2], flat[1::2], strict=True)}

    async def release(self, *, ticket: str, outcome: Outcome, now: float) -> bool:
        """Give a ticket back. False, and nothing changed, when it is gone already."""
        change = ("release", ticket, outcome.lesson.value, docs.to_text(outcome))
        _, results = await self._batch.ask(changes=[change], now=now)
        return results[0] == b"released"

    async def publish_intents(self, *, intents: Sequence[Intent], plans: Sequence[Plan]) -> None:
        """Store intents and (still empty) plans of selected agents, and count their selection."""
        now = max((intent.at for intent in intents), default=None)
        await self._step("publish", len(intents), *map(docs.to_text, intents), *map(docs.to_text, plans), now=now)

    async def drop_plan(self, *, plan: str, now: float) -> bool:
        """Give back a plan's ticket and forget plan and intent. False when it is gone already."""
        return bool(await self._step("drop_plan", plan, now=now))

    async def load_begin(self, *, server: str, model: str, runner: str) -> LoadUnderWay | None:
        """Take the lease on driving a load; None when it is gone or somebody else drives it."""
        load = await self._step("load_begin", server, model, runner, "begin")
        return docs.load(json.loads(load)) if load else None

    async def load_renew(self, *, server: str, model: str, runner: str) -> bool:
        """Keep driving; False when the load is gone or was taken over: stop at once."""
        return bool(await self._step("load_begin", server, model, runner, "renew"))

    async def victim_gone(self, *, server: str, model: str, victim: str) -> None:
        """Write down that the engine confirmed an unload."""
        await self._step("victim_gone", server, model, victim)

    async def load_done(self, *, server: str, model: str, resident: Resident, took_s: float, now: float) -> None:
        """The copy is resident: its load ends, its tickets become active, the load rate is learned."""
        await self._step("load_done", server, model, docs.to_text(resident), repr(took_s), now=now)

    async def load_failed(self, *, server: str, model: str, problem: str, now: float) -> None:
        """The load ended without a copy: its tickets are taken back, their waiters wait again, the model rests here."""
        await self._step("load_failed", server, model, problem, now=now)

    async def reap(self, *, now: float) -> Reaped:
        """End what has outlived its lease or limit, and name the loads that nobody drives."""
        tickets, waiters, plans, intents, loads = await self._step("reap", now=now)
        undriven = tuple(docs.load(json.loads(load)) for load in loads)
        return Reaped(tickets=tickets, waiters=waiters, plans=plans, intents=intents, undriven=undriven)

    async def journal(self, *, after: str, count: int) -> Sequence[JournalEntry]:
        """Read committed changes past a journal id, oldest first; from the beginning after ''."""
        start = f"({after}" if after else "-"
        page = await self._link.call("XRANGE", f"{self._root}:journal", start, "+", "COUNT", count)
        return tuple(read_entry(entry_id=entry_id, text=text) for entry_id, (_, text) in page)

    async def touch(self) -> None:
        """Run a function that does nothing: the least that any step takes."""
        await self._link.run("nothing", root=self._root, args=())

    async def _commit(self, args: Sequence[str]) -> tuple[int, Sequence[bytes]]:
        return await self._versioned_step("commit", args, now=None)

    async def _step(self, name: str, *args: str | int, now: float | None = None) -> Any:
        _, result = await self._versioned_step(name, args, now=now)
        return result

    async def _versioned_step(self, name: str, args: Sequence[str | int], *, now: float | None) -> tuple[int, Any]:
        clock = "" if self._clock is None else repr(self._clock())
        head = (clock, "" if now is None else repr(now), self._limits)
        version, epoch, deltas, result = await self._link.run(name, root=self._root, args=(*head, *args))
        if deltas:
            await self._feed.take(version=version, epoch=epoch, deltas=deltas)
        return version, result


def _change_args(change: Change) -> tuple[str, ...]:
    match change:
        case GrantChange():
            load, plan = (docs.to_text(value) if value else "" for value in (change.load, change.plan))
            return ("grant", docs.to_text(change.ticket), load, change.replaces or "", plan, change.trace)
        case WaitChange(waiter=waiter):
            said = ("model", "server", "action", "eta_s", "reason")
            return ("wait", waiter.id, docs.to_text({name: getattr(waiter, name) for name in said}), change.trace)
        case DrainChange():
            return ("drain", change.server, docs.to_text(change.drain) if change.drain else "")
        case StandAsideChange():
            return ("stand_aside", change.waiter, change.reason, change.model, change.trace)
        case LeftChange():
            return ("left", change.ticket)
