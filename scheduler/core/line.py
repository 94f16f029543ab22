"""The order of the line: who is served before whom, and what is decided together (scheduling rules, section 4)."""

from bisect import bisect_left
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from scheduler.core.config import SchedulerConfig
from scheduler.core.types import Priority, Turn, Waiter

AGE_UNIT_S = 30.0
LOAD_OVERHEAD_S = 2.0

Copy = tuple[str, str]
"""A server and a model there."""
Told = tuple[str, str, str | None, str]
"""What a waiter was told last: the model it waits for, how, on which server it queues, and why it waits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Waiters that would all be decided alike, in their order. Only the head is decided.

    `turns` and `waiters` belong together, and those before `first` are served. `told` sorts the ids by what they were
    told; None where nobody keeps that.
    """

    turns: Sequence[Turn]
    waiters: Sequence[Waiter]
    first: int = 0
    told: Mapping[Told, Collection[str]] | None = field(default=None, compare=False, repr=False)

    def __len__(self) -> int:
        return len(self.waiters) - self.first

    @property
    def head(self) -> Waiter:
        """Give the member whose turn is first."""
        return self.waiters[self.first]

    @property
    def order(self) -> Turn:
        """Give the turn of the head."""
        return self.turns[self.first]

    @property
    def members(self) -> tuple[Waiter, ...]:
        """List who is left, the head first."""
        return tuple(self.waiters[self.first :])

    def member(self, place: int) -> tuple[Turn, Waiter]:
        """Give the turn and the waiter at a place, the head's being 0."""
        return self.turns[self.first + place], self.waiters[self.first + place]

    def since(self, place: int) -> "Group":
        """Make the group of those from a place on."""
        return Group(turns=self.turns, waiters=self.waiters, first=self.first + place, told=self.told)

    def first_few(self, count: int) -> "Group":
        """Make the group of its first members."""
        end = self.first + count
        return Group(turns=self.turns[self.first : end], waiters=self.waiters[self.first : end])

    def past(self, count: int) -> "Group":
        """Make the group without its first members."""
        at = self.first + count
        return Group(turns=self.turns[at:], waiters=self.waiters[at:])

    def without(self, place: int) -> "Group":
        """Make the group without the member at a place."""
        if place == 0:
            return self.since(1)
        at = self.first + place
        turns = [*self.turns[self.first : at], *self.turns[at + 1 :]]
        waiters = [*self.waiters[self.first : at], *self.waiters[at + 1 :]]
        return Group(turns=turns, waiters=waiters, told=self.told)

    def urgency(self, *, now: float, load_s: float) -> float:
        """Weigh a load for this group: many short waits ended by one load beat strict turns."""
        return len(self) * (1 + (now - self._oldest_at()) / AGE_UNIT_S) / (load_s + LOAD_OVERHEAD_S)

    def _oldest_at(self) -> float:
        if self.turns[self.first][1] == self.turns[-1][1]:
            # One fair share for all: then they are in the order of their arrival.
            return self.head.arrived_at
        return min(turn[2] for turn in self.turns[self.first :])


@dataclass(frozen=True, slots=True, kw_only=True)
class Queued:
    """Those who queue on one copy, group by group."""

    groups: tuple[Group, ...]

    def __len__(self) -> int:
        return sum(map(len, self.groups))

    def before(self, turn: Turn) -> int:
        """Count whose turn comes before another."""
        return sum(bisect_left(group.turns, turn, group.first) - group.first for group in self.groups)


def copy_of(waiter: Waiter) -> Copy | None:
    """Name the copy that a waiter was told to queue on; None for one that was not, or that waits no longer."""
    if not waiter.is_waiting or waiter.action != "queue" or waiter.server is None:
        return None
    return waiter.server, waiter.model


def told_of(waiter: Waiter) -> Told:
    """Give what a waiter was told last; no model where it was told nothing yet."""
    return waiter.model, waiter.action, waiter.server, waiter.reason


def class_rank(*, waiter: Waiter, now: float, config: SchedulerConfig) -> int:
    """Give 0 to interactive waiters and to background ones that have waited too long, 1 to the rest."""
    has_aged = now - waiter.arrived_at > config.background_ages_s
    return 0 if waiter.priority == Priority.INTERACTIVE or has_aged else 1


def turn_of(*, waiter: Waiter, now: float, config: SchedulerConfig, is_weighted: bool) -> Turn:
    """Give the key that sorts the line: class, fair share where crews have weights, arrival, id.

    Each class counts its own turns, so the share of a background waiter says nothing among interactive ones: one that
    has waited too long goes before them, or it would wait until they have had as many turns.
    """
    rank = class_rank(waiter=waiter, now=now, config=config)
    has_share = is_weighted and (rank or waiter.priority == Priority.INTERACTIVE)
    return (rank, waiter.start_tag if has_share else 0.0, waiter.arrived_at, waiter.id)


def prompt_bucket(prompt_tokens: int | None, *, contexts: Sequence[int]) -> int:
    """Count the known context lengths that are too short for a prompt: equal counts are decided alike."""
    return 0 if prompt_tokens is None else bisect_left(contexts, prompt_tokens)
