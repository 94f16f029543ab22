"""How much a model is needed, seen by one request (its own entries never count)."""

from typing import NamedTuple

from scheduler.core.snapshot import ClusterSnapshot, Resident
from scheduler.core.types import CallRequest, Demand

USE_RATE = 0.2
"""Two minutes at a half-life of ten: the share of a decayed count expected soon (scheduling rules, section 3)."""

NeedKey = tuple[tuple[str, ...], float | None]
"""The names of a copy, and its own last use."""


class Need(NamedTuple):  # not a dataclass: needs are compared by the thousand
    """How much a resident is needed; the smaller, the sooner it may go."""

    waiting: int
    intents: int
    use: float
    last_used: float

    @property
    def is_wanted(self) -> bool:
        """Say whether agents wait for the model or were just selected to use it."""
        return self.waiting > 0 or self.intents > 0

    @property
    def again_soon(self) -> float:
        """Estimate how likely the model is needed again soon, from 0 to 1."""
        return 1.0 if self.is_wanted else float(1 - 0.5 ** (USE_RATE * self.use))


def need_of(*, snapshot: ClusterSnapshot, request: CallRequest, resident: Resident) -> Need:
    """Work out how much a resident is needed by others than the request. A time never known counts as long ago."""
    return need_by(snapshot=snapshot, request=request, key=(resident.names, resident.last_used))


def need_by(*, snapshot: ClusterSnapshot, request: CallRequest, key: NeedKey) -> Need:
    """Work out the need of a copy by its names and its last use."""
    known: tuple[Need, tuple[Demand, ...]] | None = snapshot.needs.get(key)
    if known is None:
        names, last_used = key
        demands = tuple(map(snapshot.demand_of, names))
        known = snapshot.needs[key] = (_need(demands=demands, last_used=last_used), demands)
    need = known[0]
    if need.waiting <= 0 and need.intents <= 0:
        return need
    demands = known[1]
    return need._replace(
        waiting=sum(len(demand.waiting) - (request.waiter in demand.waiting) for demand in demands),
        intents=sum(len(demand.intents) - (request.intent in demand.intents) for demand in demands),
    )


def _need(*, demands: tuple[Demand, ...], last_used: float | None) -> Need:
    """Work out the need of a copy, everybody counted."""
    if len(demands) == 1:
        (demand,) = demands
        used_at = last_used if demand.last_used is None else demand.last_used
        return Need(len(demand.waiting), len(demand.intents), demand.use + demand.predicted, used_at or 0.0)
    times = [demand.last_used for demand in demands if demand.last_used is not None]
    used_at = max(times) if times else last_used
    return Need(
        waiting=sum(len(demand.waiting) for demand in demands),
        intents=sum(len(demand.intents) for demand in demands),
        use=sum(demand.use + demand.predicted for demand in demands),
        last_used=0.0 if used_at is None else used_at,
    )
