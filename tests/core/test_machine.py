"""Thousands of random events on a cluster, and after each of them everything that must always hold.

The ledger is the one in memory; the cycle is the real one. Violations that an operator or an engine causes (a limit
lowered below what runs, memory taken by others) may stand until they ease off; the scheduler itself causes none.
"""

from collections import Counter
from dataclasses import replace

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, rule

from scheduler.core.decisions import Evict, Join, Load, Use
from scheduler.core.gate import Admission, AdmissionState
from scheduler.core.line import turn_of
from scheduler.core.placement.decide import decide
from scheduler.core.placement.held import held_decision
from scheduler.core.snapshot import Resident
from scheduler.core.types import LoadUnderWay, Priority, Waiter
from scheduler.services.cycle import held_places
from scheduler.services.selection import agents_select, plan_drop
from tests.core.fresh import assert_kept_is_fresh
from tests.core.machine import AGENTS, CONFIG, KEY_LIMITS, MODELS, Hands, server
from tests.core.play import at_once
from tests.fakes.manual_clock import ManualClock
from tests.fakes.memory_ledger import MemoryLedger

CHANGES = (
    *("resident", "resident", "away", "back", "back", "limits", "limits", "group"),
    *("server comes", "server goes", "pause", "resume"),
)
indexes = st.integers(0, 99)
models = st.sampled_from(tuple(MODELS))
calls = st.fixed_dictionaries(
    {
        "agent": st.sampled_from(AGENTS),
        "models": st.lists(models, min_size=1, max_size=3, unique=True),
        "gap": st.sampled_from((0, 5, 20)),
        "priority": st.sampled_from(Priority),
        "limit_s": st.sampled_from((5.0, 60.0, 300.0)),
        "runs_s": st.sampled_from((1.0, 5.0, 40.0)),
        "prompt_tokens": st.sampled_from((None, 1000, 5000)),
        "key": st.sampled_from(("", "", *KEY_LIMITS)),
    }
)


