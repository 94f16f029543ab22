"""Clusters of any size as replicas: so many servers and waiters, in every state that a board can show."""

from dataclasses import replace
from itertools import cycle, islice
from typing import Any

from kubemoot_web.board.picture import Picture, picture_of
from scheduler.core import ledger_docs as docs
from scheduler.core.call_history import CallRecord, CallState
from scheduler.core.config import SchedulerConfig
from scheduler.core.gate import Admission, AdmissionState, Circuit
from scheduler.core.ledger import ServerConfig, ServerLearned, ServerRecord, ServerSeen
from scheduler.core.replica import Replica
from scheduler.core.snapshot import Resident
from scheduler.core.types import Candidate, Drain, LoadUnderWay, Priority, Ticket, TicketState, Waiter

MODELS = {
    "qwen3:32b": 20480,
    "qwen3:14b": 10240,
    "qwen3:8b": 6144,
    "gpt-oss:20b": 13352,
    "hf.co/acme/Tiny-Instruct-GGUF:Q4_K_M": 1536,
}
AGENTS = ("analyst", "researcher", "rules-keeper", "scout", "archivist", "a-colleague-with-a-rather-long-name")
STATES = ("running", "loading", "evicting", "idle", "draining", "empty", "unreachable", "pending", "full", "failing")
CLOSED = ("paused", "drained", "taken out", "resting")
"""States in which somebody or something keeps calls away."""


def kept_away(state: str, *, now: float) -> dict[str, Any]:
    """Give the parts of a server's record that say so."""
    resting = Circuit(failures=3, opened_at=now - 9, rests_until=now + 21, status=500)
    parts: dict[str, dict[str, Any]] = {
        "paused": {"admission": Admission(state=AdmissionState.PAUSED, reason="new fans", since=now - 300)},
        "drained": {"admission": Admission(state=AdmissionState.DRAINING, since=now - 4000)},
        "taken out": {"admission": Admission(state=AdmissionState.QUARANTINED, reason="wrong answers", since=now - 70)},
        "resting": {"learned": ServerLearned(circuit=resting)},
    }
    return parts.get(state, {})


