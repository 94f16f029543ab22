"""Calls and server events, read back: filters, pages, counts, and that an index answers each of them."""

from datetime import UTC, datetime
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from scheduler import queries
from scheduler.core.call_history import CallRecord, CallState
from scheduler.core.server_history import ServerEventKind
from scheduler.models import Call, ServerEvent

pytestmark = pytest.mark.django_db
NOON = 1_795_953_780.0  # 12:03:00 UTC
HOUR = 3600.0


def time(at: float | None) -> datetime | None:
    """Write a Unix time as the database has it."""
    return None if at is None else datetime.fromtimestamp(at, tz=UTC)


def call(id: str, at: float = 0, *, started: float | None = None, ended: float | None = None, **more: Any) -> Call:
    """Make a call that came in so many seconds after noon."""
    given = {"agent": "default/analyst", "state": "done", "server": "gpu-1", "model": "m", "priority": "interactive"}
    times = {
        "arrived_at": time(NOON + at),
        "started_at": None if started is None else time(NOON + started),
        "finished_at": None if ended is None else time(NOON + ended),
    }
    return Call(id=id, **given | times | more)


def page(**more: Any) -> tuple[list[str], str]:
    """Read a page and give its ids and where it goes on."""
    found = queries.call_page(**{"filters": {}, "since": None, "before": "", "limit": 2} | more)
    return [one.id for one in found.calls], found.next


def test_pages_follow_each_other_without_loss_or_repeat_where_calls_came_in_together():
    Call.objects.bulk_create([call("a", 0), call("b", 1), call("c", 1), call("d", 1), call("e", 2)])

    assert page() == (["e", "d"], "d")
    assert page(before="d") == (["c", "b"], "b")
    assert page(before="b") == (["a"], "")
    assert page(before="gone") == ([], "")


def test_every_filter_narrows_and_all_of_them_must_hold():
    Call.objects.bulk_create(
        [
            call("a", 0, agent="default/scout", crew="default/lab"),
            call("b", 1, server="gpu-2"),
            call("c", 2, model="n", action="evict"),
            call("d", 3, state="failed"),
        ]
    )
    wanted = {"agent": "default/scout", "crew": "default/lab", "server": "gpu-2", "model": "n", "action": "evict"}

    found = {name: page(filters={name: value})[0] for name, value in (wanted | {"state": "failed"}).items()}

    assert found == {"agent": ["a"], "crew": ["a"], "server": ["b"], "model": ["c"], "action": ["c"], "state": ["d"]}
    assert page(filters={"server": "gpu-2", "model": "n"}) == ([], "")
    assert page(since=NOON + 2) == (["d", "c"], "")


def test_a_list_reads_no_decisions_and_one_call_does():
    Call.objects.bulk_create([call("a", 0, decision={"options": [1]}, evicted=["x"])])

    with CaptureQueriesContext(connection) as caught:
        listed = queries.call_page(filters={}, since=None, before="", limit=5).calls

    assert '"decision"' not in caught[0]["sql"]
    assert len(caught) == 1
    assert listed == (
        CallRecord(
            id="a",
            agent="default/analyst",
            state=CallState.DONE,
            arrived_at=NOON,
            model="m",
            server="gpu-1",
            evicted=("x",),
        ),
    )
    found = queries.one_call(id="a")
    assert found is not None
    assert found.decision == {"options": [1]}
    assert queries.one_call(id="b") is None


PLANS = [
    ({}, "call_newest_first"),
    ({"agent": "default/analyst"}, "call_by_agent"),
    ({"crew": "default/lab"}, "call_by_crew"),
    ({"server": "gpu-1"}, "call_by_server"),
    ({"model": "m"}, "call_by_model"),
    ({"state": "failed"}, "call_by_state"),
]


