"""Everybody who waits, kept in order and in groups: to take one in or out costs no look at the others.

House rules: `put` and `remove` keep everything up to date; `settle` brings the line to a moment first, because waiters
age and what is known of contexts changes; what was kept is always what would be made afresh.
"""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice, takewhile
from operator import itemgetter
from typing import TypeVar

from scheduler.core.config import SchedulerConfig
from scheduler.core.line import Copy, Group, Told, copy_of, prompt_bucket, told_of, turn_of
from scheduler.core.snapshot import ClusterSnapshot
from scheduler.core.types import Candidate, Drain, Priority, Turn, Waiter

K = TypeVar("K")
Key = tuple[str, int]
"""A client key and how many tickets it may hold."""
Alike = tuple[int, tuple[Candidate, ...], float, Priority, int, Key | None]
"""What makes waiters decided alike: rank, candidates, tolerance, class, prompt bucket, the key where it has a limit."""


@dataclass(slots=True, kw_only=True)
class _Cohort:
    """Waiters that are decided alike as far as they themselves go, in their order."""

    turns: list[Turn] = field(default_factory=list)
    waiters: list[Waiter] = field(default_factory=list)
    told: dict[Told, dict[str, None]] = field(default_factory=dict)


class WaitingLine:
    """The waiters of a replica or of a plan: those who wait in groups, all of them by their limits."""

    def __init__(self, *, config: SchedulerConfig) -> None:
        self._config = config
        self._now = 0.0
        self._contexts: tuple[int, ...] = ()
        self._is_weighted = False
        self._waiters: dict[str, Waiter] = {}
        self._turns: dict[str, tuple[Turn, Alike]] = {}
        self._cohorts: dict[Alike, _Cohort] = {}
        self._by_agent: dict[str, dict[str, None]] = {}
        self._limits: list[tuple[float, str]] = []
        self._young: list[tuple[float, str]] = []
        self._aged: list[tuple[float, str]] = []
        self._queues: dict[Copy, list[Turn]] = {}
        self._shown: dict[Copy, tuple[Turn, ...]] = {}
        self._moved: set[Copy] = set()

    def __len__(self) -> int:
        return len(self._waiters)

    def is_waiting(self, waiter: str) -> bool:
        """Say whether this id is of somebody who still wants a place."""
        return waiter in self._turns

    def waiter(self, waiter: str) -> Waiter:
        """Give one who stands here."""
        return self._waiters[waiter]

    def turn(self, waiter: str) -> Turn:
        """Give the turn of one who waits."""
        return self._turns[waiter][0]

    def put(self, waiter: Waiter) -> None:
        """Take in a waiter, or what became of one."""
        self.remove(waiter.id)
        self._waiters[waiter.id] = waiter
        insort(self._limits, (waiter.limit_at, waiter.id))
        if waiter.is_waiting:
            self._stand(waiter)

    def remove(self, waiter: str) -> None:
        """Forget a waiter; nothing to do where there is none."""
        known = self._waiters.pop(waiter, None)
        if known is not None:
            del self._limits[bisect_left(self._limits, (known.limit_at, waiter))]
            if known.is_waiting:
                self._step_out(known)

    def clear(self) -> None:
        """Forget everybody."""
        self.__init__(config=self._config)  # type: ignore[misc]

    @contextmanager
    def joined_by(self, newcomers: Iterable[Waiter]) -> Iterator["WaitingLine"]:
        """Let newcomers stand in line for a while."""
        joined = [waiter for waiter in newcomers if waiter.id not in self._waiters]
        for waiter in joined:
            self.put(waiter)
        try:
            yield self
        finally:
            for waiter in joined:
                self.remove(waiter.id)

    def settle(self, *, now: float, contexts: tuple[int, ...], is_weighted: bool) -> None:
        """Bring the line to a moment: who has aged moves up; where anything else changed everybody takes a new turn."""
        is_other = (contexts, is_weighted) != (self._contexts, self._is_weighted)
        self._now, self._contexts, self._is_weighted = now, contexts, is_weighted
        if is_other:
            moving = list(self._turns)
        else:
            age_s = self._config.background_ages_s
            older = takewhile(lambda entry: now - entry[0] > age_s, self._young)
            # One process asks for slightly earlier moments too: what it read from the clock before it waited.
            younger = takewhile(lambda entry: now - entry[0] <= age_s, reversed(self._aged))
            moving = [key for _, key in (*older, *younger)]
        for key in moving:
            self._step_out(self._waiters[key])
        for key in moving:
            self._stand(self._waiters[key])

    def queues(self) -> Mapping[Copy, tuple[Turn, ...]]:
        """Show the turns of those who were told to queue on a copy, first turn first; never changed afterwards."""
        if self._moved:
            shown = {place: turns for place, turns in self._shown.items() if place not in self._moved}
            shown |= {place: tuple(self._queues[place]) for place in self._moved if place in self._queues}
            self._shown, self._moved = shown, set()
        return self._shown

    def queued_on(self, copy: Copy) -> int:
        """Count those who were told to queue on a copy."""
        return len(self._queues.get(copy, ()))

    def of_agent(self, agent: str) -> list[Waiter]:
        """List an agent's calls that wait."""
        return [self._waiters[key] for key in self._by_agent.get(agent, ())]

    def groups(self, *, holders: Collection[str], drains: Collection[Drain]) -> list[Group]:
        """Sort those who wait into groups, the group whose head comes first leading.

        What is one agent's alone sets its waiters apart: a place held for it (`holders`), a server that is emptied for
        it. So does whether a waiter came before a drain or after.
        """
        agents = {*holders, *(drain.agent for drain in drains)}
        apart = {key for agent in agents for key in self._by_agent.get(agent, ())}
        touched = {self._turns[key][1] for key in apart}
        found: list[Group] = []
        for alike, cohort in self._cohorts.items():
            whole = Group(turns=cohort.turns, waiters=cohort.waiters, told=cohort.told)
            if alike not in touched and all(_is_on_one_side(cohort, drain) for drain in drains):
                found.append(whole)
            else:
                found.extend(_parts(whole, holders=holders, drains=drains))
        return sorted(found, key=lambda group: group.order)

    def newcomers(self, group: Group, *, besides: Collection[str]) -> list[Waiter]:
        """List the members of a group that were told nothing yet, `besides` left out."""
        return list(self._members(group, told=lambda told: not told[0], besides=besides))

    def told_otherwise(
        self, group: Group, *, stands: Callable[[Told], bool], besides: Collection[str], at_most: int
    ) -> list[Waiter]:
        """List members of a group that were told something that does not stand any more, `besides` left out."""
        found = self._members(group, told=lambda told: told[0] != "" and not stands(told), besides=besides)
        return list(islice(found, at_most))

    def past_limit(self, *, now: float) -> list[Waiter]:
        """List everybody whose limit has come, those granted included."""
        end = bisect_right(self._limits, now, key=itemgetter(0))
        return [self._waiters[key] for _, key in self._limits[:end]]

    def _members(self, group: Group, *, told: Callable[[Told], bool], besides: Collection[str]) -> Iterator[Waiter]:
        if group.told is None:
            return (waiter for waiter in group.members if told(told_of(waiter)))
        kinds = [ids for kind, ids in group.told.items() if told(kind)]
        return (self._waiters[key] for ids in kinds for key in ids if key not in besides)

    def _stand(self, waiter: Waiter) -> None:
        turn = turn_of(waiter=waiter, now=self._now, config=self._config, is_weighted=self._is_weighted)
        bucket = prompt_bucket(waiter.prompt_tokens, contexts=self._contexts)
        key = None if waiter.key_limit is None else (waiter.key, waiter.key_limit)
        alike = (turn[0], waiter.candidates, waiter.tolerance, waiter.priority, bucket, key)
        cohort = self._cohorts.get(alike)
        if cohort is None:
            cohort = self._cohorts[alike] = _Cohort()
        place = bisect_left(cohort.turns, turn)
        cohort.turns.insert(place, turn)
        cohort.waiters.insert(place, waiter)
        cohort.told.setdefault(told_of(waiter), {})[waiter.id] = None
        self._turns[waiter.id] = (turn, alike)
        self._by_agent.setdefault(waiter.agent, {})[waiter.id] = None
        if waiter.priority is Priority.BACKGROUND:
            insort(self._young if turn[0] else self._aged, (waiter.arrived_at, waiter.id))
        copy = copy_of(waiter)
        if copy is not None:
            insort(self._queues.setdefault(copy, []), turn)
            self._moved.add(copy)

    def _step_out(self, waiter: Waiter) -> None:
        turn, alike = self._turns.pop(waiter.id)
        cohort = self._cohorts[alike]
        place = bisect_left(cohort.turns, turn)
        del cohort.turns[place], cohort.waiters[place]
        _drop(cohort.told, told_of(waiter), waiter.id)
        if not cohort.turns:
            del self._cohorts[alike]
        _drop(self._by_agent, waiter.agent, waiter.id)
        if waiter.priority is Priority.BACKGROUND:
            ages = self._young if turn[0] else self._aged
            del ages[bisect_left(ages, (waiter.arrived_at, waiter.id))]
        copy = copy_of(waiter)
        if copy is not None:
            queue = self._queues[copy]
            del queue[bisect_left(queue, turn)]
            self._moved.add(copy)
            if not queue:
                del self._queues[copy]


