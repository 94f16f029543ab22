"""Endpoints as people see them: the gauge, the queue, the last hour, what an operator may do."""

from dataclasses import replace

import pytest

from kubemoot_web.board.details.endpoints import QUIET, Hour, endpoint_sheet_of, endpoints_of, hours_of
from kubemoot_web.board.gauge import Cell, gauge_of
from kubemoot_web.board.times import Moment
from providers.core.specs import ResourceGroup
from scheduler.core.admission.local import LocalState
from scheduler.core.attempt_history import AttemptRecord
from scheduler.core.config import SchedulerConfig
from scheduler.core.gate import Admission, AdmissionState
from scheduler.core.messages.endpoints import last_span
from scheduler.core.types import Priority
from tests.board.views import NOON, copy, record, ticket, waiter
from tests.builders import server
from tests.details.replicas import replica_of

NOW = NOON + 60
CONFIG = SchedulerConfig()
SHARED = LocalState(is_on=False, servers=(), running={}, waiting=0)
BUSY = record(residents=[copy()], max_concurrent=4, interactive_reserve=1)


def sheet(*rows, one=BUSY, attempts=(), local=SHARED):
    """Show gpu-1."""
    replica = replica_of(("server", "gpu-1", one), *rows)
    return endpoint_sheet_of(
        replica=replica, local=local, name="gpu-1", config=CONFIG, attempts=attempts, since=NOW - 3600, now=NOW
    )


def queued(id, at=NOON, **more):
    """Make one who queues on gpu-1."""
    given = {"model": "qwen3:14b", "server": "gpu-1", "action": "queue", "arrived_at": at}
    return ("waiter", id, waiter(id, **(given | more)))


def cells(*, cap, reserve=0, interactive=0, background=0):
    """Draw a gauge, and count the cells of each kind in their order."""
    built = server("gpu-1").having(max_concurrent=cap, interactive_reserve=reserve)
    for number in range(interactive + background):
        built = built.ticket("m", priority="background" if number >= interactive else "interactive")
    return gauge_of(built.value).cells


def test_each_place_is_a_cell_by_the_class_that_has_it_and_the_kept_ones_stand_last():
    assert [cell.kind for cell in cells(cap=4, reserve=1, background=2)] == ["background", "background", "open", "kept"]
    assert [cell.kind for cell in cells(cap=2, interactive=3)] == ["interactive"] * 3
    assert cells(cap=None, interactive=2) == ()


def test_a_large_cap_is_one_bar_that_is_never_longer_than_whole():
    drawn = cells(cap=200, reserve=20, interactive=1, background=3)

    assert drawn == (
        Cell(kind="interactive", share=1),
        Cell(kind="background", share=1),
        Cell(kind="open", share=88),
        Cell(kind="kept", share=9),
    )


@pytest.mark.parametrize(
    ("others", "calls", "says"),
    [
        ((), 0, "Resource group bus-1, with no other server so far: 0 of 2 calls at once."),
        (("gpu-2",), 1, "Resource group bus-1, with gpu-2: 1 of 2 calls at once."),
        (("gpu-2", "gpu-3"), 3, "Resource group bus-1, with gpu-2 and gpu-3: 3 of 2 calls at once: none is ended, "),
        (
            ("gpu-2", "gpu-3", "gpu-4", "gpu-5", "gpu-6"),
            2,
            "Resource group bus-1, with gpu-2, gpu-3, gpu-4 and 2 more: 2 of 2 calls at once.",
        ),
    ],
)
def test_an_endpoint_says_how_full_its_resource_group_is_and_with_whom_it_shares_it(others, calls, says):
    """A-35. Wherever in the group the calls run."""
    bus = {"resource_group": ResourceGroup(name="bus-1", max_concurrent=2)}
    rows = [("server", name, record(name, residents=[copy()], slots=9, **bus)) for name in others]
    where = (others or ("gpu-1",))[-1]
    rows += [("ticket", f"t{n}", ticket(f"t{n}", server=where)) for n in range(calls)]
    one = record(residents=[copy()], **bus)

    shown = sheet(*rows, ("server", "gpu-9", record("gpu-9")), one=one)

    assert shown.one.group.startswith(says)
    replica = replica_of(("server", "gpu-1", one), *rows)
    listed = endpoints_of(replica=replica, local=SHARED, attempts=(), since=NOON, now=NOW)
    assert {each.name: bool(each.group) for each in listed} == dict.fromkeys(("gpu-1", *others), True)
    assert sheet().one.group == ""


def test_the_queue_is_in_order_with_who_why_since_when_and_where_else():
    busy = ("ticket", "t1", ticket())
    either = queued("w3", NOON + 2, model="qwen3:32b", server=None, action="wait")
    other = ("server", "gpu-2", record("gpu-2"))

    shown = sheet(busy, queued("w2", NOON + 1), queued("w1"), either, other, ("footprint", "qwen3:32b", 20480))

    assert shown.says == "3 calls wait."
    assert [(each.turn, each.row.call, each.elsewhere) for each in shown.queue] == [
        ("1", "w1", ""),
        ("2", "w2", ""),
        ("3", "w3", "gpu-2 would do, too"),
    ]
    first = shown.queue[0].row
    assert first.sentence == "waiting for a free slot of qwen3:14b on gpu-1"
    assert first.because == "Its slot is taken by analyst."
    assert first.since == Moment(iso="2026-11-29T12:03:00Z", words="12:03:00 UTC")
    assert first.expected is not None