@pytest.mark.parametrize(("filters", "index"), PLANS, ids=[index for _, index in PLANS])
@pytest.mark.parametrize("before", ["", "a"])
@pytest.mark.parametrize("since", [None, NOON])
def test_an_index_finds_and_orders_every_page(filters, index, before, since):
    plan = queries.calls(filters=filters, since=since, before=before)[:51].explain()

    assert f"USING INDEX {index}" in plan
    assert "TEMP B-TREE" not in plan


def test_an_index_finds_and_orders_what_is_to_be_forgotten():
    old_calls = queries.calls_before(before=NOON)[:500].explain()
    ServerEvent.objects.create(server="gpu-1", kind="probed", at=datetime.fromtimestamp(NOON - 60, tz=UTC))
    old_events = queries.server_events_before(server="gpu-1", before=NOON)[:500].explain()

    assert "USING INDEX call_newest_first" in old_calls
    assert "USING INDEX server_event_newest_first" in old_events
    assert "TEMP B-TREE" not in old_calls
    assert "TEMP B-TREE" not in old_events


def test_calls_are_counted_by_hour_server_and_model():
    Call.objects.bulk_create([call("a", -HOUR), call("b", 0), call("c", 60), call("d", 2, model="n", server="gpu-2")])
    noon = NOON - 180

    assert queries.calls_by_hour(model="m", since=NOON - 2 * HOUR) == {noon - HOUR: 1, noon: 2}
    assert queries.calls_by(what="server", since=NOON) == {"gpu-1": 2, "gpu-2": 1}
    assert queries.calls_by(what="model", since=NOON) == {"m": 2, "n": 1}


def test_calls_in_flight_are_counted_from_the_beginning_on():
    Call.objects.bulk_create(
        [
            call("over", -100, started=-90, ended=-80),
            call("before", -100, started=-90, ended=5),
            call("running", 1, started=2),
            call("short", 1, started=2, ended=9),
            call("waits", 3),
            call("gave up", 3, ended=4, state="given_up"),
            call("elsewhere", 1, started=2, server="gpu-2"),
        ]
    )

    assert queries.calls_in_flight(server="gpu-1", since=NOON, until=NOON + 60) == (
        1,
        ((NOON + 2, 2), (NOON + 5, -1), (NOON + 9, -1)),
    )
    assert queries.calls_in_flight(server="gpu-1", since=NOON, until=NOON + 24 * HOUR) == (1, ((NOON, 0),))


def event(kind: str, at: float, **more: Any) -> ServerEvent:
    """Make an event on gpu-1, so many seconds after noon."""
    return ServerEvent(server="gpu-1", kind=kind, at=time(NOON + at), **more)


def test_events_begin_with_the_last_probe_before_so_that_what_was_held_is_known():
    ServerEvent.objects.bulk_create(
        [
            event("probed", -50, phase="ready"),
            event("probed", -40, phase="stale"),
            event("load_done", -30, model="m"),
            event("victim_gone", 1, model="m"),
            event("load_done", 2, model="n"),
            event("load_done", 3, model="o"),
        ]
    )

    def read(**more: Any) -> list[tuple[str, float]]:
        found = queries.server_events(**{"server": "gpu-1", "since": NOON, "limit": 10} | more)
        return [(one.kind.value, one.at - NOON) for one in found]

    tail = [("victim_gone", 1), ("load_done", 2), ("load_done", 3)]
    assert read() == [("probed", -40), ("load_done", -30), *tail]
    assert read(since=NOON + 9) == [("probed", -40), ("load_done", -30), *tail]
    assert read(limit=2)[-2:] == tail[1:]
    assert read(server="gpu-2") == []
    assert queries.server_tallies(since=NOON) == {"gpu-1": {"load_done": 2, "victim_gone": 1}}
    probe = queries.last_probe(server="gpu-1")
    assert probe is not None
    assert (probe.kind, probe.phase) == (ServerEventKind.PROBED, "stale")
    assert queries.last_probe(server="gpu-2") is None
