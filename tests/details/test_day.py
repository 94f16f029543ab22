"""A server's day as a picture: columns of time, areas of memory, marks, and the same in numbers."""

import pytest

from kubemoot_web.board.details.day import COLUMNS, Day, Flights, Pin, day_of, window_of
from kubemoot_web.board.marks import Palette
from scheduler.core.server_history import ServerEventKind, ServerEventRecord

NOW = 1_795_953_600.0  # 12:00:00 UTC
BEGIN = NOW - 300  # what five minutes begin at
PALETTE = Palette(["large", "small"])


def event(kind: str, at: float, **more) -> ServerEventRecord:
    """Make an event so many seconds after the picture begins."""
    return ServerEventRecord(server="gpu-1", kind=ServerEventKind(kind), at=BEGIN + at, **more)


def probed(at: float, *residents: tuple[str, int | None], is_ready: bool = True) -> ServerEventRecord:
    """Make a probe that found these models."""
    return event("probed", at, is_ready=is_ready, phase="ready" if is_ready else "stale", residents=residents)


def day(*events: ServerEventRecord, begun: int = 0, changes=(), now: float = NOW, **more) -> Day:
    """Draw five minutes of a server of 100 MiB, 80 of which models may use."""
    given = {"total_mib": 100, "usable_mib": 80} | more
    return day_of(
        window=window_of(span="5m", first_at=None, now=now),
        events=events,
        flights=Flights(begun=begun, changes=[(BEGIN + at, change) for at, change in changes]),
        palette=PALETTE,
        **given,
    )


@pytest.mark.parametrize(
    ("span", "age_s", "shown"),
    [
        ("", None, "5m"),
        ("", 200, "5m"),
        ("", 299, "5m"),
        ("", 300, "20m"),
        ("", 3600, "4h"),
        ("", 80_000, "24h"),
        ("", 90_000, "24h"),
        ("1h", 80_000, "1h"),
        ("1 week", 10, "5m"),
    ],
)
def test_the_window_holds_what_is_known_unless_another_one_is_asked_for(span, age_s, shown):
    window = window_of(span=span, first_at=None if age_s is None else NOW - age_s, now=NOW)

    assert window.span == shown


@pytest.mark.parametrize("span", ["5m", "20m", "1h", "4h", "24h"])
@pytest.mark.parametrize("late_s", [0, 0.5, 3, 200])
def test_a_window_begins_at_a_round_time_and_holds_the_present(span, late_s):
    window = window_of(span=span, first_at=None, now=NOW + late_s)

    assert window.begin % window.step == 0
    assert window.begin <= window.now <= window.begin + COLUMNS * window.step
    assert COLUMNS - 1 <= window.seen <= COLUMNS


def test_models_are_stacked_and_a_load_is_drawn_apart_until_it_is_done():
    shown = day(
        probed(0, ("small", 20)),
        event("load_started", 100, model="large", mib=50, evicts=("small",)),
        event("victim_gone", 110, model="small"),
        event("load_done", 150, model="large", mib=50),
    )

    assert [(band.mark.name, band.kind, band.path) for band in shown.bands] == [
        ("small", "held", "M0 100V80H110V100Z"),
        ("large", "held", "M150 100V50H300V100Z"),
        ("large", "loading", "M110 100V50H150V100Z"),
    ]
    assert [mark.name for mark in shown.key] == ["small", "large"]
    assert (shown.total, shown.usable) == ("100 MiB", "20.0")
    assert shown.pins == (
        Pin(kind="unload", x="37.50%", says="1 unload"),
        Pin(kind="load", x="50.83%", says="1 load"),
    )
    assert shown.summary == "At most 50 MiB held, 0 calls at once at the most, 1 load, 1 unload."


def test_what_happened_before_the_picture_is_its_beginning():
    shown = day(probed(-500, ("small", 20)), event("load_done", -400, model="large", mib=30))

    assert [(band.mark.name, band.path) for band in shown.bands] == [
        ("small", "M0 100V80H300V100Z"),
        ("large", "M0 80V50H300V80Z"),
    ]
    assert shown.pins == ()
    assert shown.summary == "At most 50 MiB held, 0 calls at once at the most, 0 loads, 0 unloads."


def test_time_when_the_server_was_not_ready_is_marked_and_summed_up():
    shown = day(probed(0, ("small", 20)), probed(100, ("small", 20), is_ready=False), probed(160, ("small", 20)))

    assert shown.away == "M100 100V0H160V100Z"
    assert shown.summary.endswith("not ready for 60 s.")


def test_calls_are_drawn_by_the_most_at_once():
    shown = day(begun=1, changes=[(10, 2), (20, -1), (20.5, 1), (100, -3)])

    assert shown.most_calls == 3
    assert shown.calls == "M0 100V66.7H10V100ZM10 100V0H101V100Z"


def test_many_marks_at_about_the_same_time_are_one_with_their_number():
    shown = day(
        *(event("load_done", second, model="small", mib=1) for second in (101, 102, 103)),
        event("load_failed", 102, model="large"),
    )

    assert shown.pins == (
        Pin(kind="failure", x="34.17%", says="1 failed load"),
        Pin(kind="load", x="34.17%", says="3 loads"),
    )
    assert "1 failed load" in shown.summary


def test_the_table_says_the_same_in_numbers():
    shown = day(
        probed(60, ("small", 20)),
        event("load_done", 80, model="large", mib=30),
        probed(130, ("small", 20), is_ready=False),
        changes=[(90, 2), (140, -2)],
    )

    told = [
        (piece.at.words if piece.at else "", piece.held, piece.calls, piece.loads, piece.is_away)
        for piece in shown.slices
    ]
    assert told[:4] == [
        ("11:55:50 UTC", "20 MiB", 0, 0, False),
        ("11:56:15 UTC", "50 MiB", 2, 1, False),
        ("11:56:40 UTC", "50 MiB", 2, 0, False),
        ("11:57:05 UTC", "50 MiB", 2, 0, True),
    ]


def test_a_server_nobody_knows_anything_of_has_a_quiet_day():
    shown = day()

    assert shown.quiet == "Nothing has happened here yet. Loads, unloads and calls are drawn as they come."
    assert (shown.bands, shown.calls, shown.pins, shown.slices) == ((), "", (), ())


def test_without_a_known_total_the_most_that_was_held_is_the_scale():
    shown = day(probed(0, ("small", 40), ("unknown", None)), total_mib=None, usable_mib=None)

    assert (shown.total, shown.usable, shown.bands[0].path) == ("40 MiB", "", "M0 100V0H300V100Z")


def test_two_looks_at_the_same_second_are_equal_so_that_nothing_is_sent():
    events = (probed(0, ("small", 20)),)

    assert day(*events, now=NOW - 0.2) == day(*events, now=NOW - 0.6)


def test_ticks_stand_at_round_times():
    assert [(tick.x, tick.words) for tick in day().ticks] == [
        ("0.00%", "11:55"),
        ("20.00%", "11:56"),
        ("40.00%", "11:57"),
        ("60.00%", "11:58"),
        ("80.00%", "11:59"),
    ]
