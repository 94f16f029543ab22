"""The line of waiters: who is served before whom, and which of them are one group (scheduling rules, section 4)."""

from bisect import bisect_left
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from scheduler.core.config import SchedulerConfig
from scheduler.core.snapshot import ClusterSnapshot
from scheduler.core.types import Priority, Turn, Waiter

AGE_UNIT_S = 30.0
LOAD_OVERHEAD_S = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Waiters that would all be decided alike, in their order. Only the head is decided."""

    members: tuple[Waiter, ...]
    order: Turn

    @property
    def head(self) -> Waiter:
        """Give the member whose turn is first."""
        return self.members[0]

    def urgency(self, *, now: float, load_s: float) -> float:
        """Weigh a load for this group: many short waits ended by one load beat strict turns."""
        oldest = min(waiter.arrived_at for waiter in self.members)
        return len(self.members) * (1 + (now - oldest) / AGE_UNIT_S) / (load_s + LOAD_OVERHEAD_S)


def class_rank(*, waiter: Waiter, now: float, config: SchedulerConfig) -> int:
    """Give 0 to interactive waiters and to background ones that have waited too long, 1 to the rest."""
    has_aged = now - waiter.arrived_at > config.background_ages_s
    return 0 if waiter.priority == Priority.INTERACTIVE or has_aged else 1


def turn_of(*, waiter: Waiter, now: float, config: SchedulerConfig, is_weighted: bool) -> Turn:
    """Give the key that sorts the line: class, fair share where crews have weights, arrival, id."""
    rank = class_rank(waiter=waiter, now=now, config=config)
    return (rank, waiter.start_tag if is_weighted else 0.0, waiter.arrived_at, waiter.id)


def groups(
    *,
    waiters: Iterable[Waiter],
    holders: Collection[str],
    snapshot: ClusterSnapshot,
    config: SchedulerConfig,
    is_weighted: bool,
) -> list[Group]:
    """Sort waiters into groups, the group whose head comes first leading.

    What is one waiter's alone sets it apart: a place held for its agent (`holders`), a server that is emptied for it.
    """
    contexts = known_contexts(snapshot)
    drains = tuple(snapshot.index.drains.values())
    lines: dict[object, list[tuple[Turn, Waiter]]] = {}
    for waiter in waiters:
        turn = turn_of(waiter=waiter, now=snapshot.now, config=config, is_weighted=is_weighted)
        key = (
            turn[0],
            waiter.candidates,
            waiter.tolerance,
            waiter.priority,
            prompt_bucket(waiter.prompt_tokens, contexts=contexts),
            (waiter.agent, waiter.plan) if waiter.agent in holders else None,
            waiter.id if waiter.id in snapshot.drained_for else None,
            tuple(waiter.arrived_at < drain.since for drain in drains),
        )
        lines.setdefault(key, []).append((turn, waiter))
    found = []
    for line in lines.values():
        line.sort(key=lambda entry: entry[0])
        found.append(Group(members=tuple(waiter for _, waiter in line), order=line[0][0]))
    return sorted(found, key=lambda group: group.order)


def known_contexts(snapshot: ClusterSnapshot) -> tuple[int, ...]:
    """List every context length that is known anywhere, shortest first."""
    return snapshot.index.known_contexts


def prompt_bucket(prompt_tokens: int | None, *, contexts: Sequence[int]) -> int:
    """Count the known context lengths that are too short for a prompt: equal counts are decided alike."""
    return 0 if prompt_tokens is None else bisect_left(contexts, prompt_tokens)
