"""Effects that only remember what they were asked, in order."""

from dataclasses import dataclass, field

from scheduler.core.types import LoadUnderWay


@dataclass
class FakeEffects:
    """Records loads, wakes and wishes for history."""

    loads: list[LoadUnderWay] = field(default_factory=list)
    wakes: int = 0
    projections: int = 0

    async def start_load(self, *, load: LoadUnderWay) -> None:
        """Remember the load."""
        self.loads.append(load)

    async def wake(self) -> None:
        """Count the wake."""
        self.wakes += 1

    async def project(self) -> None:
        """Count the wish."""
        self.projections += 1
