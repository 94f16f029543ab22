"""A-35. Servers of one resource group share one more cap: who finds a place there, and how long the others wait."""

import pytest

from providers.core.specs import ResourceGroup
from scheduler.core.decisions import Evict, Load, Queue, Use, Wait
from scheduler.core.placement.decide import decide
from scheduler.core.placement.estimates import wait_seconds
from tests.builders import NOW, call, cluster, server
from tests.core.placement.taken import taken

ONE = call().prefers("m")
USE = Use(server="gpu-1", model="m")


def on_bus(name="gpu-1", *, cap=1, bus="bus"):
    """A server that shares a memory bus on which so many calls may run at once."""
    return server(name).having(resource_group=ResourceGroup(name=bus, max_concurrent=cap))


def pair(*, cap=1, **more):
    """Two servers on one bus, each with a model of its own: the first is asked for, both have slots to spare."""
    return (
        on_bus(cap=cap).loaded("m", slots=9).having(**more),
        on_bus("gpu-2", cap=cap).loaded("n", slots=9),
    )


MINE, OTHER = pair()
TWO, OTHER_OF_TWO = pair(cap=2)

DECISIONS = [
    ("An idle group lets a call in", cluster(MINE, OTHER), ONE, USE),
    ("A call on the other server takes the only place", cluster(MINE, OTHER.busy("n")), ONE, "queue"),
    ("Below the cap a call comes in", cluster(TWO, OTHER_OF_TWO.busy("n")), ONE, USE),
    ("The calls of both servers add up", cluster(TWO.busy("m"), OTHER_OF_TWO.busy("n")), ONE, "queue"),
    ("A server outside of the group does not count", cluster(MINE, server("gpu-2").loaded("n").busy("n")), ONE, USE),
    (
        "A server in another group does not count",
        cluster(MINE, on_bus("gpu-2", bus="bus-2").loaded("n").busy("n")),
        ONE,
        USE,
    ),
    ("A load counts, for it has a ticket", cluster(MINE, on_bus("gpu-2").loading("n")), ONE, "queue"),
    (
        "A held place counts",
        cluster(MINE, OTHER.ticket("n", state="planned", agent="other")),
        ONE,
        "queue",
    ),
    (
        "A place held for the request's own agent is lent to it, wherever in the group",
        cluster(MINE, OTHER.ticket("n", state="planned", agent="analyst")),
        ONE,
        USE,
    ),
    (
        "What is lent makes no room beside others",
        cluster(MINE.busy("m"), OTHER.ticket("n", state="planned", agent="analyst")),
        ONE,
        "queue",
    ),
    (
        "A running call of the request's own agent is not lent",
        cluster(MINE, OTHER.busy("n", agent="analyst").ticket("n", state="planned", agent="other")),
        ONE,
        "queue",
    ),
    ("A reserve keeps no place in the group", cluster(*pair(cap=1, interactive_reserve=5)), ONE.background(), USE),
    ("Below its own cap and the group's a call comes in", cluster(*pair(cap=4, max_concurrent=1)), ONE, USE),
    (
        "The server's own cap is full and the group's is not",
        cluster(pair(cap=4, max_concurrent=1)[0].busy("m"), pair(cap=4)[1]),
        ONE,
        "queue",
    ),
    (
        "A copy elsewhere is used instead, however light",
        cluster(MINE, OTHER.busy("n"), server("gpu-3").having(weight=1).loaded("m")),
        ONE,
        Use(server="gpu-3", model="m"),
    ),
    (
        "The next acceptable model is used instead",
        cluster(MINE, OTHER.busy("n"), server("gpu-3").loaded("k")),
        call().prefers("m", 70).then("k", 60),
        Use(server="gpu-3", model="k"),
    ),
    (
        "A server of a full group takes no load",
        cluster(on_bus(), OTHER.busy("n")).knowing("k", 4096),
        call().prefers("k"),
        Wait(model="k"),
    ),
    (
        "A server of a full group gives up no model",
        cluster(on_bus().total(8192).loaded("idle", 8192), OTHER.busy("n").total(10240)).knowing("k", 8192),
        call().prefers("k"),
        Wait(model="k"),
    ),
    (
        "With a place in the group it takes a load",
        cluster(on_bus(), OTHER).knowing("k", 32768),
        call().prefers("k"),
        Load(server="gpu-1", model="k", footprint_mib=32768, cost_s=32.0),
    ),
    (
        "With a place in the group it gives up an idle model",
        cluster(on_bus().total(8192).loaded("idle", 8192), OTHER.total(10240)).knowing("k", 8192),
        call().prefers("k"),
        Evict(server="gpu-1", model="k", footprint_mib=8192, evicts=("idle",), cost_s=9.0),
    ),
    (
        "A load in a full group is queued on, though its copy has slots",
        cluster(on_bus().having(slots=2).loading("m", 10240), on_bus("gpu-2")),
        ONE,
        Queue(server="gpu-1", model="m", cost_s=40.0),
    ),
    (
        "A call queues where its group has a place first",
        cluster(
            MINE,
            OTHER.busy("n", at=NOW - 12),
            on_bus("gpu-3", bus="bus-2").loaded("m"),
            on_bus("gpu-4", bus="bus-2").loaded("n").busy("n", at=NOW - 20),
        ),
        ONE,
        Queue(server="gpu-3", model="m", cost_s=10.0),
    ),
    (
        "A busy copy is queued on for as long as the group takes",
        cluster(on_bus(cap=2).loaded("m").busy("m", at=NOW - 27), on_bus("gpu-2", cap=2).loaded("n").busy("n")),
        ONE,
        Queue(server="gpu-1", model="m", cost_s=3.0),
    ),
]


