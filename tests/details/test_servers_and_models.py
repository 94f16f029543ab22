"""Servers and models: lists and single ones."""

from dataclasses import replace

from kubemoot_web.board.details.day import Flights
from kubemoot_web.board.details.model import Registration, begin_of_hours, model_sheet_of
from kubemoot_web.board.details.models import models_of
from kubemoot_web.board.details.server import Past, Told, server_sheet_of
from kubemoot_web.board.details.servers import servers_of
from kubemoot_web.board.times import Moment
from providers.core.specs import ResourceGroup
from scheduler.core.call_history import CallState
from scheduler.core.calls import AgentUse
from scheduler.core.gate import Admission, AdmissionState
from scheduler.core.ledger import ServerLearned
from scheduler.core.server_history import ServerEventKind, ServerEventRecord
from scheduler.core.types import LoadUnderWay
from tests.board.views import NOON, copy, record, ticket, waiter
from tests.details.replicas import replica_of
from tests.details.test_calls import call

NOW = NOON + 60
NOTHING = Past(events=(), flights=Flights(begun=0, changes=()), calls=(), keys={}, stood_aside=())


def learned(one, **more):
    """Make the same server with what it taught."""
    return type(one)(config=one.config, seen=one.seen, learned=ServerLearned(**more))


def test_a_paused_server_is_marked_in_the_list_and_is_none_of_the_ready_ones():
    paused = replace(record(), admission=Admission(state=AdmissionState.PAUSED, reason="new fans", since=NOON))

    shown = servers_of(replica=replica_of(("server", "gpu-1", paused)), calls={}, tallies={}, now=NOW)

    (row,) = shown.rows
    assert (shown.ready, row.phase, row.tone, row.is_ready, row.is_open) == (0, "Paused", "warn", True, False)
    assert row.closed == "Paused: new fans. What runs here goes on; nothing new is placed here until it is resumed."


def test_a_server_s_page_names_its_resource_group_with_its_cap_and_the_others():
    """A-35."""
    bus = {"resource_group": ResourceGroup(name="bus-1", max_concurrent=2)}
    replica = replica_of(("server", "gpu-1", record(**bus)), ("server", "gpu-2", record("gpu-2", **bus)))

    sheet = server_sheet_of(replica=replica, name="gpu-1", past=NOTHING, span="day", now=NOW)

    facts = {fact.name: fact.value for fact in sheet.facts}
    assert facts["calls together"] == "2 at most in the resource group bus-1, with gpu-2"
    assert "calls at once" not in facts


def test_the_list_of_servers_says_how_each_is_and_what_it_did():
    replica = replica_of(
        ("server", "gpu-1", record(residents=[copy()])),
        ("server", "gpu-2", record("gpu-2", seen={"phase": "stale", "ready": False})),
        ("server", "gpu-3", record("gpu-3", seen={"phase": "pending", "ready": False})),
        ("ticket", "t1", ticket()),
        ("waiter", "w1", waiter("w1", model="qwen3:14b", server="gpu-1", action="queue")),
        ("load", "gpu-1 x", LoadUnderWay(server="gpu-1", model="qwen3:8b", footprint_mib=1, started_at=NOON)),
    )

    shown = servers_of(
        replica=replica, calls={"gpu-1": 7}, tallies={"gpu-1": {"load_done": 3, "victim_gone": 2}}, now=NOW
    )

    one, two, three = shown.rows
    assert shown.ready == 1
    assert [(row.name, row.phase, row.tone, row.is_ready) for row in shown.rows] == [
        ("gpu-1", "Ready", "good", True),
        ("gpu-2", "Not answering", "warn", False),
        ("gpu-3", "Not probed yet", "busy", False),
    ]
    assert ([mark.name for mark in one.models], [mark.name for mark in one.loading]) == (["qwen3:14b"], ["qwen3:8b"])
    assert (one.running, one.slots, one.waiting, one.calls, one.loads, one.unloads, one.failures) == (
        1,
        1,
        1,
        7,
        3,
        2,
        0,
    )
    assert (two.calls, two.loads, three.memory) == (0, 0, None)


