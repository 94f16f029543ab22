"""A model in a server's memory, as snapshots and the ledger have it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Resident:
    """A model in a server's memory. `aliases` are other names of the same weights there: one copy, one set of slots.

    `accelerator_percent` is how much of a spilling copy runs from the accelerator's memory, where the server said so.
    """

    model: str
    footprint_mib: int | None
    context_length: int | None = None
    last_used: float | None = None
    spilling: bool = False
    queued: int = 0
    aliases: tuple[str, ...] = ()
    accelerator_percent: int | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """List every name of the copy."""
        return (self.model, *self.aliases)
