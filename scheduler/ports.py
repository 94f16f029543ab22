"""What the services need from the world, as Protocols. Drivers implement them; fakes are held to the same contracts."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from scheduler.core.calls import AgentOffer, AgentProfile
from scheduler.core.gate import Admission, States
from scheduler.core.ledger import (
    Change,
    Committed,
    Intent,
    JournalEntry,
    Outcome,
    Plan,
    Reaped,
    ServerConfig,
    ServerSeen,
    Settled,
)
from scheduler.core.problems import LedgerUnavailable, LineFull, TicketGone, UnknownAgent, UnknownServer
from scheduler.core.replica import Replica
from scheduler.core.snapshot import Resident
from scheduler.core.types import Candidate, LoadUnderWay, Waiter

__all__ = ["Catalog", "Clock", "Effects", "History", "Ids", "Ledger"]
__all__ += ["LedgerUnavailable", "LineFull", "TicketGone", "UnknownAgent", "UnknownServer"]


class Ledger(Protocol):
    """The living moment: one shared, atomic account of who holds what, with a replica in each process.

    Every method that changes something is one atomic step that also writes the journal. Times are the ledger's own
    clock for leases, and the caller's `now` for what people see.
    """

    @property
    def replica(self) -> Replica:
        """Give this process's copy. It is only ever read between two awaits."""
        ...

    async def start(self) -> None:
        """Load the replica and follow what changes."""
        ...

    async def close(self) -> None:
        """Stop following and let go of connections."""
        ...

    async def catch_up(self) -> None:
        """Bring the replica up to the ledger's present version."""
        ...

    async def wait_for_change(self, *, after: int, timeout_s: float) -> None:
        """Return once the replica is past version `after`, or when the time is over."""
        ...

    async def wait_until_settled(self, *, waiter: str, timeout_s: float) -> bool:
        """Sleep until this wait is over, and say so; False when the time is over first.

        Over: its place is ready, it stood aside, or the replica knows no such waiter. What happens to others wakes
        nobody, and an end that comes between asking and sleeping is not missed.
        """
        ...

    def wake(self, *, waiter: str) -> None:
        """Have whoever sleeps until this wait is over look again now."""
        ...

    @property
    def losses(self) -> int:
        """Count how often this process lost the ledger: what it held may have lapsed, or been forgotten, each time."""
        ...

    @property
    def wake_ups(self) -> int:
        """Count the sleeping callers that this process has woken because their wait was over."""
        ...

    # Configuration and observation

    async def configure(
        self, *, servers: Sequence[ServerConfig], footprints: Mapping[str, int], weights: Mapping[str, float]
    ) -> bool:
        """Make these the registered servers, known footprints and crews' weights; say whether anything changed.

        A server that is no longer listed is removed with its loads, drain and tickets. What was seen and learned of a
        server stays while its kind and endpoint stay.
        """
        ...

    async def probe_begin(self, *, server: str, lease_s: float, every_s: float = 0.0) -> int | None:
        """Begin a probe and give its number, or None while another one is under way or began less than `every_s` ago.

        So two timers, or ten workers, ask a server no more often than one.
        """
        ...

    async def probe_end(self, *, server: str, probe: int, seen: ServerSeen) -> bool:
        """Store what a probe saw; say whether anything but `probed_at` changed.

        A probe older than the last one stored, or begun before a load or unload here that has ended since, is dropped.
        Models that have a load under way here are not taken as resident, whatever the engine lists.
        """
        ...

    async def admission_set(
        self, *, server: str, admission: Admission, when: States = (), since: float | None = None, trial: bool = False
    ) -> bool:
        """Let calls be placed on a server, or keep them away, from `admission.since` on; say whether that is news.

        `when` are the states it must be in for that, `since` is since when; none: whichever. What an operator said, the
        system (`admission.by`) leaves as it is. `trial`: it opens for a single call first, as after a rest of its
        circuit. Whoever was granted a place on a server that is taken out, and has not got it yet, waits again.

        Raises:
            UnknownServer: no such server.
        """
        ...

    async def enqueue(self, *, waiter: Waiter) -> tuple[Waiter, int]:
        """Add a waiter; give it back with its fair-queueing tag, and the version before it was added.

        Raises:
            LineFull: there are `max_waiters` already, or `max_waiters_per_agent` of its client key, else its agent.
        """
        ...

    async def commit(self, *, changes: Sequence[Change], now: float) -> Committed:
        """Check each change against the stored documents and apply those that hold, in order, in one atomic step."""
        ...

    async def pick_up(self, *, waiter: str, now: float) -> Settled | None:
        """Hand a settled wait to its caller and forget the waiter; None while it waits or its load runs.

        Renews the waiter's lease. An unknown waiter raises.

        Raises:
            TicketGone: no such waiter (given up, lapsed, or handed out already).
        """
        ...

    async def give_up(self, *, waiter: str, now: float, reason: str = "") -> bool:
        """End a wait; a ticket granted meanwhile is given back. False when it is gone already.

        `reason` is why the caller was sent away, which history keeps; empty where it left by itself.
        """
        ...

    async def renew(self, *, ticket: str, progress_at: float | None = None) -> float:
        """Renew a ticket's lease and give its length in seconds.

        `progress_at` is when the engine sent a byte of the answer last, or was sent the request before there is one;
        None where the caller does not tell. It moves no version.

        Raises:
            TicketGone: it is not held any more.
        """
        ...

    async def progress(self) -> Mapping[str, float]:
        """Tell when the calls whose callers say so had a byte from their engines last, by ticket."""
        ...

    async def release(self, *, ticket: str, outcome: Outcome, now: float) -> bool:
        """Give a ticket back. False, and nothing changed, when it is gone already."""
        ...

    async def publish_intents(self, *, intents: Sequence[Intent], plans: Sequence[Plan]) -> None:
        """Store intents and (still empty) plans of selected agents, and count it for every model that they name."""
        ...

    async def drop_plan(self, *, plan: str, now: float) -> bool:
        """Give back a plan's ticket and forget plan and intent. False when it is gone already."""
        ...

    async def load_begin(self, *, server: str, model: str, runner: str) -> LoadUnderWay | None:
        """Take the lease on driving a load; None when it is gone or somebody else drives it."""
        ...

    async def load_renew(self, *, server: str, model: str, runner: str) -> bool:
        """Keep driving; False when the load is gone or was taken over: stop at once."""
        ...

    async def victim_gone(self, *, server: str, model: str, victim: str) -> None:
        """Write down that the engine confirmed an unload."""
        ...

    async def load_done(self, *, server: str, model: str, resident: Resident, took_s: float, now: float) -> None:
        """The copy is resident: its load ends, its tickets become active, the load rate is learned."""
        ...

    async def load_failed(self, *, server: str, model: str, problem: str, now: float) -> None:
        """The load ended without a copy: its tickets are taken back, their waiters wait again, the model rests here."""
        ...

    # Housekeeping

    async def reap(self, *, now: float) -> Reaped:
        """End what has outlived its lease or limit, and name the loads that nobody drives."""
        ...

    async def journal(self, *, after: str, count: int) -> Sequence[JournalEntry]:
        """Read committed changes past a journal id, oldest first."""
        ...