def test_the_list_of_servers_is_sorted_the_way_people_count():
    replica = replica_of(*(("server", name, record(name)) for name in ("gpu-10", "gpu-2")))

    assert [row.name for row in servers_of(replica=replica, calls={}, tallies={}, now=NOW).rows] == ["gpu-2", "gpu-10"]


def test_a_server_tells_what_it_refused_and_why():
    resting = learned(
        record(), blocked_until={"qwen3:8b": NOW + 30}, failures={"qwen3:8b": 1}, load_problem="no more room"
    )
    failed = ServerEventRecord(
        server="gpu-1", kind=ServerEventKind.LOAD_FAILED, at=NOON, model="qwen3:8b", detail="no more room"
    )
    aside = call(state=CallState.STOOD_ASIDE, model="llama3:405b", server="", finished_at=NOON + 5)
    past = Past(
        events=(failed,),
        flights=Flights(begun=0, changes=()),
        calls=(),
        keys={},
        stood_aside=(aside, call("c2", state=CallState.STOOD_ASIDE, model="qwen3:14b", server="")),
    )
    rows = [("server", "gpu-1", resting), ("footprint", "llama3:405b", 240_000), ("footprint", "qwen3:14b", 10240)]

    shown = server_sheet_of(replica=replica_of(*rows), name="gpu-1", past=past, span="", now=NOW)

    assert shown.refusals == (
        Told(
            at=None,
            says="Loading qwen3:8b rests here. No more room.",
            tone="warn",
            until=Moment(iso="2026-11-29T12:04:30Z", words="12:04:30 UTC"),
        ),
        Told(
            at=Moment(iso="2026-11-29T12:03:05Z", words="12:03:05 UTC"),
            says="1 call for llama3:405b stood aside. It needs 234.4 GiB, and models may use 28.2 GiB here, however "
            "empty it is.",
        ),
        Told(
            at=Moment(iso="2026-11-29T12:03:00Z", words="12:03:00 UTC"),
            says="Loading qwen3:8b failed. No more room.",
            tone="bad",
        ),
    )
    assert shown.unrefused == ""


def test_a_quiet_server_says_so_and_names_its_settings():
    settings = {"slots": 2, "max_concurrent": 4, "interactive_reserve": 1, "aborts_on_disconnect": False}
    settings["quarantine_on_ambiguous"] = True
    one = learned(record(**settings), call_s=12.0, load_mib_per_s=1024.0)

    shown = server_sheet_of(replica=replica_of(("server", "gpu-1", one)), name="gpu-1", past=NOTHING, span="", now=NOW)

    assert shown.unrefused == "Nothing was refused here in the last day."
    assert {fact.name: fact.value for fact in shown.facts} == {
        "engine": "Ollama",
        "address": "http://gpu-1",
        "memory": "32.0 GiB",
        "for models": "28.2 GiB",
        "slots for each model": "2",
        "calls at once": "4 at most",
        "kept for people": "1 of them",
        "when a client leaves": "its engine works on",
        "when a call ends in doubt": "it is taken out",
        "a call takes": "12 s",
        "loads at": "1.0 GiB/s",
    }
    assert (shown.events, shown.calls) == ((), ())


def test_the_last_events_are_told_newest_first():
    events = tuple(
        ServerEventRecord(server="gpu-1", kind=ServerEventKind.LOAD_DONE, at=NOON + n, model=f"m{n}", mib=1)
        for n in range(20)
    )
    past = Past(events=events, flights=Flights(begun=0, changes=()), calls=(), keys={}, stood_aside=())

    shown = server_sheet_of(
        replica=replica_of(("server", "gpu-1", record())), name="gpu-1", past=past, span="", now=NOW
    )

    assert [told.says for told in shown.events][:2] == ["Loaded m19.", "Loaded m18."]
    assert len(shown.events) == 12


