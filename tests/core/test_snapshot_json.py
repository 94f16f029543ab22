"""Snapshots as JSON: what comes in, what stands in for the unknown, and what goes out."""

from hypothesis import given, settings
from hypothesis import strategies as st

from providers.core.specs import ResourceGroup
from scheduler.core.snapshot import ClusterSnapshot, Resident, Server
from scheduler.core.snapshot_json import read_request, read_snapshot, write_demand, write_server
from scheduler.core.types import (
    CallRequest,
    Candidate,
    Demand,
    Drain,
    LoadUnderWay,
    Priority,
    Ticket,
    TicketState,
)
from tests.core.placement.snapshots import snapshot
from tests.example import SERVER, SNAPSHOT


def test_the_example_of_the_rules_is_read_field_by_field():
    assert read_snapshot(SNAPSHOT) == ClusterSnapshot(
        now=1000.0,
        servers={
            "gpu-1": Server(
                name="gpu-1",
                total_mib=32768,
                reserve_mib=3933,
                load_mib_per_s=1024.0,
                success_rate=1.0,
                residents=(Resident(model="qwen3:14b", footprint_mib=10240, last_used=990.0),),
                tickets=(
                    Ticket(
                        id="t1",
                        server="gpu-1",
                        agent="b",
                        model="qwen3:14b",
                        state=TicketState.ACTIVE,
                        started_at=995.0,
                        footprint_mib=10240,
                    ),
                ),
            )
        },
        footprints={"qwen3:32b": 20480},
        demand={"qwen3:14b": Demand(waiting={"0": 991.0}, intents={"0": 998.0}, use=1.0, last_used=990.0)},
    )


def test_what_a_snapshot_leaves_out_is_unknown_or_the_default_of_the_rules():
    doc = {
        "now": 1000.0,
        "servers": [
            {
                "name": "gpu-1",
                "residents": [{"model": "m"}],
                "tickets": [{"id": "t1", "model": "m", "state": "planned", "startedAt": None, "priority": None}],
                "slots": None,
                "weight": None,
            }
        ],
    }

    assert read_snapshot(doc) == ClusterSnapshot(
        now=1000.0,
        servers={
            "gpu-1": Server(
                name="gpu-1",
                slots=1,
                weight=100,
                residents=(Resident(model="m", footprint_mib=None),),
                tickets=(
                    Ticket(id="t1", server="gpu-1", agent="", model="m", state=TicketState.PLANNED, started_at=1000.0),
                ),
            )
        },
        footprints={},
        demand={},
    )


def test_a_request_is_read_with_its_defaults():
    doc = {"agent": "a", "candidates": [{"model": "m", "score": 70}], "tolerance": None}

    assert read_request(doc, now=1000.0) == CallRequest(
        agent="a",
        candidates=(Candidate(model="m", score=70),),
        tolerance=10,
        prompt_tokens=None,
        priority=Priority.INTERACTIVE,
        arrived_at=1000.0,
    )


def test_a_tolerance_of_zero_is_a_tolerance():
    doc = {
        "agent": "a",
        "candidates": [{"model": "m", "score": 70, "servers": ["gpu-1"]}],
        "tolerance": 0,
        "promptTokens": 1200,
        "priority": "background",
        "arrivedAt": 990.0,
    }

    assert read_request(doc, now=1000.0) == CallRequest(
        agent="a",
        candidates=(Candidate(model="m", score=70, servers=frozenset({"gpu-1"})),),
        tolerance=0,
        prompt_tokens=1200,
        priority=Priority.BACKGROUND,
        arrived_at=990.0,
    )


def test_a_server_is_written_with_exactly_the_fields_it_is_read_from():
    server = read_snapshot({"now": 1000.0, "servers": [SERVER]}).servers["gpu-1"]

    assert write_server(server) == SERVER


def test_a_server_s_resource_group_is_read_and_written():
    doc = SERVER | {"resourceGroup": {"name": "bus-1", "maxConcurrent": 2}}

    server = read_snapshot({"now": 1000.0, "servers": [doc]}).servers["gpu-1"]

    assert server.resource_group == ResourceGroup(name="bus-1", max_concurrent=2)
    assert write_server(server) == doc


@settings(max_examples=300, derandomize=True)
@given(seed=st.integers(0, 2**40))
def test_any_server_comes_back_the_same_from_what_was_written(seed):
    servers = read_snapshot(snapshot(seed)).servers

    again = read_snapshot({"now": 1000.0, "servers": [write_server(server) for server in servers.values()]}).servers

    # A ticket is written with the footprint of its copy, known or looked up: that alone may be more than was said.
    assert {name: write_server(server) for name, server in again.items()} == {
        name: write_server(server) for name, server in servers.items()
    }


def test_a_load_s_victims_and_footprint_stand_on_the_first_ticket_of_its_copy():
    server = Server(
        name="gpu-1",
        drain=Drain(model="big", agent="a", victims=("old",), since=980.0, waiter="w1"),
        models=frozenset({"big", "another"}),
        residents=(Resident(model="old", footprint_mib=4096),),
        tickets=(load_ticket("t1", started_at=990.0), load_ticket("t2", started_at=995.0)),
        loads=(LoadUnderWay(server="gpu-1", model="big", footprint_mib=8192, started_at=990.0, evicts=("old",)),),
    )

    written = write_server(server)

    assert written["tickets"] == [
        ticket_doc("t1", startedAt=990.0, evicts=["old"]),
        ticket_doc("t2", startedAt=995.0, evicts=[]),
    ]
    assert written["drain"] == {"model": "big", "agent": "a", "victims": ["old"], "since": 980.0}
    assert written["models"] == ["another", "big"]


def test_a_load_that_nobody_waits_for_any_more_stands_as_a_ticket_of_nobody():
    """The load goes on without its callers, and its memory stays reserved for whoever reads the picture."""
    load = LoadUnderWay(server="gpu-1", model="big", footprint_mib=8192, started_at=990.0, evicts=("old",))

    written = write_server(Server(name="gpu-1", loads=(load,)))

    assert written["tickets"] == [ticket_doc("load:big", agent="", startedAt=990.0, evicts=["old"])]


def test_demand_is_written_as_times_oldest_first():
    demand = Demand(waiting={"w2": 995.0, "w1": 991.0}, intents={"a#t": 998.0}, use=1.5, predicted=0.5, last_used=990.0)

    assert write_demand(demand) == {
        "waiting": [991.0, 995.0],
        "intents": [998.0],
        "use": 1.5,
        "predicted": 0.5,
        "lastUsed": 990.0,
    }


def load_ticket(key: str, *, started_at: float) -> Ticket:
    return Ticket(id=key, server="gpu-1", agent="a", model="big", state=TicketState.LOADING, started_at=started_at)


def ticket_doc(key: str, **changes: object) -> dict[str, object]:
    return {
        "id": key,
        "agent": "a",
        "model": "big",
        "state": "loading",
        "footprintMiB": 8192,
        "priority": "interactive",
        **changes,
    }