def test_where_else_names_no_server_that_takes_no_calls():
    closed = replace(record("gpu-2"), admission=Admission(state=AdmissionState.PAUSED, since=NOON))
    either = queued("w1", model="qwen3:32b", server=None, action="wait")

    shown = sheet(either, ("server", "gpu-2", closed), ("footprint", "qwen3:32b", 20480))

    assert [each.elsewhere for each in shown.queue] == [""]
    assert [each.step for each in shown.operations] == ["pause", "drain", "quarantine"], "it waits on when cleared"


def test_a_long_queue_is_cut_and_the_rest_counted():
    shown = sheet(("ticket", "t1", ticket()), *(queued(f"w{n}", NOON + n) for n in range(60)))

    assert (len(shown.queue), shown.more) == (50, "and 10 more behind them")


def test_an_empty_queue_explains_itself():
    paused = replace(BUSY, admission=Admission(state=AdmissionState.PAUSED, since=NOON))

    assert sheet().empty.startswith("Nobody waits for it. A call that finds no free place here lines up")
    assert sheet(one=paused).empty.startswith("Nobody waits for it. Calls that have no other place line up here")


def test_what_an_operator_may_do_depends_on_the_state_and_on_who_waits():
    paused = replace(BUSY, admission=Admission(state=AdmissionState.PAUSED, since=NOON))
    bound = queued("w1", model="qwen3:32b", server=None, action="wait")

    offered = [each.step for each in sheet(bound, ("footprint", "qwen3:32b", 20480), one=paused).operations]

    assert [each.step for each in sheet().operations] == ["pause", "drain", "quarantine"]
    assert offered == ["resume", "drain", "quarantine", "clear-queue"]


def attempt(at, model, *, waited=0.0, where="gpu-1"):
    """Make an attempt that was admitted some seconds after noon."""
    return AttemptRecord(
        id=f"{at}", call=f"{at}", number=1, agent="a/b", server=where, model=model, queued_at=NOON + at - waited,
        admitted_at=NOON + at,
    )  # fmt: skip


def test_the_last_hour_tells_waits_and_switches_and_names_what_left_for_nothing():
    attempts = [
        attempt(0, "a"),
        attempt(10, "b", waited=4),
        attempt(20, "a"),
        attempt(30, "b"),
        attempt(5, "c", where=""),
    ]

    hours = hours_of(attempts=attempts, since=NOON - 3540, now=NOW)

    assert hours["gpu-1"] == Hour(
        attempts=4,
        p50="0.0 s",
        p95="4.0 s",
        switches="3 an hour, 2 avoidable",
        backs=("a left for b and was back within 5 min, once", "b left for a and was back within 5 min, once"),
    )
    assert "gpu-2" not in hours


@pytest.mark.parametrize(
    ("span_s", "said"), [(3600, "the last hour"), (1380, "the last 23 min"), (3, "the last 1 min")]
)
def test_where_there_was_too_much_for_an_hour_the_page_says_how_long_it_tells_of(span_s, said):
    assert last_span(span_s=span_s) == said


def test_the_list_is_in_natural_order_with_each_hour_and_tells_who_waits_for_one_alone_from_who_does_not():
    replica = replica_of(
        ("footprint", "qwen3:32b", 20480),
        queued("w2", server=None, action="wait", model="qwen3:32b"),
        *(("server", name, record(name, residents=[copy()], slots=1)) for name in ("gpu-10", "gpu-2")),
        queued("w1", server="gpu-2", priority=Priority.BACKGROUND),
    )

    rows = endpoints_of(
        replica=replica, local=SHARED, attempts=[attempt(0, "a", where="gpu-2")], since=NOW - 3600, now=NOW
    )

    assert [(row.name, row.only, row.either, row.oldest is not None) for row in rows] == [
        ("gpu-2", 1, 1, True),
        ("gpu-10", 0, 1, True),
    ]
    assert (rows[0].hour.attempts, rows[1].hour) == (1, QUIET)


@pytest.mark.parametrize("name", ["gpu-9", ""])
def test_there_is_no_sheet_of_an_unknown_endpoint(name):
    replica = replica_of(("server", "gpu-1", BUSY))

    assert (
        endpoint_sheet_of(replica=replica, local=SHARED, name=name, config=CONFIG, attempts=(), since=0, now=NOW)
        is None
    )


@pytest.mark.parametrize(
    ("local", "says"),
    [
        (SHARED, ""),
        (
            LocalState(is_on=True, servers=("gpu-1",), running={"gpu-1": 1}, waiting=2),
            "Cap not shared: while Redis does not answer, each web process lets calls in by its own count (1 call runs "
            "by this one's).",
        ),
        (
            LocalState(is_on=False, servers=(), running={"gpu-1": 2, "gpu-2": 1}, waiting=0),
            "Cap not shared yet: 2 calls run here that began without Redis, beside those that are counted.",
        ),
        (LocalState(is_on=True, servers=("gpu-2",), running={"gpu-2": 1}, waiting=0), ""),
    ],
    ids=["shared", "lost", "back, and calls still run", "another server"],
)
def test_it_says_when_its_cap_is_not_shared(local, says):
    """A-33."""
    assert sheet(local=local).one.local == says