def line_of(
    *, waiters: Iterable[Waiter], snapshot: ClusterSnapshot, config: SchedulerConfig, is_weighted: bool
) -> WaitingLine:
    """Let these waiters stand in line at the moment of a snapshot."""
    line = WaitingLine(config=config)
    line.settle(now=snapshot.now, contexts=snapshot.index.known_contexts, is_weighted=is_weighted)
    for waiter in waiters:
        line.put(waiter)
    return line


def _drop(sets: dict[K, dict[str, None]], key: K, member: str) -> None:
    """Take a member out of the set of a key; an empty set goes too."""
    members = sets[key]
    del members[member]
    if not members:
        del sets[key]


def _is_on_one_side(cohort: _Cohort, drain: Drain) -> bool:
    """Say whether all of a cohort came before a drain, or all after, as far as that is seen without asking each."""
    first, last = cohort.turns[0], cohort.turns[-1]
    return len(cohort.turns) == 1 or (first[1] == last[1] and (first[2] < drain.since) == (last[2] < drain.since))


def _parts(whole: Group, *, holders: Collection[str], drains: Collection[Drain]) -> Iterable[Group]:
    """Divide a group by what is one agent's alone, and by the beginnings of drains."""
    drained_for = {drain.agent for drain in drains}
    parts: dict[object, tuple[list[Turn], list[Waiter]]] = {}
    for turn, waiter in zip(whole.turns, whole.waiters, strict=True):
        key = (
            (waiter.agent, waiter.plan) if waiter.agent in holders else None,
            waiter.agent if waiter.agent in drained_for else None,
            tuple(waiter.arrived_at < drain.since for drain in drains),
        )
        turns, waiters = parts.setdefault(key, ([], []))
        turns.append(turn)
        waiters.append(waiter)
    return (Group(turns=turns, waiters=waiters) for turns, waiters in parts.values())