@pytest.mark.parametrize(("built", "asked", "expected"), [c[1:] for c in DECISIONS], ids=[c[0] for c in DECISIONS])
def test_who_is_let_into_a_group(built, asked, expected):
    assert taken(decide(request=asked.value, snapshot=built.at()), like=expected) == expected


WAITS = [
    ("A group with a place makes nobody wait", cluster(TWO, OTHER_OF_TWO.busy("n")), 0.0),
    ("The call that ends first, wherever it runs", cluster(MINE, OTHER.busy("n", at=NOW - 12)), 18.0),
    (
        "The usual length is that of the server where the call runs",
        cluster(MINE, OTHER.having(call_s=10.0).busy("n", at=NOW - 4)),
        6.0,
    ),
    (
        "A load elsewhere takes its rest, at the pace of its server, and then a call",
        cluster(MINE, on_bus("gpu-2").having(load_mib_per_s=512.0).loading("n", 10240)),
        50.0,
    ),
    (
        "Of two calls the one that ends first",
        cluster(TWO.busy("m", at=NOW - 5), OTHER_OF_TWO.busy("n", at=NOW - 12)),
        18.0,
    ),
    (
        "A lowered cap: a place is free when enough have ended",
        cluster(MINE.busy("m", at=NOW - 5), OTHER.busy("n", at=NOW - 12)),
        25.0,
    ),
    (
        "The slot takes longer than the group",
        cluster(on_bus(cap=2).loaded("m").busy("m", at=NOW - 5), OTHER_OF_TWO.busy("n", at=NOW - 12)),
        25.0,
    ),
    (
        "Who queues on the copy goes before, each for a call of this server",
        cluster(on_bus().loaded("m", slots=9, queued=2).having(call_s=20.0), OTHER.busy("n", at=NOW - 12)),
        18.0 + 20.0 + 20.0,
    ),
    (
        "What is lent to the own agent does not count",
        cluster(TWO.busy("m", at=NOW - 12), OTHER_OF_TWO.busy("n").ticket("n", state="planned", agent="analyst")),
        18.0,
    ),
    (
        "The server's own cap takes longer than the group",
        cluster(
            on_bus(cap=2).loaded("m", slots=9).having(max_concurrent=1).busy("m", at=NOW - 2),
            OTHER_OF_TWO.busy("n", at=NOW - 12),
        ),
        28.0,
    ),
]


@pytest.mark.parametrize(("built", "expected"), [c[1:] for c in WAITS], ids=[c[0] for c in WAITS])
def test_seconds_until_a_group_has_a_place(built, expected):
    snapshot = built.at()

    found = wait_seconds(snapshot=snapshot, server=snapshot.servers["gpu-1"], model="m", request=ONE.value)

    assert found == expected


def test_what_was_worked_out_for_one_agent_is_not_told_to_another():
    """The estimate of a group is kept for all who ask; a place held for one of them counts for the others alone."""
    snapshot = cluster(
        TWO.busy("m", at=NOW - 5),
        OTHER_OF_TWO.busy("n", at=NOW - 12).ticket("n", state="planned", agent="analyst", at=NOW),
    ).at()

    def wait(agent):
        asked = call(agent).prefers("m").value
        return wait_seconds(snapshot=snapshot, server=snapshot.servers["gpu-1"], model="m", request=asked)

    assert [wait("analyst"), wait("somebody"), wait("analyst")] == [18.0, 25.0, 18.0]


def test_what_is_folded_into_a_picture_counts_for_the_whole_group():
    """In one pass of planning a grant on one server takes the place on the other."""
    before = cluster(MINE, OTHER).at()

    ticket = OTHER.busy("n").value.tickets[0]
    after = before.with_ticket(ticket)

    assert isinstance(decide(request=ONE.value, snapshot=before), Use)
    assert isinstance(decide(request=ONE.value, snapshot=after), Queue)
    assert isinstance(decide(request=ONE.value, snapshot=after.without_ticket(server="gpu-2", ticket=ticket.id)), Use)
