"""Random operations on a ledger: drawn as plain numbers, carried out in the same way on any implementation.

Engines behave here: a probe sees what is resident, or less; what is loaded has the size that was reserved.
"""

from collections.abc import Awaitable, Callable
from typing import Any

from hypothesis import strategies as st

from providers.core.specs import ResourceGroup
from scheduler.core.gate import Admission, AdmissionBy, AdmissionState, QuarantineCause
from scheduler.core.ledger import (
    CallEnd,
    DrainChange,
    GrantChange,
    Intent,
    LeftChange,
    Outcome,
    Plan,
    ServerConfig,
    ServerSeen,
    StandAsideChange,
    WaitChange,
)
from scheduler.core.server import Resident
from scheduler.core.types import Candidate, Drain, TicketState, Waiter
from scheduler.ports import LineFull, TicketGone
from tests.contracts.hand import ALIASES, CREWS, KEYS, MODELS, NAMES, PRIORITIES, SERVERS, Hand

number = st.integers(min_value=0, max_value=5)
operation = st.tuples(
    st.sampled_from(
        [
            *("grant", "grant", "grant", "load", "load", "load", "enqueue", "enqueue", "wait", "drain", "stand_aside"),
            *(
                "enqueue",
                "enqueue",
                "pick_up",
                "pick_up",
                "pick_up",
                "give_up",
                "renew",
                "release",
                "release",
                "release",
            ),
            *("select", "select", "plan", "plan", "plan", "drop_plan"),
            *("begin", "renew_load", "victim_gone", "done", "done", "failed", "probe", "probe_begin", "probe_end"),
            *("advance", "advance", "reap", "configure", "batch", "admit", "left"),
        ]
    ),
    st.tuples(number, number, number, number, number),
)
operations = st.lists(operation, min_size=20, max_size=80)


