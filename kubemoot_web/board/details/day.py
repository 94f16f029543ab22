"""A server's day as a picture: what held its memory, how many calls ran, when something was loaded or unloaded.

House rules: time goes in columns of whole steps that begin at round times, so that two pictures of the same past are
equal; whatever the picture shows, the table beneath says in numbers.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import ceil

from kubemoot_web.board.marks import Mark, Palette
from kubemoot_web.board.times import Moment, moment
from scheduler.core import messages
from scheduler.core.messages.history import day_summary, quiet_day
from scheduler.core.server_history import Holding, ServerEventKind, ServerEventRecord, holdings

COLUMNS = 300
SLICES = 12
"""In how many rows the table tells what the picture shows."""
PER_PIN = 5
"""Columns whose marks become one."""
HEIGHT = 100
SPANS = {"5m": 1, "20m": 4, "1h": 12, "4h": 48, "24h": 288}
"""How many seconds a column stands for."""
SPAN_WORDS = {"5m": "5 min", "20m": "20 min", "1h": "1 h", "4h": "4 h", "24h": "24 h"}
TICKS = {"5m": 60, "20m": 300, "1h": 900, "4h": 3600, "24h": 21600}
PINS = {
    ServerEventKind.LOAD_DONE: "load",
    ServerEventKind.VICTIM_GONE: "unload",
    ServerEventKind.LOAD_FAILED: "failure",
}
PIN_WORDS = {"load": ("load", "loads"), "unload": ("unload", "unloads"), "failure": ("failed load", "failed loads")}


@dataclass(frozen=True, slots=True, kw_only=True)
class Flights:
    """How many calls ran at the beginning, and by how many that changed when."""

    begun: int
    changes: Sequence[tuple[float, int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Band:
    """One model's share of the memory over time, as the path of its area."""

    mark: Mark
    kind: str
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Pin:
    """A mark on the time line: loads, unloads or failures at about the same time."""

    kind: str
    x: str
    says: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    """A time on the axis."""

    x: str
    at: Moment | None
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """A row of the table."""

    at: Moment | None
    held: str
    calls: int
    loads: int
    unloads: int
    failures: int
    is_away: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Day:
    """The picture. `usable` is how high the memory that models may use reaches; paths are in hundredths of a lane."""

    span: str
    spans: tuple[tuple[str, str], ...]
    summary: str
    quiet: str
    total: str
    usable: str
    most_calls: int
    columns: int
    bands: tuple[Band, ...]
    key: tuple[Mark, ...]
    calls: str
    away: str
    pins: tuple[Pin, ...]
    ticks: tuple[Tick, ...]
    slices: tuple[Slice, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Which time the picture shows."""

    span: str
    begin: float
    now: float

    @property
    def step(self) -> int:
        """Give the seconds of a column."""
        return SPANS[self.span]

    @property
    def seen(self) -> int:
        """Count the columns that lie in the past or hold this moment."""
        return min(COLUMNS, int((self.now - self.begin) // self.step) + 1)

    def column(self, at: float) -> int:
        """Find the column of a time; a time before the window is in its first."""
        return max(0, int((at - self.begin) // self.step))


def window_of(*, span: str, first_at: float | None, now: float) -> Window:
    """Choose the time to show: what is asked for, else the least that holds all that is known of the last day."""
    if span not in SPANS:
        age_s = 0.0 if first_at is None else now - first_at
        span = next((name for name, step in SPANS.items() if age_s <= (COLUMNS - 1) * step), "24h")
    step = SPANS[span]
    return Window(span=span, begin=ceil(now / step) * step - COLUMNS * step, now=now)


def day_of(
    *,
    window: Window,
    events: Sequence[ServerEventRecord],
    flights: Flights,
    total_mib: int | None,
    usable_mib: int | None,
    palette: Palette,
) -> Day:
    """Draw a server's day from its events, oldest first, and from how many calls ran."""
    states = _states(window, holdings(events=events))
    levels = _levels(window, flights)
    told = [event for event in events if event.at >= window.begin]
    counts = {kind: sum(PINS.get(event.kind) == kind for event in told) for kind in PINS.values()}
    most_mib = max((state.mib for state in states if state), default=0)
    top_mib = max(total_mib or 0, most_mib, 1)
    most_calls = max(levels, default=0)
    away = [state is not None and not state.is_ready for state in states]
    is_quiet = not any(states) and not most_calls
    bands = tuple(_bands(states, top_mib=top_mib, palette=palette))
    return Day(
        span=window.span,
        spans=tuple(SPAN_WORDS.items()),
        summary=day_summary(
            most_mib=None if not most_mib and total_mib is None else most_mib,
            most_calls=most_calls,
            loads=counts["load"],
            unloads=counts["unload"],
            failures=counts["failure"],
            away_s=float(sum(away) * window.step),
        ),
        quiet=quiet_day() if is_quiet else "",
        total=messages.size(top_mib) if top_mib > 1 else "",
        usable=_height(usable_mib, top_mib) if usable_mib else "",
        most_calls=most_calls,
        columns=COLUMNS,
        bands=bands,
        key=tuple(dict.fromkeys(band.mark for band in bands)),
        calls=_area([(0.0, HEIGHT * level / most_calls) if level else None for level in levels]) if most_calls else "",
        away=_area([(0.0, float(HEIGHT)) if is_away else None for is_away in away]),
        pins=tuple(_pins(window, told)),
        ticks=tuple(_ticks(window)),
        slices=tuple(_slices(window, states=states, levels=levels, events=told)),
    )


def _states(window: Window, found: Sequence[Holding]) -> list[Holding | None]:
    """Give what was held at the end of each column that has begun; None where nothing is known yet."""
    states: list[Holding | None] = []
    place = 0
    for column in range(window.seen):
        end = window.begin + (column + 1) * window.step
        while place < len(found) and found[place].at < end:
            place += 1
        states.append(found[place - 1] if place else None)
    return states


def _levels(window: Window, flights: Flights) -> list[int]:
    """Give the most calls at once of each column that has begun."""
    levels = [0] * window.seen
    level, last = flights.begun, 0
    for at, change in (*flights.changes, (window.now, 0)):
        column = min(window.column(at), window.seen - 1)
        for between in range(last, column + 1):
            levels[between] = max(levels[between], level)
        level += change
        levels[column] = max(levels[column], level)
        last = column
    return levels


def _bands(states: Sequence[Holding | None], *, top_mib: int, palette: Palette) -> Iterator[Band]:
    """Stack the models in the order in which they came, each loading part in its place."""
    order = dict.fromkeys(model for state in states if state is not None for model in (*state.held, *state.loading))
    areas: dict[tuple[str, str], list[tuple[float, float] | None]] = {
        (model, kind): [None] * len(states) for model in order for kind in ("held", "loading")
    }
    for column, state in enumerate(states):
        low = 0.0
        for model in order if state is not None else ():
            for kind, sizes in (("held", state.held), ("loading", state.loading)) if state is not None else ():
                high = low + HEIGHT * (sizes.get(model) or 0) / top_mib
                if high > low:
                    areas[model, kind][column] = (low, high)
                low = high
    for (model, kind), area in areas.items():
        if any(area):
            yield Band(mark=palette.mark(model), kind=kind, path=_area(area))


def _area(columns: Sequence[tuple[float, float] | None]) -> str:
    """Write columns, each from a low to a high, as the path of one area; equal neighbours become one piece."""
    pieces, begin = [], 0
    for area, run in groupby(columns):
        end = begin + len(list(run))
        if area is not None:
            low, high = (f"{HEIGHT - y:.1f}".removesuffix(".0") for y in area)
            pieces.append(f"M{begin} {low}V{high}H{end}V{low}Z")
        begin = end
    return "".join(pieces)


def _pins(window: Window, events: Iterable[ServerEventRecord]) -> Iterator[Pin]:
    counts: dict[tuple[int, str], int] = {}
    for event in events:
        kind = PINS.get(event.kind)
        if kind is not None:
            place = (min(window.column(event.at), COLUMNS - 1) // PER_PIN, kind)
            counts[place] = counts.get(place, 0) + 1
    for (group, kind), count in sorted(counts.items()):
        words = PIN_WORDS[kind][count > 1]
        yield Pin(kind=kind, x=_across((group + 0.5) * PER_PIN), says=f"{count} {words}")


def _ticks(window: Window) -> Iterator[Tick]:
    every = TICKS[window.span]
    at = ceil(window.begin / every) * every
    while at < window.begin + COLUMNS * window.step:
        when = moment(float(at))
        yield Tick(x=_across((at - window.begin) / window.step), at=when, words=when.words[:5] if when else "")
        at += every


def _slices(
    window: Window, *, states: Sequence[Holding | None], levels: Sequence[int], events: Sequence[ServerEventRecord]
) -> Iterator[Slice]:
    width = COLUMNS // SLICES
    for begin in range(0, len(states), width):
        known = [state for state in states[begin : begin + width] if state is not None]
        here = [event.kind for event in events if begin <= window.column(event.at) < begin + width]
        count: Callable[[ServerEventKind], int] = here.count
        if not known and not any(levels[begin : begin + width]):
            continue
        yield Slice(
            at=moment(window.begin + begin * window.step),
            held=messages.size(max((state.mib for state in known), default=0)),
            calls=max(levels[begin : begin + width]),
            loads=count(ServerEventKind.LOAD_DONE),
            unloads=count(ServerEventKind.VICTIM_GONE),
            failures=count(ServerEventKind.LOAD_FAILED),
            is_away=any(not state.is_ready for state in known),
        )


def _across(columns: float) -> str:
    return f"{100 * columns / COLUMNS:.2f}%"


def _height(mib: int, top_mib: int) -> str:
    return f"{HEIGHT - HEIGHT * mib / top_mib:.1f}"
