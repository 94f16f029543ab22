"""What would help somebody who waits: sentences from facts."""

from dataclasses import replace

import pytest

from providers.core.specs import ResourceGroup
from scheduler.core import helping
from scheduler.core.helping import longer_limit, ways_out
from scheduler.core.messages.helping import helps
from scheduler.core.rooms import rooms_for
from scheduler.core.snapshot import ClusterSnapshot, Server
from scheduler.core.types import Candidate, Priority, Waiter
from tests.core.test_rooms import GIB, MODEL, NEED, copy, server, ticket

WAITER = Waiter(
    id="w1",
    agent="default/analyst",
    candidates=(Candidate(model=MODEL, score=70),),
    arrived_at=0,
    limit_at=90,
    model=MODEL,
)
BUSY = server(residents=(copy("a"),), tickets=(ticket("a"),))
SERVES = server(residents=(copy(MODEL, 20),), tickets=(ticket(MODEL),))
SMALL = server(name="gpu-2", total_mib=8 * GIB)


def told(*servers: Server, waiter: Waiter = WAITER, size: int | None = NEED) -> list[str]:
    """Say what would help."""
    snapshot = ClusterSnapshot(now=10, servers={one.name: one for one in servers}, footprints={MODEL: size}, demand={})
    rooms = rooms_for(snapshot=snapshot, candidate=waiter.candidates[0])
    return [helps(way=way) for way in ways_out(snapshot=snapshot, waiter=waiter, rooms=rooms)]


QUEUES = replace(WAITER, server="gpu-1", action="queue")
BACKGROUND = replace(QUEUES, priority=Priority.BACKGROUND)
BUS = ResourceGroup(name="bus-1", max_concurrent=1)
FULL = replace(SERVES, slots=2, max_concurrent=1)
WAYS = {
    "nothing has room: the nearest lacks the least": (
        told(BUSY, SMALL),
        ["A server with 20.0 GiB free for qwen3:32b; gpu-1 comes nearest and lacks 3.8 GiB."],
    ),
    "a server has memory that nobody told us of": (
        told(server(total_mib=None)),
        ["The memory of gpu-1 is not known, so qwen3:32b is not loaded there: set scheduling.memoryMiB."],
    ),
    "its only copy is full": (
        told(SERVES, SMALL, waiter=QUEUES),
        [
            "A second slot on gpu-1 for qwen3:32b (scheduling.maxParallel, if its memory allows it).",
            "One more server with 20.0 GiB free for qwen3:32b.",
        ],
    ),
    "all slots of several are taken": (
        told(replace(SERVES, slots=2, tickets=(ticket(MODEL), replace(ticket(MODEL), id="t2"))), waiter=QUEUES)[:1],
        ["More than 2 slots on gpu-1 for qwen3:32b (scheduling.maxParallel, if its memory allows it)."],
    ),
    "the server's own limit holds": (
        told(FULL, waiter=QUEUES)[:1],
        ["gpu-1 takes 1 call at once: a higher scheduling.maxConcurrent."],
    ),
    "what it keeps for people holds": (
        told(replace(FULL, max_concurrent=2, interactive_reserve=2), waiter=BACKGROUND)[:1],
        ["gpu-1 keeps some of its 2 places for people: a smaller scheduling.interactiveReserve."],
    ),
    "the resource group's limit holds": (
        told(replace(SERVES, slots=2, resource_group=BUS), waiter=QUEUES)[:2],
        [
            "The resource group bus-1, which gpu-1 is in, takes 1 call at once: a higher "
            "scheduling.resourceGroup.maxConcurrent, on each of its servers.",
            "One more server with 20.0 GiB free for qwen3:32b.",
        ],
    ),
    "both limits hold": (
        told(replace(FULL, resource_group=BUS), waiter=QUEUES)[:2],
        [
            "gpu-1 takes 1 call at once: a higher scheduling.maxConcurrent.",
            "The resource group bus-1, which gpu-1 is in, takes 1 call at once: a higher "
            "scheduling.resourceGroup.maxConcurrent, on each of its servers.",
        ],
    ),
    "neither another slot alone nor a higher cap alone would do": (
        [way.split(":")[0] for way in told(replace(SERVES, resource_group=BUS), waiter=QUEUES)[:2]],
        [
            "A second slot on gpu-1 for qwen3",
            "The resource group bus-1, which gpu-1 is in, takes 1 call at once",
        ],
    ),
    "it has room for a load and only the group holds": (
        told(server(resource_group=BUS), server(name="gpu-2", resource_group=BUS, tickets=(ticket("a"),)))[:1],
        [
            "The resource group bus-1, which gpu-1 is in, takes 1 call at once: a higher "
            "scheduling.resourceGroup.maxConcurrent, on each of its servers.",
        ],
    ),
    "it has room for a load and only the server's own limit holds": (
        told(server(residents=(copy("a", 1),), tickets=(ticket("a"),), max_concurrent=1))[:1],
        ["gpu-1 takes 1 call at once: a higher scheduling.maxConcurrent."],
    ),
    "a server is away": (
        told(server(ready=False)),
        ["gpu-1 could take qwen3:32b, but it takes no calls now: its page says why."],
    ),
    "a server that has it takes no calls": (
        told(replace(SERVES, paused=True), SMALL),
        ["gpu-1 could take qwen3:32b, but it takes no calls now: its page says why."],
    ),
    "a load failed": (
        told(server(blocked=frozenset({MODEL}))),
        ["gpu-1 could hold qwen3:32b, but loading it failed there: its page says why."],
    ),
    "the model is not where the room is": (
        told(BUSY, server(name="gpu-2", models=frozenset({"a"})))[1:],
        ["qwen3:32b on the disk of gpu-2, which may use 28.2 GiB: pull it there."],
    ),
    "nobody knows how large it is": (
        told(server(), size=None),
        ["Nobody knows how large qwen3:32b is: set vramMib of its Model."],
    ),
    "it has its place": (told(BUSY, waiter=replace(WAITER, ticket="t1")), []),
    "it was not decided yet": (told(BUSY, waiter=replace(WAITER, model="")), []),
}


