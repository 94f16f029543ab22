"""The waiting page: the line with its calls, what would help, what is wanted, what is emptied."""

from kubemoot_web.board.details.waiting import LONGEST, WaitingRoom, waiting_room_of
from scheduler.core import messages
from scheduler.core.config import SchedulerConfig
from scheduler.core.types import Drain, LoadUnderWay, TicketState
from tests.board.views import NOON, copy, picture, record, ticket, waiter
from tests.details.replicas import replica_of


def room(*rows) -> WaitingRoom:
    """Show who waits in a cluster of these documents, 10 s after noon."""
    return waiting_room_of(replica=replica_of(*rows), config=SchedulerConfig(), now=NOON + 10)


def test_everybody_is_listed_with_the_page_of_its_call_and_what_would_help():
    shown = room(
        ("server", "gpu-1", record(residents=[copy()])),
        ("footprint", "qwen3:32b", 20480),
        ("ticket", "t1", ticket()),
        ("load", "gpu-1 qwen3:8b", LoadUnderWay(server="gpu-1", model="qwen3:8b", footprint_mib=6144, started_at=NOON)),
        ("ticket", "t9", ticket("t9", model="qwen3:8b", state=TicketState.LOADING, waiter="w9")),
        ("waiter", "w9", waiter("w9", ticket="t9")),
        ("waiter", "w1", waiter("w1", model="qwen3:32b")),
    )

    assert (shown.count, shown.says, shown.more, shown.empty) == (2, "2 calls wait.", "", "")
    assert [(one.row.call, one.row.turn, one.ways) for one in shown.helped] == [
        ("w9", "", ()),
        (
            "w1",
            "1",
            ("A server with 20.0 GiB free for qwen3:32b; gpu-1 comes nearest and lacks 7.8 GiB.",),
        ),
    ]
    assert [(wish.mark.name, wish.count, wish.share) for wish in shown.wishes] == [("qwen3:32b", 1, 100)]


def test_a_call_that_may_run_waits_no_more_though_its_caller_has_not_asked_yet():
    """The board counted it among those that run, this page among those whose model loads."""
    rows = (
        ("server", "gpu-1", record(residents=[copy()])),
        ("ticket", "t1", ticket(waiter="w1")),
        ("waiter", "w1", waiter("w1", ticket="t1")),
    )

    assert room(*rows).says == picture(*rows).line.says == "Nobody waits."


def test_an_empty_line_is_kind():
    assert room() == WaitingRoom(
        count=0,
        says="Nobody waits.",
        helped=(),
        more="",
        wishes=(),
        drains=(),
        empty=messages.nobody_waits(),
    )


def test_a_long_line_is_shown_in_part_and_summed_up_by_model():
    waiters = [("waiter", f"w{n:03}", waiter(f"w{n:03}", arrived_at=NOON + n / 100)) for n in range(150)]
    others = [("waiter", f"v{n}", waiter(f"v{n}", model="qwen3:8b", arrived_at=NOON)) for n in range(75)]

    shown = room(*waiters, *others)

    assert (shown.count, len(shown.helped), shown.more) == (225, LONGEST, "and 175 more behind them")
    assert [(wish.mark.name, wish.count, wish.share) for wish in shown.wishes] == [
        ("qwen3:32b", 150, 100),
        ("qwen3:8b", 75, 50),
    ]


def test_those_who_would_be_helped_by_the_same_are_told_so_and_whose_time_ends_first_by_how_much():
    queue = {"model": "qwen3:32b", "server": "gpu-1", "action": "queue"}
    shown = room(
        ("server", "gpu-1", record(residents=[copy("qwen3:32b", 20480)])),
        ("ticket", "t1", ticket(model="qwen3:32b")),
        *(("waiter", f"w{n}", waiter(f"w{n}", arrived_at=NOON + n, **queue)) for n in range(4)),
    )

    ways = (
        "A second slot on gpu-1 for qwen3:32b (scheduling.maxParallel, if its memory allows it).",
        "One more server with 20.0 GiB free for qwen3:32b.",
    )
    limit = "A limit 30 s longer, in deployment.env of researcher: it ends before the turn comes."
    assert [(one.ways, one.is_as_above, one.limit) for one in shown.helped] == [
        (ways, False, ""),
        (ways, True, ""),
        (ways, True, ""),
        (ways, True, limit),
    ]


def test_a_server_that_is_emptied_says_for_whom():
    drain = Drain(model="qwen3:32b", agent="default/researcher", victims=("qwen3:14b",), since=NOON, waiter="w1")

    shown = room(
        ("server", "gpu-1", record(residents=[copy()])), ("drain", "gpu-1", drain), ("waiter", "w1", waiter("w1"))
    )

    (drained,) = shown.drains
    assert drained.server == "gpu-1"
    assert drained.says == messages.draining_for(agent="default/researcher", model="qwen3:32b", victims=("qwen3:14b",))