def test_the_list_of_models_sets_apart_what_nobody_registered():
    replica = replica_of(
        ("server", "gpu-1", record(residents=[copy()])),
        ("server", "gpu-2", record("gpu-2", seen={"models": ("qwen3:14b", "stray:1b")})),
        ("footprint", "qwen3:32b", 20480),
        ("waiter", "w1", waiter("w1")),
    )

    shown = models_of(
        replica=replica,
        registered=("qwen3:32b", "qwen3:14b"),
        agents={"qwen3:14b": 3, "gone:1b": 1},
        calls={"qwen3:14b": 9},
        now=NOW,
    )

    assert [
        (row.name, row.size, row.loaded, row.on_disk, row.agents, row.waiting, row.calls) for row in shown.registered
    ] == [
        ("qwen3:14b", "10.0 GiB", ("gpu-1",), 1, 3, 0, 9),
        ("qwen3:32b", "20.0 GiB", (), 0, 0, 1, 0),
    ]
    assert [row.name for row in shown.others] == ["gone:1b", "stray:1b"]


def model(*rows, name="qwen3:14b", **more):
    """Show a model."""
    given = {"registration": Registration(), "by_hour": {}, "calls": (), "keys": {}, "uses": ()} | more
    return model_sheet_of(replica=replica_of(*rows), name=name, now=NOW, **given)


def test_a_model_says_where_it_is_and_where_it_could_be_with_numbers():
    shown = model(
        ("server", "gpu-1", record(residents=[copy()])),
        ("server", "gpu-2", record("gpu-2")),
        ("server", "gpu-3", record("gpu-3", total_mib=4096)),
        ("server", "gpu-4", record("gpu-4")),
        ("ticket", "t1", ticket()),
        registration=Registration(
            names=("default/m",), labels={"family": "qwen3"}, servers=frozenset({"gpu-1", "gpu-2", "gpu-3"})
        ),
    )

    assert shown is not None
    assert [
        (place.server, place.word, place.tone, place.slots, place.need_share, place.free_share)
        for place in (*shown.places, *shown.never)
    ] == [
        ("gpu-1", "in memory", "good", "1 of 1 slot used", 36, 64),
        ("gpu-2", "fits now", "good", "", 36, 100),
        ("gpu-3", "never fits", "", "", 100, 20),
        ("gpu-4", "bound elsewhere", "", "", 36, 100),
    ]
    assert (len(shown.never), shown.servers, shown.chances, shown.size) == (2, 4, 2, "10.0 GiB")
    assert shown.labels == (("family", "qwen3"),)


def test_a_model_says_who_may_use_it_and_how_it_was_used():
    begin = begin_of_hours(NOW)
    uses = [
        AgentUse(agent="default/a", crew="default/lab", phase=phase, place=1, score=70, why="because")
        for phase in ("mulling", "triage")
    ]

    shown = model(by_hour={begin: 2, begin + 23 * 3600: 8}, uses=uses, calls=[call()])

    assert shown is not None
    assert (shown.total, len(shown.hours)) == (10, 24)
    assert [
        (hour.words, hour.count, hour.share, hour.top) for hour in (shown.hours[0], shown.hours[1], shown.hours[23])
    ] == [
        ("13:00", 2, 25, 75),
        ("14:00", 0, 0, 100),
        ("12:00", 8, 100, 0),
    ]
    assert [(user.agent, user.crew, [use.phase for use in user.uses]) for user in shown.users] == [
        ("default/a", "default/lab", ["mulling", "triage"])
    ]
    assert [row.call for row in shown.calls] == ["c1"]


def test_a_model_nobody_has_heard_of_is_none():
    assert model(("server", "gpu-1", record(residents=[copy()])), name="nobody") is None
    assert model(("server", "gpu-1", record(seen={"models": ("disk:1b",)})), name="disk:1b") is not None
    assert model(("waiter", "w1", waiter("w1", model="wanted:1b")), name="wanted:1b") is not None