@pytest.mark.parametrize(("said", "wanted"), WAYS.values(), ids=WAYS)
def test_it_names_what_would_help(said, wanted):
    assert said == wanted


def test_the_best_ways_come_first_and_there_are_few():
    everything = (
        BUSY,
        server(name="gpu-2", ready=False),
        server(name="gpu-3", models=frozenset({"a"})),
        replace(SERVES, name="gpu-4"),
    )
    snapshot = ClusterSnapshot(
        now=10, servers={one.name: one for one in everything}, footprints={MODEL: NEED}, demand={}
    )

    rooms = rooms_for(snapshot=snapshot, candidate=WAITER.candidates[0])

    found = ways_out(snapshot=snapshot, waiter=replace(QUEUES, server="gpu-4"), rooms=rooms)

    assert [type(way) for way in found] == [helping.MoreSlots, helping.ServerBack, helping.MoreMemory]


def test_a_limit_that_ends_too_early_is_told_with_how_much_is_missing():
    short = longer_limit(waiter=WAITER, eta_s=100, now=10)

    assert short is not None
    assert helps(way=short) == "A limit 20 s longer, in deployment.env of analyst: it ends before the turn comes."
    own = replace(short, agent="ops laptop")  # a key's name: whoever calls by it has no settings, but headers
    assert helps(way=own) == "A limit 20 s longer, in the header X-Kubemoot-Wait: it ends before the turn comes."
    assert longer_limit(waiter=WAITER, eta_s=80, now=10) is None
    assert longer_limit(waiter=WAITER, eta_s=None, now=10) is None
    assert longer_limit(waiter=replace(WAITER, ticket="t1"), eta_s=500, now=10) is None
    assert longer_limit(waiter=WAITER, eta_s=30, now=200) == helping.LongerLimit(agent="default/analyst", short_s=30)
