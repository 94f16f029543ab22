"""Clusters to measure on: many servers, calls in flight, and calls that wait, in a replica as the ledger would feed it.

House rules: one seed is one cluster, so that two runs measure the same; nothing here is timed.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from random import Random

from scheduler.core.config import SchedulerConfig
from scheduler.core.ledger import Change, GrantChange, ServerConfig, ServerLearned, ServerRecord, ServerSeen, WaitChange
from scheduler.core.ledger_docs import Doc, to_doc
from scheduler.core.replica import Replica
from scheduler.core.snapshot import Resident
from scheduler.core.types import CallRequest, Candidate, Ticket, TicketState, Waiter

NOW = 1_000_000.0
SEED = 20
MODELS = 50
TICKETS_PER_SERVER = 3
RESIDENTS = 4
SIZES = (2048, 4096, 6144, 8192, 10240, 12288)
SLACK_MIB = 1024
ROOM_MIB = 16384
USED_UP = range(30, 40)
"""These models are resident with every slot taken."""
COLD = range(40, 50)
"""These are resident nowhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What a cluster is like.

    `with_room`: every third server has free memory for another model. `is_full`: every model in memory is in use.
    """

    servers: int
    with_room: bool = False
    is_full: bool = False
    waiters: int = 0
    groups: int = 20


class Cluster:
    """A replica with what keeps it moving: each step frees or takes a place, as the ledger's deltas would."""

    def __init__(self, *, shape: Shape) -> None:
        self.config = SchedulerConfig(max_waiters=100_000)
        self.replica = Replica(config=self.config)
        self.rng = Random(SEED)  # noqa: S311 - a repeatable cluster, not a secret
        self._number = 0
        self._build(shape)

    def feed(self, *deltas: tuple[str, str, Doc | None]) -> None:
        """Take in the deltas of one more version."""
        self.replica.apply(version=self.replica.version + 1, deltas=deltas)

    def warm_request(self) -> CallRequest:
        """Ask for models that have free slots somewhere."""
        return self._request([self.rng.randrange(USED_UP.start) for _ in range(3)])

    def weighed_request(self) -> CallRequest:
        """Ask for models that are used up or nowhere: queueing, loading and unloading must be compared."""
        names = [self.rng.choice(USED_UP), self.rng.choice(COLD), self.rng.choice(USED_UP)]
        return self._request(names, step=0 if self.rng.random() < 0.5 else 5)

    def some_ticket(self, *, used_up: bool = False) -> Ticket:
        """Pick a call in flight, of a model with waiters or of one without."""
        models = {model_name(index) for index in USED_UP}
        tickets = [ticket for ticket in self.replica.tickets.values() if (ticket.model in models) == used_up]
        return self.rng.choice(tickets)

    def moved(self, ticket: Ticket) -> tuple[tuple[str, str, Doc | None], ...]:
        """End a call and begin another one like it."""
        return (("ticket", ticket.id, None), self.ticket_row(server=ticket.server, model=ticket.model))

    def ticket_row(self, *, server: str, model: str) -> tuple[str, str, Doc | None]:
        """Write down a call in flight."""
        key = self._id("t")
        started_at = NOW - self.rng.uniform(0.0, 25.0)
        ticket = Ticket(
            id=key, server=server, agent="bench/agent", model=model, state=TicketState.ACTIVE, started_at=started_at
        )
        return "ticket", key, to_doc(ticket)

    def carry_out(self, changes: Iterable[Change]) -> int:
        """Feed the replica what a commit of these changes would; whoever is served is replaced by one more waiter."""
        granted = 0
        for change in changes:
            if isinstance(change, WaitChange):
                self.feed(("waiter", change.waiter.id, to_doc(change.waiter)))
            elif isinstance(change, GrantChange):
                granted += 1
                waiter = self.replica.waiters[change.ticket.call]
                ticket = replace(change.ticket, waiter=None)
                again = replace(waiter, id=self._id("w"), arrived_at=NOW - self.rng.uniform(0.0, 1.0))
                self.feed(
                    ("ticket", ticket.id, to_doc(ticket)),
                    ("waiter", waiter.id, None),
                    ("waiter", again.id, to_doc(again)),
                )
        return granted

    def _build(self, shape: Shape) -> None:
        sizes = {model_name(index): self.rng.choice(SIZES) for index in range(MODELS)}
        rows: list[tuple[str, str, Doc | int | None]] = [("footprint", name, size) for name, size in sizes.items()]
        for number in range(shape.servers):
            rows.extend(self._server_rows(number=number, shape=shape, sizes=sizes))
        for index in range(MODELS):
            rows.append(("use", model_name(index), {"count": self.rng.uniform(0, 3), "at": NOW - 60.0}))
        candidates = [self.weighed_request().candidates for _ in range(shape.groups)]
        for number in range(shape.waiters):
            waiter = Waiter(
                id=self._id("w"),
                agent="bench/agent",
                candidates=candidates[number % len(candidates)],
                arrived_at=NOW - self.rng.uniform(1.0, 20.0),
                limit_at=NOW + 1000.0,
                prompt_tokens=self.rng.randrange(100, 4000),
            )
            rows.append(("waiter", waiter.id, to_doc(waiter)))
        self.replica.reset(version=1, deltas=rows)  # type: ignore[arg-type]

    def _server_rows(
        self, *, number: int, shape: Shape, sizes: dict[str, int]
    ) -> Iterable[tuple[str, str, Doc | None]]:
        name = f"gpu-{number:04}"
        # Each server has one used-up model, so that every one of them is somewhere; the others have free slots.
        busy = model_name(USED_UP[number % len(USED_UP)])
        calm = [model_name(index) for index in self.rng.sample(range(USED_UP.start), RESIDENTS - 1)]
        held = sum(sizes[model] for model in (busy, *calm))
        room = ROOM_MIB if shape.with_room and number % 3 == 0 else 0
        config = ServerConfig(
            name=name,
            kind="ollama",
            endpoint=f"http://{name}",
            total_mib=held + SLACK_MIB + room,
            reserve_mib=0,
            slots=TICKETS_PER_SERVER - 1,
        )
        residents = tuple(
            Resident(model=model, footprint_mib=sizes[model], context_length=8192, last_used=NOW - 30.0)
            for model in (busy, *calm)
        )
        seen = ServerSeen(phase="Ready", ready=True, residents=residents, models=tuple(sizes))
        learned = ServerLearned(
            load_mib_per_s=self.rng.uniform(900, 1100),
            call_s=self.rng.uniform(20, 40),
            success_rate=self.rng.uniform(0.97, 1.0),
        )
        yield "server", name, to_doc(ServerRecord(config=config, seen=seen, learned=learned))
        in_use = len(calm) if shape.is_full else TICKETS_PER_SERVER - config.slots
        for model in (*[busy] * config.slots, *calm[:in_use]):
            yield self.ticket_row(server=name, model=model)

    def _request(self, indexes: Iterable[int], *, step: int = 5) -> CallRequest:
        models = dict.fromkeys(model_name(index) for index in indexes)
        candidates = tuple(Candidate(model=model, score=90 - step * rank) for rank, model in enumerate(models))
        return CallRequest(agent="bench/agent", candidates=candidates, prompt_tokens=1200, arrived_at=NOW)

    def _id(self, kind: str) -> str:
        self._number += 1
        return f"{kind}{self._number:07}"


def model_name(index: int) -> str:
    """Name the model of an index."""
    return f"model-{index:02}"
