"""What a server has in flight, by class, and how many more calls its cap lets in (admission.md, A-41)."""

from dataclasses import dataclass

from scheduler.core.server import Server
from scheduler.core.types import Priority, TicketState


@dataclass(frozen=True, slots=True, kw_only=True)
class InFlight:
    """The places held on a server: by class, and how many of them all load or are held for a call to come.

    `left` of them are those of calls whose callers have left, while their engine works on. `free` are the places that
    its cap leaves; `kept` those of them that background calls may not take; both None without a cap.
    """

    interactive: int
    background: int
    loading: int
    held: int
    left: int
    cap: int | None
    free: int | None
    kept: int | None

    @property
    def total(self) -> int:
        """Count all places held."""
        return self.interactive + self.background


def in_flight_of(server: Server) -> InFlight:
    """Count the places held on a server."""
    states = [ticket.state for ticket in server.tickets]
    background = sum(ticket.priority == Priority.BACKGROUND for ticket in server.tickets)
    free = kept = None
    if server.max_concurrent is not None:
        free = max(server.max_concurrent - len(states), 0)
        for_background = server.max_concurrent - server.interactive_reserve - background
        kept = free - min(free, max(for_background, 0))
    return InFlight(
        interactive=len(states) - background,
        background=background,
        loading=states.count(TicketState.LOADING),
        held=states.count(TicketState.PLANNED),
        left=sum(ticket.left_at is not None for ticket in server.tickets),
        cap=server.max_concurrent,
        free=free,
        kept=kept,
    )
