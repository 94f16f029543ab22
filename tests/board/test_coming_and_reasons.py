"""What happens next, and why somebody has to wait for it."""

import pytest

from kubemoot_web.board.coming import Ahead, Coming
from kubemoot_web.board.marks import COLOURS, Palette
from kubemoot_web.board.times import Moment
from providers.core.specs import ResourceGroup
from scheduler.core import messages
from scheduler.core.types import Drain, LoadUnderWay, TicketState
from tests.board.views import NOW, copy, picture, record, ticket, waiter
from tests.fakes.crowds import crowd

QUEUED = waiter("w1", model="qwen3:14b", server="gpu-1", action="queue", arrived_at=NOW - 2, limit_at=NOW + 88)
NEEDS_ROOM = waiter("w2", agent="default/archivist", arrived_at=NOW - 10, limit_at=NOW + 35)


def at(words: str) -> Moment:
    """Make a moment of that evening."""
    return Moment(iso=f"2026-11-29T{words}Z", words=f"{words} UTC")


def row(*rows, **facts):
    """Give the only waiter's row."""
    (only,) = picture(*rows, **facts).line.rows
    return only


def test_what_happens_next_is_told_soonest_first_with_who_goes_on():
    load = LoadUnderWay(server="gpu-2", model="qwen3:32b", footprint_mib=20480, started_at=NOW - 15)
    loads_for = ticket("t2", server="gpu-2", model="qwen3:32b", agent="default/scout", state=TicketState.LOADING)

    ahead = picture(
        ("server", "gpu-1", record(residents=[copy()])),
        ("server", "gpu-2", record("gpu-2")),
        ("ticket", "t1", ticket(started_at=NOW - 20)),
        ("ticket", "t2", loads_for),
        ("load", "gpu-2 qwen3:32b", load),
        ("waiter", "w1", QUEUED),
    ).ahead

    palette = Palette(["qwen3:14b", "qwen3:32b"])
    assert ahead == Ahead(
        events=(
            Coming(
                kind="load",
                at=at("19:33:25"),
                mark=palette.mark("qwen3:32b"),
                sentence="qwen3:32b is loaded on gpu-2 and scout goes on",
            ),
            Coming(
                kind="slot",
                at=at("19:33:30"),
                mark=palette.mark("qwen3:14b"),
                sentence="researcher gets a slot of qwen3:14b on gpu-1",
            ),
        ),
        quiet="",
    )


def test_with_nobody_waiting_nothing_is_due():
    assert picture(("server", "gpu-1", record())).ahead.quiet == messages.nothing_ahead(servers=1, waiting=0)


def test_where_nobody_can_say_when_a_waiter_goes_on_the_strip_does_not_say_that_nobody_waits():
    shown = picture(("server", "gpu-1", record()), ("waiter", "w1", NEEDS_ROOM))

    assert [each.expected for each in shown.line.rows] == [None]
    assert shown.ahead.quiet == messages.nothing_ahead(servers=1, waiting=1)


def test_a_slot_is_taken_by_somebody_with_a_name():
    shown = row(
        ("server", "gpu-1", record(residents=[copy()])),
        ("ticket", "t1", ticket(agent="team-b/analyst")),
        ("waiter", "w1", QUEUED),
    )

    assert shown.because == "Its slot is taken by team-b/analyst."
    assert shown.drain_at is None, "who queues for a slot needs no server emptied"


BUS = {"resource_group": ResourceGroup(name="bus-1", max_concurrent=1)}
SHARED = (
    ("server", "gpu-2", record("gpu-2", residents=[copy("a", 1024)], **BUS)),
    ("ticket", "t1", ticket(server="gpu-2", model="a", started_at=NOW - 12)),
)


def test_a_full_resource_group_is_what_a_call_waits_for_where_the_slot_is_free():
    shown = row(("server", "gpu-1", record(residents=[copy()], **BUS)), ("waiter", "w1", QUEUED), *SHARED)

    assert shown.sentence == "waiting for a place in the resource group bus-1, to run qwen3:14b on gpu-1"
    assert shown.because == "The resource group bus-1 is full: 1 of 1 call at once, on gpu-2."
    assert shown.expected == at("19:33:38"), "its calls take 30 s"


def test_a_full_resource_group_keeps_a_load_out_where_the_memory_is_free():
    shown = row(
        ("server", "gpu-1", record(**BUS)),
        ("footprint", "qwen3:32b", 20480),
        ("waiter", "w2", NEEDS_ROOM),
        *SHARED,
    )

    assert shown.because == "The resource group bus-1 is full: 1 of 1 call at once, on gpu-2."
    assert shown.expected == at("19:33:58"), "and then the load"


def test_a_taken_slot_is_said_before_a_full_resource_group():
    shown = row(
        ("server", "gpu-1", record(residents=[copy()], **BUS)),
        ("ticket", "t2", ticket("t2")),
        ("waiter", "w1", QUEUED),
        *SHARED,
    )

    assert shown.sentence == "waiting for a free slot of qwen3:14b on gpu-1"
    assert shown.because == "Its slot is taken by analyst."


def test_what_keeps_a_model_out_is_named_with_its_server_and_when_it_has_to_go():
    shown = row(
        ("server", "gpu-1", record(residents=[copy("qwen3:14b", 10240), copy("qwen3:8b", 6144)])),
        ("footprint", "qwen3:32b", 20480),
        ("ticket", "t1", ticket()),
        ("waiter", "w2", NEEDS_ROOM),
    )

    assert shown.sentence == "waiting for a GPU with room for qwen3:32b"
    assert shown.because == "analyst uses qwen3:14b on gpu-1."
    assert shown.drain_at == at("19:33:40"), "two thirds of its 45 s"


def test_a_server_that_is_emptied_for_somebody_says_what_still_has_to_end():
    drain = Drain(model="qwen3:32b", agent="default/archivist", victims=("qwen3:14b",), since=NOW, waiter="w2")

    shown = row(
        ("server", "gpu-1", record(residents=[copy()])),
        ("ticket", "t1", ticket()),
        ("drain", "gpu-1", drain),
        ("waiter", "w2", NEEDS_ROOM),
    )

    assert shown.because == "gpu-1 is being emptied for it, as soon as the calls on qwen3:14b have ended."
    assert shown.drain_at is None


def test_ten_models_share_eight_colours_and_fewer_have_one_each():
    models = [f"model-{number}" for number in range(10)]

    few, many = Palette(models[:COLOURS]), Palette(models)

    assert sorted(few.mark(model).colour for model in models[:COLOURS]) == list(range(COLOURS))
    assert {many.mark(model).colour for model in models} == set(range(COLOURS))


@pytest.mark.parametrize(("servers", "waiters"), [(0, 0), (1, 0), (4, 3), (40, 200)])
def test_boards_of_any_size_show_a_bounded_line_and_every_server(servers, waiters):
    shown = crowd(servers=servers, waiters=waiters, now=NOW)

    assert (len(shown.cards), shown.line.count) == (servers, waiters)
    assert len(shown.line.rows) == min(waiters, 20)
    assert len(shown.ahead.events) <= 4
