"""How much a model is needed, seen by one request (its own entries never count)."""

from typing import NamedTuple

from scheduler.core.snapshot import ClusterSnapshot, Resident
from scheduler.core.types import CallRequest, Demand

USE_RATE = 0.2
"""Two minutes at a half-life of ten: the share of a decayed count expected soon (scheduling rules, section 3)."""


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
    key = (resident.names, resident.last_used)
    known: tuple[Need, tuple[Demand, ...]] | None = snapshot.needs.get(key)
    if known is None:
        demands = tuple(snapshot.demand_of(name) for name in resident.names)
        known = snapshot.needs[key] = (_need(demands=demands, resident=resident), demands)
    need, demands = known
    if not need.is_wanted:
        return need
    return need._replace(
        waiting=sum(len(demand.waiting) - (request.waiter in demand.waiting) for demand in demands),
        intents=sum(len(demand.intents) - (request.intent in demand.intents) for demand in demands),
    )


def _need(*, demands: tuple[Demand, ...], resident: Resident) -> Need:
    """Work out the need of a copy, everybody counted."""
    times = [demand.last_used for demand in demands if demand.last_used is not None]
    last_used = max(times) if times else resident.last_used
    return Need(
        waiting=sum(len(demand.waiting) for demand in demands),
        intents=sum(len(demand.intents) for demand in demands),
        use=sum(demand.use + demand.predicted for demand in demands),
        last_used=0.0 if last_used is None else last_used,
    )
