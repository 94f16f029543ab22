"""How full an endpoint is: its places as cells, by the class of the call that has each."""

from dataclasses import dataclass

from scheduler.core.admission.in_flight import InFlight, in_flight_of
from scheduler.core.messages.endpoints import calls_of_cap, reserve_kept, works_on_for
from scheduler.core.snapshot import Server

MOST_CELLS = 24
"""A larger cap is drawn as one bar."""
WHOLE = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One place, or a stretch of them as `share` hundredths of a bar."""

    kind: str
    share: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Gauge:
    """What is in flight. No cells without a cap.

    `reserve` says what is kept for interactive calls, `left` what works on for callers that have left.
    """

    says: str
    reserve: str
    left: str
    cells: tuple[Cell, ...]
    flight: InFlight


def gauge_of(server: Server) -> Gauge:
    """Draw the places of an endpoint."""
    flight = in_flight_of(server)
    return Gauge(
        says=calls_of_cap(total=flight.total, cap=flight.cap),
        reserve=reserve_kept(reserve=server.interactive_reserve, cap=flight.cap),
        left=works_on_for(count=flight.left),
        cells=() if flight.cap is None else _cells(flight, flight.free or 0, flight.kept or 0),
        flight=flight,
    )


def _cells(flight: InFlight, free: int, kept: int) -> tuple[Cell, ...]:
    counts = {
        "interactive": flight.interactive,
        "background": flight.background,
        "open": free - kept,
        "kept": kept,
    }
    whole = sum(counts.values())
    if whole <= MOST_CELLS:
        return tuple(Cell(kind=kind) for kind, count in counts.items() for _ in range(count))
    return tuple(Cell(kind=kind, share=max(1, WHOLE * count // whole)) for kind, count in counts.items() if count)