class Crowd:
    """A replica in the making; `now` is the moment that it is looked at."""

    def __init__(self, *, now: float) -> None:
        self.now = now
        self.replica = Replica(config=SchedulerConfig())
        self._rows: list[tuple[str, str, object]] = [("footprint", model, mib) for model, mib in MODELS.items()]
        self._agents = cycle(AGENTS)

    def server(self, name: str, *, state: str = "running", total_mib: int = 32768, slots: int = 1) -> None:
        """Add a server in one of the STATES, or of those in CLOSED."""
        phase = state if state in ("unreachable", "pending", "failing") else "ready"
        problem = {"unreachable": "connection refused", "failing": "GET /api/ps answered 502"}.get(state, "")
        held = {"empty": (), "pending": (), "full": ("qwen3:32b", "qwen3:8b")}.get(state, ("qwen3:14b", "qwen3:8b"))
        if state == "loading":
            held = ("qwen3:8b",)
        residents = tuple(Resident(model=model, footprint_mib=MODELS[model]) for model in held)
        record = ServerRecord(
            config=ServerConfig(name=name, kind="ollama", endpoint=f"http://{name}", total_mib=total_mib, slots=slots),
            seen=ServerSeen(
                phase=phase, ready=phase == "ready", since=self.now - 900, detail=problem, residents=residents
            ),
            learned=ServerLearned(call_s=8.0),
        )
        self._put("server", name, replace(record, **kept_away(state, now=self.now)))
        match state:
            case "running":
                self._ticket(name, "qwen3:14b", TicketState.ACTIVE)
                self._ticket(name, "qwen3:8b", TicketState.PLANNED)
            case "full" | "draining":
                for model in held:
                    self._ticket(name, model, TicketState.ACTIVE)
            case "loading":
                self._load(name, "qwen3:14b", evicts=())
            case "evicting":
                self._load(name, "gpt-oss:20b", evicts=("qwen3:14b",))
                self._ticket(name, "qwen3:8b", TicketState.ACTIVE)
        if state == "draining":
            drain = Drain(model="qwen3:32b", agent="default/archivist", victims=("qwen3:14b",), since=self.now - 4)
            self._put("drain", name, drain)

    def waiters(self, count: int, *, server: str = "gpu-1") -> None:
        """Add waiters: some queue for a slot, some need a model that has no room."""
        for number, agent in enumerate(islice(cycle(AGENTS), count)):
            queues = number % 3 == 0
            model = "qwen3:14b" if queues else ("qwen3:32b", "gpt-oss:20b")[number % 2]
            waiter = Waiter(
                id=f"w{number}",
                agent=f"default/{agent}",
                crew=("default/lab", "default/studio")[number % 2],
                candidates=(Candidate(model=model, score=70),),
                arrived_at=self.now - 40 + number / 10,
                limit_at=self.now + 50 + number / 10,
                model=model,
                server=server if queues else None,
                action="queue" if queues else "wait",
                priority=Priority.BACKGROUND if number % 5 == 4 else Priority.INTERACTIVE,
            )
            self._put("waiter", waiter.id, waiter)

    def picture(self) -> Picture:
        """Look at it, with a dozen decisions."""
        self.replica.reset(version=1, deltas=[(table, key, docs.to_doc(value)) for table, key, value in self._rows])
        calls = [self._call(number) for number in range(12)] if any(row[0] == "server" for row in self._rows) else []
        return picture_of(replica=self.replica, config=SchedulerConfig(), calls=calls, now=self.now)

    def _put(self, table: str, key: str, value: object) -> None:
        self._rows.append((table, key, value))

    def _ticket(self, server: str, model: str, state: TicketState) -> None:
        number = len(self._rows)
        ticket = Ticket(
            id=f"t{number}",
            server=server,
            agent=f"default/{next(self._agents)}",
            model=model,
            state=state,
            started_at=self.now - 1 - number % 6,
        )
        self._put("ticket", ticket.id, ticket)

    def _load(self, server: str, model: str, *, evicts: tuple[str, ...]) -> None:
        load = LoadUnderWay(
            server=server, model=model, footprint_mib=MODELS[model], started_at=self.now - 4, evicts=evicts
        )
        self._put("load", f"{server} {model}", load)
        self._ticket(server, model, TicketState.LOADING)

    def _call(self, number: int) -> CallRecord:
        action = ("use", "evict", "queue", "load", "wait", "join")[number % 6]
        state = (CallState.RUNNING, CallState.LOADING, CallState.WAITING, CallState.DONE)[number % 4]
        at = self.now - 3 * number - 2
        weighed = (("evict", "gpu-1", 22.4, ["qwen3:14b"]), ("queue", "gpu-2", 31.0, []), ("load", "gpu-2", 48.2, []))
        options = [
            {
                "action": what,
                "server": server,
                "model": "qwen3:32b",
                "costSeconds": cost_s,
                "evicts": evicts,
                "why": why,
            }
            for (what, server, cost_s, evicts), why in zip(
                weighed,
                ("chosen", "wait for a slot (31 s): would take longer", "load (48 s): would take longer"),
                strict=True,
            )
        ]
        return CallRecord(
            id=f"c{number}",
            agent=f"default/{AGENTS[number % len(AGENTS)]}",
            state=state,
            arrived_at=at,
            granted_at=at,
            started_at=at if state == CallState.DONE else None,
            finished_at=at + 4.1 if state == CallState.DONE else None,
            model="qwen3:32b" if action == "evict" else "qwen3:14b",
            server="gpu-1",
            action=action,
            evicted=("qwen3:14b",) if action == "evict" else (),
            decision={"action": action, "costSeconds": 22.4, "options": options if action == "evict" else []},
        )


def crowd(*, servers: int, waiters: int, now: float) -> Picture:
    """Make the board of so many servers and waiters."""
    made = Crowd(now=now)
    for number in range(1, servers + 1):
        state = (*STATES, *CLOSED)[(number - 1) % (len(STATES) + len(CLOSED))]
        made.server(
            f"gpu-{number}", state=state, total_mib=(32768, 24576, 81920)[number % 3], slots=(1, 1, 4)[number % 3]
        )
    made.waiters(waiters)
    return made.picture()