class Effects(Protocol):
    """What follows from a commit: started elsewhere, idempotent, and derived again by the tick if it gets lost."""

    async def start_load(self, *, load: LoadUnderWay) -> None:
        """Have a worker drive the load."""
        ...

    async def wake(self) -> None:
        """Have a worker run a cycle soon."""
        ...

    async def project(self) -> None:
        """Have a worker write the journal down soon."""
        ...


class Callers(Protocol):
    """What turns who calls into candidates."""

    async def agent(self, *, name: str) -> AgentProfile:
        """Look up an agent.

        Raises:
            UnknownAgent: no such agent.
        """
        ...

    async def able(self, *, capabilities: Sequence[str]) -> tuple[Candidate, ...]:
        """Rank the models that are labelled with every capability."""
        ...

    async def named(self, *, model: str) -> Candidate:
        """Make the only candidate of a call that names its model."""
        ...

    async def models(self) -> frozenset[str]:
        """Name the registered models."""
        ...

    async def agents(self) -> Sequence[AgentOffer]:
        """List the registered agents."""
        ...


class Catalog(Callers, Protocol):
    """What operators registered, as core values."""

    async def servers(self) -> Sequence[ServerConfig]:
        """List the registered servers that may be used."""
        ...

    async def footprints(self) -> Mapping[str, int]:
        """Map models to their declared footprint, MiB."""
        ...

    async def weights(self) -> Mapping[str, float]:
        """Map crews to their fair share; empty unless an operator gave any crew a weight."""
        ...


class History(Protocol):
    """The projection of the journal that outlives the living moment."""

    async def cursor(self) -> str:
        """Give the id of the last journal entry that was written down; empty before the first."""
        ...

    async def write(self, *, entries: Sequence[JournalEntry]) -> None:
        """Write entries down, once each, and move the cursor, in one transaction."""
        ...

    async def forget(self, *, before: float, most: int) -> int:
        """Forget the oldest of what was before a moment, so many calls and server events at most; give how many.

        What tells how a server stood at that moment stays.
        """
        ...


class Ids(Protocol):
    """Makes ids that nobody can guess and nobody used before."""

    def __call__(self) -> str:
        """Make one."""
        ...


class Clock(Protocol):
    """Tells the time. Handed in by the bootstrap to what must look at it more than once."""

    def __call__(self) -> float:
        """Give the Unix time in seconds."""
        ...
