"""Calls: their parts in seconds, their filters, one of them with everything about it."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import pytest

from kubemoot_web.board.details.call import Fact, call_sheet_of
from kubemoot_web.board.details.call_rows import rows_of
from kubemoot_web.board.details.filters import Filters, filters_of
from kubemoot_web.board.details.parts import Part, parts_of
from kubemoot_web.board.marks import Palette
from kubemoot_web.board.times import moment
from scheduler.core.attempt_history import AttemptRecord
from scheduler.core.call_history import CallRecord, CallState
from scheduler.core.config import SchedulerConfig
from scheduler.core.types import TicketState
from tests.board.views import NOON, copy, record, ticket, waiter
from tests.details.replicas import replica_of


def call(id: str = "c1", **more) -> CallRecord:
    """Make a call that waited 2 s, loaded 8 s and ran 10 s."""
    given = {
        "agent": "default/analyst",
        "state": CallState.DONE,
        "arrived_at": NOON,
        "granted_at": NOON + 2,
        "started_at": NOON + 10,
        "finished_at": NOON + 20,
        "action": "load",
        "model": "qwen3:14b",
        "server": "gpu-1",
    }
    return CallRecord(id=id, **given | more)


PARTS = {
    "it waited, loaded and ran": (call(), [("wait", "2.0 s", 10), ("load", "8.0 s", 40), ("run", "10 s", 50)]),
    "a warm slot needs no load": (call(action="use"), [("wait", "10 s", 50), ("run", "10 s", 50)]),
    "who got its place at once did not wait": (
        call(action="use", granted_at=NOON, started_at=NOON),
        [("run", "20 s", 100)],
    ),
    "it still waits": (
        call(state=CallState.WAITING, granted_at=None, started_at=None, finished_at=None),
        [("wait", "40 s", 100)],
    ),
    "it still loads": (
        call(state=CallState.LOADING, started_at=None, finished_at=None),
        [("wait", "2.0 s", 5), ("load", "38 s", 95)],
    ),
    "it still runs": (
        call(state=CallState.RUNNING, finished_at=None),
        [("wait", "2.0 s", 5), ("load", "8.0 s", 20), ("run", "30 s", 75)],
    ),
    "its caller left and the engine works on": (
        call(state=CallState.LEFT, finished_at=None),
        [("wait", "2.0 s", 5), ("load", "8.0 s", 20), ("run", "30 s", 75)],
    ),
    "it gave up": (
        call(state=CallState.GIVEN_UP, granted_at=None, started_at=None),
        [("wait", "20 s", 100)],
    ),
    "it has just begun": (
        call(state=CallState.WAITING, arrived_at=NOON + 40, granted_at=None, started_at=None, finished_at=None),
        [("wait", "0.0 s", 0)],
    ),
    "clocks that disagree make no negative time": (
        call(granted_at=NOON - 1, started_at=NOON - 2),
        [("run", "22 s", 100)],
    ),
}


@pytest.mark.parametrize(("one", "wanted"), PARTS.values(), ids=PARTS)
def test_a_call_is_told_in_parts(one, wanted):
    found = parts_of(call=one, now=NOON + 40)

    assert [(part.kind, part.lasts, part.share) for part in found] == wanted


def test_a_part_that_goes_on_is_told_in_the_present():
    going = call(state=CallState.LOADING, started_at=None, finished_at=None)

    assert parts_of(call=going, now=NOON + 4) == (
        Part(kind="wait", says="waited for a place", lasts="2.0 s", share=50),
        Part(kind="load", says="waits for the load", lasts="2.0 s", share=50),
    )


def test_what_goes_on_for_a_caller_that_left_is_told_so():
    """A-23."""
    left = call(action="use", granted_at=NOON, started_at=NOON, state=CallState.LEFT, finished_at=None)

    (part,) = parts_of(call=left, now=NOON + 4)

    assert part == Part(kind="run", says="its caller has left; the engine works on", lasts="4.0 s", share=100)


def test_the_longest_call_of_a_list_fills_its_bar_and_the_others_are_drawn_to_its_scale():
    short = call("c2", granted_at=NOON, started_at=NOON, finished_at=NOON + 5, action="use")

    long_row, short_row = rows_of(calls=[call(), short], keys={}, palette=Palette(["qwen3:14b"]), now=NOON + 40)

    assert [part.share for part in long_row.parts] == [10, 40, 50]
    assert [part.share for part in short_row.parts] == [25]
    assert rows_of(calls=[], keys={}, palette=Palette([]), now=NOON) == ()


ASKED = {
    "nothing": ({}, {}, {}, ""),
    "empty values are none": ({"agent": "", "server": "  "}, {}, {}, ""),
    "bare names are those of the default namespace, and an agent's may be a key's": (
        {"agent": "scout", "crew": "lab", "server": "default/gpu-1"},
        {"agent": "scout", "crew": "default/lab", "server": "gpu-1"},
        {"agent": "default/scout", "crew": "default/lab", "server": "gpu-1"},
        "?agent=scout&crew=default%2Flab&server=gpu-1",
    ),
    "a time is no column": (
        {"since": "1h", "model": "hf.co/a/b:q4"},
        {"since": "1h", "model": "hf.co/a/b:q4"},
        {"model": "hf.co/a/b:q4"},
        "?model=hf.co%2Fa%2Fb%3Aq4&since=1h",
    ),
    "what nobody knows is left out": (
        {"colour": "red", "state": "done"},
        {"state": "done"},
        {"state": "done"},
        "?state=done",
    ),
    "the place to go on at is kept": ({"before": "c1"}, {}, {}, "?before=c1"),
}


@pytest.mark.parametrize(("asked", "values", "columns", "address"), ASKED.values(), ids=ASKED)
def test_filters_are_read_from_the_address(asked, values, columns, address):
    found = filters_of(asked)

    assert (found.values, found.columns, found.address(), found.problems) == (values, columns, address, ())


def test_what_is_not_understood_is_said_and_not_used():
    assert filters_of({"state": "sleeping", "since": "ever", "action": "use"}) == Filters(
        values={"action": "use"},
        columns={"action": "use"},
        since_s=None,
        before="",
        problems=(
            "state=sleeping is not understood, so it is not used.",
            "since=ever is not understood, so it is not used.",
        ),
    )
    assert filters_of({"since": "15m"}).since_s == 900
    assert filters_of({"agent": "a/b"}).address(before="c9") == "?agent=a%2Fb&before=c9"


def sheet(
    *rows,
    call: CallRecord | None = None,
    id: str = "c1",
    attempts: Sequence[AttemptRecord] = (),
    keys: Mapping[str, str] = MappingProxyType({}),
):
    """Show a call on a cluster of these documents."""
    return call_sheet_of(
        call=call,
        attempts=attempts,
        keys=keys,
        id=id,
        replica=replica_of(*rows),
        config=SchedulerConfig(),
        now=NOON + 40,
    )


def test_a_call_tells_its_time_its_decision_and_its_facts():
    options = [
        {"action": "evict", "server": "gpu-1", "model": "qwen3:14b", "costSeconds": 10.0, "evicts": ["qwen3:8b"]},
        {"action": "queue", "server": "gpu-2", "model": "qwen3:14b", "costSeconds": 40.0, "why": "would take longer"},
    ]
    decision = {"action": "evict", "costSeconds": 10.0, "options": options}
    shown = sheet(
        call=call(
            action="evict",
            evicted=("qwen3:8b",),
            decision=decision,
            thread="t-1",
            prompt_tokens=1200,
            completion_tokens=0,
        )
    )

    assert shown is not None
    assert (shown.whole, shown.bar) == ("20 s", "waited for a place 2.0 s, waited for the load 8.0 s, ran 10 s")
    assert [(option.says, option.share, option.is_taken, option.cost) for option in shown.options] == [
        ("load qwen3:14b on gpu-1, without qwen3:8b", 25, True, "10 s"),
        ("queue for qwen3:14b on gpu-2", 100, False, "40 s"),
    ]
    assert shown.facts == (
        Fact(name="priority", value="interactive"),
        Fact(name="thread", value="t-1"),
        Fact(name="prompt tokens", value="1,200"),
        Fact(name="completion tokens", value="0"),
    )
    assert [name for name, _ in shown.times] == ["came in", "got its place", "began to run", "ended"]
    assert [mark.name for mark in shown.evicted] == ["qwen3:8b"]
    assert (shown.weighed, shown.waits, shown.news, shown.is_going_on) == ("", None, "", False)


def test_a_call_that_took_a_held_place_shows_what_was_weighed_at_selection():
    load = {"action": "load", "server": "gpu-1", "model": "qwen3:14b", "costSeconds": 10.0}
    decision = {"action": "load", "costSeconds": 10.0, "options": [load], "plannedAt": NOON - 5}

    shown = sheet(call=call(action="load", decision=decision))

    assert shown is not None
    assert [option.says for option in shown.options] == ["load qwen3:14b on gpu-1"]
    assert shown.weighed == "It took the place that was held for it: this was weighed when its agent was selected."
    assert shown.times[0] == ("was selected", moment(NOON - 5))


def test_a_call_that_had_no_way_says_that_nothing_was_weighed():
    hopeless = sheet(call=call(granted_at=None, state=CallState.STOOD_ASIDE, decision={"options": []}))

    assert hopeless is not None
    assert hopeless.weighed == "There was nothing to weigh: no GPU had room that could be used."


def test_a_call_whose_decision_is_not_known_yet_is_not_explained():
    fresh = sheet(call=call(decision=None))

    assert fresh is not None
    assert fresh.weighed == ""


def test_a_call_that_waits_says_where_it_stands_and_what_would_help():
    rows = (
        ("server", "gpu-1", record(residents=[copy()])),
        ("ticket", "t1", ticket()),
        ("waiter", "c1", waiter("c1", model="qwen3:14b", server="gpu-1", action="queue")),
    )

    shown = sheet(*rows, call=call(state=CallState.WAITING, granted_at=None, started_at=None, finished_at=None))

    assert shown is not None
    assert shown.waits is not None
    assert (shown.waits.row.turn, shown.waits.row.sentence) == ("1", "waiting for a free slot of qwen3:14b on gpu-1")
    assert shown.waits.row.id == ""


def test_a_call_that_history_has_not_got_yet_is_shown_from_the_ledger():
    waits = sheet(("waiter", "c1", waiter("c1")))
    loads = sheet(
        ("server", "gpu-1", record()),
        ("ticket", "t1", ticket(call="c1", waiter="c1", state=TicketState.LOADING, arrived_at=NOON, action="load")),
        ("waiter", "c1", waiter("c1", ticket="t1")),
    )
    runs = sheet(("server", "gpu-1", record()), ("ticket", "t1", ticket(call="c1", arrived_at=NOON)))

    assert [one and one.choice.state for one in (waits, loads, runs)] == ["waiting", "loading", "running"]
    assert waits is not None
    assert waits.news == "This call has just come in; what is known of it grows within a second."
    assert sheet(id="nobody") is None