class Cluster(Hands):
    """Agents come and go, calls run, loads end one way or another, servers change under it all."""

    @initialize(
        slots=st.integers(1, 2),
        cap=st.sampled_from((None, None, 2)),
        group=st.sampled_from((None, None, 1, 2)),
        weighted=st.booleans(),
        count=st.integers(1, 3),
    )
    def build(self, slots, cap, group, weighted, count):
        self.clock = ManualClock()
        self.ledger = MemoryLedger(config=CONFIG, clock=self.clock)
        self.number = 0
        self.to_start: list[LoadUnderWay] = []
        self.alive: dict[str, Waiter] = {}
        self.runs_s: dict[str, float] = {}
        self.running: dict[str, float] = {}
        self.plans: list[str] = []
        self.excused: dict[tuple[object, ...], float] = {}
        self.configs = {
            config.name: config
            for config in (
                server("gpu-1", total=16384, slots=slots, max_concurrent=cap, interactive_reserve=1),
                server("gpu-2", total=12288, slots=1),
                server("gpu-3", total=8192, slots=2, context_length=4096),
            )[:count]
        }
        self.weights = {"ann": 2.0, "ben": 1.0} if weighted else {}
        self._regroup(cap=group, outside="gpu-3")
        for name, model in zip(self.configs, ("large", "middle", "small"), strict=False):
            resident = Resident(model=model, footprint_mib=MODELS[model])
            self._see(name, residents=(resident,), ready=True)

    # What people and programs do

    @rule(asked=calls)
    def call(self, asked):
        self._arrive(self._waiter(**asked))

    @rule(asked=calls, count=st.integers(2, 6))
    def crowd(self, asked, count):
        """Several calls of one kind at once."""
        for _ in range(count):
            self._arrive(self._waiter(**asked), plan=False)
        self._cycle()

    @rule(index=indexes)
    def give_up(self, index):
        if self.alive:
            key = sorted(self.alive)[index % len(self.alive)]
            del self.alive[key]
            at_once(self.ledger.give_up(waiter=key, now=self.clock.at))
            self._cycle()

    @rule(index=indexes, ok=st.booleans())
    def release(self, index, ok):
        if self.running:
            ticket = sorted(self.running)[index % len(self.running)]
            self._end_call(ticket, ok=ok)

    @rule(names=st.lists(st.sampled_from(AGENTS), min_size=1, max_size=3, unique=True), asked=calls)
    def select(self, names, asked):
        profiles = [self._profile(name, asked) for name in names]
        planned = at_once(
            agents_select(
                ledger=self.ledger,
                effects=self,
                config=CONFIG,
                ids=self._id,
                agents=profiles,
                thread=self._id(),
                prompt_tokens=asked["prompt_tokens"],
                now=self.clock.at,
            )
        )
        self.plans.extend(each.plan.id for each in planned)
        self._cycle()

    @rule(index=indexes)
    def call_of_a_plan(self, index):
        """A selected agent calls: its place is taken, or lent while it triages."""
        plan = self._some_plan(index)
        if plan is not None:
            waiter = self._waiter(
                agent=plan.agent,
                models=list(MODELS)[:3],
                gap=5,
                priority=Priority.INTERACTIVE,
                limit_s=60.0,
                runs_s=5.0,
                prompt_tokens=None,
                key="",
            )
            self._arrive(replace(waiter, plan=plan.id if plan.ticket else None, thread=plan.thread))

    @rule(index=indexes)
    def drop_plan(self, index):
        plan = self._some_plan(index)
        if plan is not None:
            at_once(plan_drop(ledger=self.ledger, effects=self, config=CONFIG, plan=plan.id, now=self.clock.at))
            self._cycle()

    # What engines do

    @rule(index=indexes)
    def victims_go(self, index):
        load = self._some_load(index)
        if load is not None:
            self._unload_victims(load)
            self._cycle()

    @rule(index=indexes)
    def load_fails(self, index):
        load = self._some_load(index)
        if load is not None:
            at_once(self.ledger.load_failed(server=load.server, model=load.model, problem="no", now=self.clock.at))
            self._cycle()

    @rule(
        change=st.sampled_from(CHANGES),
        index=indexes,
        model=models,
        limits=st.tuples(st.integers(1, 3), st.sampled_from((None, 0, 1, 3)), st.integers(0, 2)),
    )
    def the_world_changes(self, change, index, model, limits):
        """What operators do to servers, and what engines do by themselves."""
        name = sorted(self.configs)[index % len(self.configs)]
        residents = {resident.model: resident for resident in self.ledger.replica.servers[name].seen.residents}
        match change:
            case "resident":
                if residents.pop(model, None) is None:
                    residents[model] = Resident(model=model, footprint_mib=MODELS[model])
                self._see(name, residents=tuple(residents.values()), ready=True)
            case "away" | "back":
                self._see(name, residents=tuple(residents.values()), ready=change == "back")
            case "limits":
                slots, cap, reserve = limits
                changed = {"slots": slots, "max_concurrent": cap, "interactive_reserve": reserve}
                self.configs[name] = replace(self.configs[name], **changed)
                self._configure()
            case "group":
                self._regroup(cap=limits[1] or None, outside=name if model == "tiny" else "")
            case "pause" | "resume":
                state = AdmissionState.PAUSED if change == "pause" else AdmissionState.OPEN
                admission = Admission(state=state, since=self.clock.at)
                at_once(self.ledger.admission_set(server=name, admission=admission))
            case "server comes" if len(self.configs) < 4:
                new = f"gpu-{self._id()}"
                self.configs[new] = server(new, total=16384)
                self._configure()
                self._see(new, residents=(), ready=True)
            case "server goes" if len(self.configs) > 1:
                del self.configs[name]
                self._configure()
        self._excuse()
        self._cycle()

    @rule(seconds=st.sampled_from((0.3, 1.0, 2.0, 5.0)))
    def a_moment_passes(self, seconds):
        self._pass(seconds)

    @rule(seconds=st.sampled_from((8.0, 15.0, 30.0)))
    def time_passes(self, seconds):
        self._pass(seconds)

    @rule(index=indexes)
    def a_caller_dies(self, index):
        """Nobody renews its ticket any more."""
        if self.running:
            del self.running[sorted(self.running)[index % len(self.running)]]

    # What must hold

    @invariant()
    def everything_holds(self):
        self.the_scheduler_breaks_no_rule()
        self.no_key_has_more_than_it_may()
        self.no_waiter_is_lost()
        self.nobody_waits_who_could_be_placed_now()
        self.every_wait_is_explained()
        self.nobody_waits_past_its_limit()
        self.drains_are_few_and_for_somebody()
        self.what_is_kept_is_what_would_be_made_afresh()

    def the_scheduler_breaks_no_rule(self):
        broken = self._broken()
        assert {key: excess for key, excess in broken.items() if excess > self.excused.get(key, -1)} == {}
        left = self._broken(unloading=False)
        self.excused = {key: min(excess, left[key]) for key, excess in self.excused.items() if key in left}

    def no_key_has_more_than_it_may(self):
        held = Counter(ticket.key for ticket in self.ledger.replica.tickets.values() if ticket.key)
        assert all(count <= KEY_LIMITS[key] for key, count in held.items())
        assert dict(held) == self._snapshot().key_tickets

    def no_waiter_is_lost(self):
        waiters, tickets = self.ledger.replica.waiters, self.ledger.replica.tickets
        assert set(waiters) == set(self.alive)
        assert all(waiter.ticket is None or waiter.ticket in tickets for waiter in waiters.values())

    def nobody_waits_who_could_be_placed_now(self):
        snapshot = self._snapshot()
        held = held_places(replica=self.ledger.replica)
        for waiter in self.ledger.replica.waiting():
            if snapshot.room_of_key(waiter) == 0:
                assert waiter.reason == "key-limit"
                continue
            turn = turn_of(waiter=waiter, now=snapshot.now, config=CONFIG, is_weighted=bool(self.weights))
            request = replace(waiter.request(), turn=turn)
            decision = None
            if waiter.plan in held:
                decision = held_decision(snapshot=snapshot, request=request, ticket=held[waiter.plan].ticket)
            if decision is None:
                decision = decide(request=request, snapshot=snapshot)
            assert not isinstance(decision, Use | Join), (waiter, decision)
            # Whether a move is worth more than queueing is an estimate of the whole line; without a queue it is none.
            may_queue = any(option.action == "queue" for option in decision.options)
            assert may_queue or not isinstance(decision, Load | Evict), (waiter, decision)

    def every_wait_is_explained(self):
        for waiter in self.ledger.replica.waiting():
            assert waiter.model in {candidate.model for candidate in waiter.candidates}
            assert (waiter.action, waiter.server is not None) in (("queue", True), ("wait", False))

    def nobody_waits_past_its_limit(self):
        assert all(self.clock.at < waiter.limit_at for waiter in self.ledger.replica.waiting())

    def drains_are_few_and_for_somebody(self):
        replica = self.ledger.replica
        waiting = {waiter.id for waiter in replica.waiting()}
        assert len(replica.drains) <= max(1, len(self.configs) // 2)
        assert {drain.waiter for drain in replica.drains.values()} <= waiting

    def what_is_kept_is_what_would_be_made_afresh(self):
        assert_kept_is_fresh(replica=self.ledger.replica, config=CONFIG, now=self.clock.at)

    # The stage

    async def start_load(self, *, load: LoadUnderWay) -> None:
        self.to_start.append(load)

    async def wake(self) -> None:
        raise AssertionError("One planner on one ledger never loses a race.")


Cluster.TestCase.settings = settings(max_examples=100, stateful_step_count=50, derandomize=True)
TestClusterOfRandomEvents = Cluster.TestCase