class Player(Hand):
    """Carries operations out on one ledger."""

    async def start(self) -> None:
        """Register two servers that are ready."""
        await self.configure(0, 0, 0, 0, 0)
        for server in SERVERS:
            await self._probe(server, kept=())

    async def play(self, name: str, args: tuple[int, ...]) -> Any:
        """Carry one operation out and give what it gave, or the name of what it raised."""
        step: Callable[..., Awaitable[Any]] = getattr(self, name)
        try:
            return await step(*args)
        except (TicketGone, LineFull) as raised:
            return type(raised).__name__

    # What may be drawn

    async def configure(self, a: int, b: int, *_: int) -> Any:
        """Raise limits; never below what may run already."""
        servers = [
            ServerConfig(
                name=name,
                kind="ollama",
                endpoint=name,
                total_mib=60,
                reserve_mib=0,
                slots=2 + a // 4,
                max_concurrent=3 if name == "gpu-1" and not a // 4 else None,
                interactive_reserve=1,
                resource_group=ResourceGroup(name="bus", max_concurrent=4 + a // 4),
                weight=100 + b,
                quarantine_on_ambiguous=name == "gpu-2",
            )
            for name in SERVERS
        ]
        if a // 4:
            self.configure = self._keep  # type: ignore[method-assign]
        return await self.ledger.configure(servers=servers, footprints={"a": 10}, weights={"x": 2.0})

    async def _keep(self, *_: int) -> None:
        return None

    async def grant(self, a: int, b: int, c: int, d: int, e: int) -> Any:
        """Claim a copy, for a waiter or directly."""
        return await self._commit(self._grant(a, b, c, d, e))

    async def load(self, a: int, b: int, c: int, d: int, e: int) -> Any:
        """Claim a load that takes some victims."""
        change = self._grant(a, b, c, d, 0)
        server, model = change.ticket.server, change.ticket.model
        idle = [r.model for r in self._residents(server)] if e else [name for name in NAMES if name != model]
        victims = tuple(name for i, name in enumerate(idle) if (e >> i) & 1 or e == 0)
        return await self._commit(self._with_load(change, victims))

    async def batch(self, a: int, b: int, c: int, d: int, e: int) -> Any:
        """Commit several changes at once."""
        changes = [
            self._grant(a, b, c, d, 0),
            self._grant(b, c, d, e, 0),
            self._with_load(self._grant(c, d, e, a, 0), ()),
        ]
        return await self.ledger.commit(changes=changes, now=self.now())

    async def enqueue(self, a: int, b: int, c: int, d: int, _: int) -> Any:
        """Stand in line."""
        id = f"w{len(self.waiters)}"
        self.waiters.append(id)
        waiter = Waiter(
            id=id,
            agent=f"agent{a % 3}",
            candidates=(Candidate(model=NAMES[b % 4], score=60),),
            arrived_at=self.now(),
            limit_at=self.now() + 90,
            priority=PRIORITIES[c % 2],
            crew=CREWS[d % 2],
            plan=self.plans[d % len(self.plans)].id if d > 3 and self.plans else None,
            key=KEYS[c % 3],
            key_limit=2,
        )
        return await self.ledger.enqueue(waiter=waiter)

    async def wait(self, a: int, b: int, c: int, d: int, _: int) -> Any:
        """Tell a waiter what it waits for."""
        said = Waiter(
            id=self._waiter(a),
            agent="",
            candidates=(),
            arrived_at=0,
            limit_at=0,
            model=NAMES[b % 4],
            server=SERVERS[c % 2] if c < 3 else None,
            action="queue" if c < 3 else "wait",
            eta_s=None if d == 0 else d * 0.5,
            reason="key-limit" if d == 5 else "gpu-busy",
        )
        return await self._commit(WaitChange(waiter=said, trace="{}"))

    async def drain(self, a: int, b: int, c: int, d: int, _: int) -> Any:
        """Begin or end a drain."""
        wanted = Drain(model=NAMES[b % 4], agent="agent0", victims=("a",), since=self.now(), waiter=self._waiter(a))
        return await self._commit(DrainChange(server=SERVERS[c % 2], drain=None if d == 0 else wanted))

    async def stand_aside(self, a: int, *_: int) -> Any:
        """End a wait."""
        return await self._commit(StandAsideChange(waiter=self._waiter(a), reason="gpu-busy", model="a"))

    async def pick_up(self, a: int, *_: int) -> Any:
        """Ask for the end of a wait."""
        return await self.ledger.pick_up(waiter=self._waiter(a), now=self.now())

    async def give_up(self, a: int, *_: int) -> Any:
        """Leave the line."""
        return await self.ledger.give_up(waiter=self._waiter(a), now=self.now())

    async def renew(self, a: int, *_: int) -> Any:
        """Renew a ticket."""
        return await self.ledger.renew(ticket=self._ticket(a))

    async def release(self, a: int, b: int, *_: int) -> Any:
        """Give a ticket back."""
        ambiguity = QuarantineCause.AMBIGUOUS_TIMEOUT if b == 1 else None
        end = (None, CallEnd.ERROR, CallEnd.REFUSED)[b % 3]
        outcome = Outcome(ok=b > 2, prompt_tokens=b, end=end, ambiguity=ambiguity)
        return await self.ledger.release(ticket=self._ticket(a), outcome=outcome, now=self.now())

    async def left(self, a: int, *_: int) -> Any:
        """Leave, while the engine works on."""
        return await self._commit(LeftChange(ticket=self._ticket(a)))

    async def select(self, a: int, b: int, *_: int) -> Any:
        """Select an agent."""
        plan = Plan(
            id=f"p{len(self.plans)}", agent=f"agent{a % 3}", thread=f"th{b % 2}", crew="x", created_at=self.now()
        )
        self.plans.append(plan)
        intent = Intent(agent=plan.agent, thread=plan.thread, models=("a", "b"), at=self.now())
        return await self.ledger.publish_intents(intents=[intent], plans=[plan])

    async def plan(self, a: int, b: int, c: int, d: int, e: int) -> Any:
        """Hold a place for a selected agent."""
        if not self.plans:
            return None
        plan = self.plans[-1 - a % min(len(self.plans), 2)]
        change = self._grant(a, b, c, 0, 0 if e % 2 else 5 - e)
        held = self._of(change.ticket, agent=plan.agent, plan=plan.id, waiter=None, state=TicketState.PLANNED, call="")
        given = GrantChange(ticket=held, plan=plan.with_ticket(held.id, trace="{}"))
        return await self._commit(self._with_load(given, ()) if e % 2 else given)

    async def drop_plan(self, a: int, b: int, *_: int) -> Any:
        """Give a plan up."""
        plan = self.plans[-1 - a % len(self.plans)].id if self.plans and b < 3 else "p-none"
        return await self.ledger.drop_plan(plan=plan, now=self.now())

    async def begin(self, a: int, b: int, c: int, *_: int) -> Any:
        """Drive a load."""
        return await self.ledger.load_begin(server=SERVERS[a % 2], model=self._loading(a, b), runner=f"r{c % 2}")

    async def renew_load(self, a: int, b: int, c: int, *_: int) -> Any:
        """Keep driving a load."""
        return await self.ledger.load_renew(server=SERVERS[a % 2], model=self._loading(a, b), runner=f"r{c % 2}")

    async def victim_gone(self, a: int, b: int, c: int, *_: int) -> Any:
        """Confirm an unload."""
        server, model = SERVERS[a % 2], self._loading(a, b)
        load = self.ledger.replica.loads.get(f"{server}#{model}")
        victims = load.evicts if load is not None and load.evicts and c else NAMES
        await self.ledger.victim_gone(server=server, model=model, victim=victims[c % len(victims)])

    async def done(self, a: int, b: int, c: int, *_: int) -> Any:
        """End a load well."""
        server, model = SERVERS[a % 2], self._loading(a, b)
        copy = Resident(model=model, footprint_mib=MODELS[model], aliases=ALIASES.get(model, ()))
        await self.ledger.load_done(server=server, model=model, resident=copy, took_s=c * 0.5, now=self.now())

    async def failed(self, a: int, b: int, *_: int) -> Any:
        """End a load badly."""
        await self.ledger.load_failed(
            server=SERVERS[a % 2], model=self._loading(a, b), problem="no room", now=self.now()
        )

    async def probe(self, a: int, b: int, *_: int) -> Any:
        """See what is resident, or that one model went by itself, or that the server is gone."""
        server = SERVERS[a % 2]
        kept = [r.model for r in self._residents(server)]
        if kept and b == 5:
            kept.pop()
        return await self._probe(server, kept=tuple(kept), ready=b != 4)

    async def admit(self, a: int, b: int, c: int, d: int, _: int) -> Any:
        """Keep calls from a server, or let them come again."""
        state = AdmissionState.OPEN if b < 3 else list(AdmissionState)[b - 2]
        server = SERVERS[a % 2]
        cause = QuarantineCause.SILENT if d == 3 and state is AdmissionState.QUARANTINED else None
        admission = Admission(state=state, since=self.now(), by=list(AdmissionBy)[c % 2], cause=cause)
        when = (AdmissionState.PAUSED,) if d == 1 else ()
        since = self.ledger.replica.servers[server].admission.since if d > 3 else None
        return await self.ledger.admission_set(server=server, admission=admission, when=when, since=since, trial=d == 2)

    async def probe_begin(self, a: int, *_: int) -> Any:
        """Begin a probe whose answer comes late."""
        server = SERVERS[a % 2]
        number = await self.ledger.probe_begin(server=server, lease_s=10)
        if number is not None:
            self.probes.append((server, number, ServerSeen(ready=True, residents=self._residents(server))))
        return number

    async def probe_end(self, a: int, *_: int) -> Any:
        """Let a late answer come."""
        if not self.probes:
            return None
        server, number, seen = self.probes.pop(a % len(self.probes))
        return await self.ledger.probe_end(server=server, probe=number, seen=seen)

    async def advance(self, a: int, b: int, *_: int) -> Any:
        """Let time pass."""
        seconds = (0.25, 2.0, 5.0, 10.0, 20.0, 100.0)[a] + b
        self.move(seconds)

    async def reap(self, *_: int) -> Any:
        """End what is due."""
        return await self.ledger.reap(now=self.now())
