"""The hands of the state machine: what its rules do to the ledger, the clock and the engines."""

from dataclasses import replace

from hypothesis.stateful import RuleBasedStateMachine

from providers.core.specs import ResourceGroup
from scheduler.core.calls import AgentProfile
from scheduler.core.config import SchedulerConfig
from scheduler.core.invariants import check
from scheduler.core.ledger import Outcome, ServerConfig, ServerSeen
from scheduler.core.snapshot import ClusterSnapshot, Resident
from scheduler.core.types import Candidate, LoadUnderWay, TicketState, Waiter
from scheduler.services.cycle import run_cycle
from tests.core.play import at_once

MODELS = {"tiny": 2048, "small": 4096, "middle": 8192, "large": 12288, "huge": 65536}
KEY_LIMITS = {"key-1": 1, "key-2": 2}
AGENTS = ("ann", "ben", "cid", "dan")
CONFIG = SchedulerConfig(drain_after_s=20.0, background_ages_s=30.0)
ROUNDS = 5


def server(name: str, *, total: int, **more: object) -> ServerConfig:
    return ServerConfig(name=name, kind="ollama", endpoint=f"http://{name}", total_mib=total, reserve_mib=0, **more)


class Hands(RuleBasedStateMachine):
    """A cluster to act on. What is here decides nothing about what must hold."""

    def _cycle(self) -> None:
        """Plan until nothing changes any more, as events and ticks do, and let the callers ask."""
        for _ in range(ROUNDS):
            version = self.ledger.replica.version
            at_once(run_cycle(ledger=self.ledger, effects=self, config=CONFIG, now=self.clock.at))
            self._ask()
            if self.ledger.replica.version == version:
                return
        raise AssertionError("The cycle does not come to rest.")

    def _ask(self) -> None:
        for key in sorted(self.alive):
            settled = at_once(self.ledger.pick_up(waiter=key, now=self.clock.at))
            if settled is not None:
                waiter = self.alive.pop(key)
                assert (settled.ticket is None) != (settled.reason is None)
                if settled.ticket is not None:
                    assert settled.ticket.model in {candidate.model for candidate in waiter.candidates}
                    assert settled.ticket.state is TicketState.ACTIVE
                    self.running[settled.ticket.id] = self.clock.at + self.runs_s[key]

    def _arrive(self, waiter: Waiter, *, plan: bool = True) -> None:
        at_once(self.ledger.enqueue(waiter=waiter))
        self.alive[waiter.id] = waiter
        if plan:
            self._cycle()

    def _waiter(self, *, agent, models, gap, priority, limit_s, runs_s, prompt_tokens, key) -> Waiter:
        id = self._id()
        self.runs_s[id] = runs_s
        return Waiter(
            id=id,
            agent=agent,
            candidates=self._candidates(models, gap),
            arrived_at=self.clock.at,
            limit_at=self.clock.at + limit_s,
            prompt_tokens=prompt_tokens,
            priority=priority,
            crew=agent,
            thread=id,
            key=key,
            key_limit=KEY_LIMITS.get(key),
        )

    def _candidates(self, names, gap) -> tuple[Candidate, ...]:
        return tuple(Candidate(model=model, score=70 - gap * place) for place, model in enumerate(names))

    def _profile(self, name, asked) -> AgentProfile:
        candidates = self._candidates(asked["models"], asked["gap"])
        return AgentProfile(
            name=name, crew=name, candidates={"mulling": candidates, "triage": candidates}, tolerance=10
        )

    def _id(self) -> str:
        self.number += 1
        return f"n{self.number:04}"

    def _configure(self) -> None:
        at_once(self.ledger.configure(servers=tuple(self.configs.values()), footprints=MODELS, weights=self.weights))

    def _regroup(self, *, cap, outside) -> None:
        """Put all servers but one into a group of so many calls; without a cap out of it."""
        group = None if cap is None else ResourceGroup(name="bus", max_concurrent=cap)
        for name, config in self.configs.items():
            self.configs[name] = replace(config, resource_group=None if name == outside else group)
        self._configure()

    def _see(self, name, *, residents, ready) -> None:
        probe = at_once(self.ledger.probe_begin(server=name, lease_s=1.0))
        phase = "Ready" if ready else "Failed"
        seen = ServerSeen(phase=phase, ready=ready, residents=residents, probed_at=self.clock.at)
        at_once(self.ledger.probe_end(server=name, probe=probe, seen=seen))

    def _unload_victims(self, load: LoadUnderWay) -> None:
        for victim in load.evicts:
            assert not self._snapshot().servers[load.server].tickets_of.get(victim), "a model in use is unloaded"
            at_once(self.ledger.victim_gone(server=load.server, model=load.model, victim=victim))

    def _excuse(self) -> None:
        """Let stand what somebody else has just broken."""
        self.excused = self._broken(unloading=False)

    def _broken(self, *, unloading: bool = True) -> dict[tuple[object, ...], float]:
        """Measure what is broken; without counting on unloads, which may fail, where somebody else is to blame."""
        snapshot = self._snapshot()
        if not unloading:
            for each in snapshot.servers.values():
                loads = tuple(replace(load, evicts=()) for load in each.loads)
                snapshot = snapshot.with_server(replace(each, loads=loads))
        found = check(snapshot)
        return {(each.server, each.rule, each.model): each.held - each.limit for each in found}

    def _pass(self, seconds) -> None:
        """Let loads and calls end when they are due; everybody keeps asking and renewing; a tick a second."""
        end = self.clock.at + seconds
        while self.clock.at < end:
            self.clock.at = min(self.clock.at + 1.0, end)
            for load in tuple(self.ledger.replica.loads.values()):
                if self.clock.at >= load.started_at + load.footprint_mib / 1024:
                    self._end_load(load)
            for ticket, due in tuple(self.running.items()):
                if ticket not in self.ledger.replica.tickets:
                    del self.running[ticket]
                elif self.clock.at >= due:
                    self._end_call(ticket, ok=True)
                else:
                    at_once(self.ledger.renew(ticket=ticket))
            at_once(self.ledger.reap(now=self.clock.at))
            self._cycle()
            self.everything_holds()

    def _end_call(self, ticket, *, ok) -> None:
        del self.running[ticket]
        at_once(self.ledger.release(ticket=ticket, outcome=Outcome(ok=ok), now=self.clock.at))
        self._cycle()

    def _end_load(self, load: LoadUnderWay) -> None:
        resident = Resident(model=load.model, footprint_mib=load.footprint_mib)
        self._unload_victims(load)
        at_once(
            self.ledger.load_done(
                server=load.server,
                model=load.model,
                resident=resident,
                took_s=load.footprint_mib / 1024,
                now=self.clock.at,
            )
        )
        self._cycle()

    def _some_load(self, index) -> LoadUnderWay | None:
        loads = self.ledger.replica.loads
        return loads[sorted(loads)[index % len(loads)]] if loads else None

    def _some_plan(self, index):
        plans = self.ledger.replica.plans
        return plans[sorted(plans)[index % len(plans)]] if plans else None

    def _snapshot(self) -> ClusterSnapshot:
        return self.ledger.replica.snapshot(now=self.clock.at)
