"""Who waits and for what; what was decided and why."""

from kubemoot_web.board.choices import Choice, Weighed, choices_of
from kubemoot_web.board.line import LONGEST, Line, Waiting
from kubemoot_web.board.marks import Palette
from kubemoot_web.board.picture import Summary, Trouble
from kubemoot_web.board.times import Moment
from scheduler.core import messages
from scheduler.core.call_history import CallRecord, CallState
from scheduler.core.types import LoadUnderWay, Priority, TicketState
from tests.board.views import NOON, NOW, copy, picture, record, ticket, waiter

AT_NOON = Moment(iso="2026-11-29T12:03:00Z", words="12:03:00 UTC")
IN_3_S = Moment(iso="2026-11-29T19:33:23Z", words="19:33:23 UTC")
IN_15_S = Moment(iso="2026-11-29T19:33:35Z", words="19:33:35 UTC")
LATER = Moment(iso="2026-11-29T12:04:30Z", words="12:04:30 UTC")


def call(id: str = "c1", **more) -> CallRecord:
    """Make a call that ran."""
    given = {"agent": "default/analyst", "state": CallState.RUNNING, "arrived_at": NOON, "action": "use"}
    return CallRecord(id=id, **given | {"model": "qwen3:14b", "server": "gpu-1"} | more)


def test_the_line_says_who_waits_for_what_in_which_order():
    load = LoadUnderWay(server="gpu-1", model="qwen3:32b", footprint_mib=20480, started_at=NOW - 5)

    line = picture(
        ("server", "gpu-1", record(residents=[copy()])),
        ("ticket", "t1", ticket()),
        ("load", "gpu-1 qwen3:32b", load),
        ("ticket", "t9", ticket("t9", model="qwen3:32b", state=TicketState.LOADING, waiter="w9")),
        ("waiter", "w9", waiter("w9", agent="default/scout", crew="", ticket="t9", arrived_at=NOON + 5)),
        ("waiter", "w1", waiter()),
        ("waiter", "w2", waiter("w2", model="qwen3:14b", server="gpu-1", action="queue", arrived_at=NOON + 1)),
        ("waiter", "w3", waiter("w3", model="", priority=Priority.BACKGROUND, arrived_at=NOW - 1, limit_at=NOON + 90)),
    ).line

    assert (line.count, line.says, line.more, line.empty) == (4, "4 calls wait.", "", "")
    assert [(row.turn, row.agent, row.crew, row.sentence, row.expected, row.is_background) for row in line.rows] == [
        ("", "default/scout", "", "waiting for qwen3:32b to load on gpu-1", IN_15_S, False),
        (
            "1",
            "default/researcher",
            "default/lab",
            "waiting for a GPU with room for qwen3:32b",
            None,
            False,
        ),
        (
            "2",
            "default/researcher",
            "default/lab",
            "waiting for a free slot of qwen3:14b on gpu-1",
            IN_3_S,
            False,
        ),
        ("3", "default/researcher", "default/lab", "waiting to be placed", None, True),
    ]
    assert line.rows[1] == Waiting(
        id="waiter-w1",
        call="w1",
        agent="default/researcher",
        crew="default/lab",
        turn="1",
        mark=Palette(["qwen3:14b", "qwen3:32b"]).mark("qwen3:32b"),
        server="",
        sentence="waiting for a GPU with room for qwen3:32b",
        because="analyst uses qwen3:14b on gpu-1.",
        is_background=False,
        since=AT_NOON,
        until=LATER,
        expected=None,
        drain_at=None,
    )
    assert line.rows[2].because == "Its slot is taken by analyst."


def test_an_empty_line_is_kind():
    assert picture().line == Line(
        count=0,
        says="Nobody waits.",
        rows=(),
        more="",
        wanted=(),
        empty=messages.nobody_waits(),
    )


def test_a_long_line_is_counted_and_shown_in_part():
    rows = [
        ("waiter", f"w{n}", waiter(f"w{n}", model="qwen3:32b" if n % 3 else "qwen3:8b", arrived_at=NOON + n))
        for n in range(LONGEST + 7)
    ]

    line = picture(*rows).line

    assert (line.count, len(line.rows), line.more) == (LONGEST + 7, LONGEST, "and 7 more behind them")
    assert [row.turn for row in line.rows[:3]] == ["1", "2", "3"]
    assert [(one.mark.name, one.count, one.share) for one in line.wanted] == [
        ("qwen3:32b", 18, 100),
        ("qwen3:8b", 9, 50),
    ]


def test_decisions_are_told_newest_first_with_what_lost():
    load = {"action": "load", "model": "qwen3:32b", "server": "gpu-2", "costSeconds": 44.0, "evicts": []}
    evict = {"action": "evict", "model": "qwen3:32b", "server": "gpu-1", "costSeconds": 22.0, "evicts": ["qwen3:8b"]}
    trace = {"action": "evict", "costSeconds": 22.0, "options": [evict | {"why": "chosen"}, load | {"why": "longer"}]}
    made = call("c2", arrived_at=NOON + 60, action="evict", model="qwen3:32b", evicted=("qwen3:8b",), decision=trace)
    palette = Palette(["qwen3:14b", "qwen3:32b"])

    assert choices_of(calls=[call(), made], palette=palette) == (
        Choice(
            id="decision-c2",
            call="c2",
            at=Moment(iso="2026-11-29T12:04:00Z", words="12:04:00 UTC"),
            agent="default/analyst",
            mark=palette.mark("qwen3:32b"),
            action="evict",
            sentence="loads qwen3:32b on gpu-1 in place of qwen3:8b, which nobody needs now, about 22 s",
            state="running",
            tone="busy",
            options=(
                Weighed(
                    says="load qwen3:32b on gpu-1, without qwen3:8b", cost="22 s", share=50, is_taken=True, why="chosen"
                ),
                Weighed(says="load qwen3:32b on gpu-2", cost="44 s", share=100, is_taken=False, why="longer"),
            ),
        ),
        Choice(
            id="decision-c1",
            call="c1",
            at=AT_NOON,
            agent="default/analyst",
            mark=palette.mark("qwen3:14b"),
            action="use",
            sentence="uses qwen3:14b on gpu-1: loaded, with a free slot",
            state="running",
            tone="busy",
            options=(),
        ),
    )


def test_a_call_is_over_after_all_the_time_it_took_as_its_own_page_says():
    done = call(state=CallState.DONE, arrived_at=NOON, granted_at=NOON + 8, started_at=NOON + 28, finished_at=NOON + 32)

    (choice,) = picture(calls=[done]).choices

    assert choice.state == "done after 32 s"


def test_a_call_that_stood_aside_says_why_and_what_would_help():
    aside = call(state=CallState.STOOD_ASIDE, action="", model="llama3:405b", reason="model-too-large")

    (choice,) = picture(calls=[aside]).choices

    assert choice.sentence.startswith("No server can hold llama3:405b.")
    assert (choice.state, choice.tone) == ("stood aside", "warn")


def test_the_numbers_above_the_board_count_what_is_on_it():
    shown = picture(
        ("server", "gpu-1", record(residents=[copy()])),
        ("server", "gpu-2", record("gpu-2", seen={"phase": "stale", "ready": False})),
        ("ticket", "t1", ticket()),
        ("waiter", "w1", waiter()),
    )

    assert shown.summary == Summary(
        servers=2,
        ready=1,
        running=1,
        loading=0,
        waiting=1,
        troubles=(Trouble(id="server-gpu-2", name="gpu-2", phase="Not answering"),),
    )
