"""`manage.py bench decide`: how fast the core decides, without ledger, network or process around it."""

from argparse import ArgumentParser
from collections.abc import Callable, Iterator, Mapping, Sequence
from heapq import heappushpop
from time import thread_time
from typing import Any

from kubemoot_web.management.benches.clusters import NOW, Cluster, Shape
from kubemoot_web.management.benches.figures import Figure, Floor, Progress, percentile, spread
from scheduler.core.placement.decide import decide
from scheduler.core.types import CallRequest
from scheduler.services.cycle import plan_changes

US = 1e6
SIZES = (100, 1000)
CROWDS = (100, 10_000)
LARGER_MAY_COST = 4.0
MORE_WAITERS_MAY_COST = 3.0
P99_GOAL_US = 500.0
FLOOR_LOOKUPS = 3
WARM_UP = 50

Ask = Callable[[Cluster], CallRequest]


class DecideBench:
    """Decisions on this process's replica, and planning for those who wait."""

    name = "decide"
    help = "Decide on a replica of 100 and of 1,000 servers, and serve a freed slot with 100 and with 10,000 waiters."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the arguments."""
        parser.add_argument("--rounds", type=int, default=2000, help="decisions of each kind (default: 2000)")
        parser.add_argument("--slots", type=int, default=200, help="slots to free for each crowd (default: 200)")

    def run(self, *, options: Mapping[str, Any], progress: Progress) -> Sequence[Figure]:
        """Measure."""
        rounds, slots = int(options["rounds"]), int(options["slots"])
        floor = Floor(what=f"{FLOOR_LOOKUPS} dictionary look-ups and a step of a heap", value=_floor_us(rounds=rounds))
        figures: list[Figure] = []
        for case, ask, with_room, goal in (
            ("a warm slot is free", Cluster.warm_request, False, 60.0),
            ("load or queue", Cluster.weighed_request, True, 200.0),
            ("unload or queue", Cluster.weighed_request, False, 200.0),
        ):
            progress(f"Deciding: {case} ...")
            figures.extend(_sizes(case=case, ask=ask, with_room=with_room, goal=goal, rounds=rounds, floor=floor))
        progress("Freeing slots ...")
        figures.extend(_crowds(slots=slots, floor=floor))
        return figures


def _floor_us(*, rounds: int) -> float:
    """Do of a decision what cannot be avoided: find a model, a server, a copy; keep the best."""
    table, heap, samples = {f"key-{number}": float(number) for number in range(1000)}, [5.0, 7.0, 9.0], []
    for number in range(rounds):
        key = f"key-{number % 1000}"
        began = thread_time()
        for _ in range(FLOOR_LOOKUPS):
            found = table[key]
        heappushpop(heap, found)
        samples.append((thread_time() - began) * US)
    return percentile(samples, 0.5)


def _sizes(*, case: str, ask: Ask, with_room: bool, goal: float, rounds: int, floor: Floor) -> Iterator[Figure]:
    medians = []
    for servers in SIZES:
        cluster = Cluster(shape=Shape(servers=servers, with_room=with_room))
        samples = _decisions_us(cluster=cluster, ask=ask, rounds=rounds)
        medians.append(percentile(samples, 0.5))
        is_first = servers == SIZES[0]
        yield from spread(
            case=f"{case}, {servers:,} servers",
            samples=samples,
            unit="us",
            floor=floor,
            median_goal=goal if is_first else goal * LARGER_MAY_COST,
            p99_goal=P99_GOAL_US if is_first else P99_GOAL_US * LARGER_MAY_COST,
        )
    yield Figure(case=case, measure="1,000 to 100", value=medians[1] / medians[0], unit="x", goal=LARGER_MAY_COST)


def _decisions_us(*, cluster: Cluster, ask: Ask, rounds: int) -> list[float]:
    """Time a fresh picture and a decision on it, after each time one call ended and another began somewhere."""
    samples = []
    for _ in range(rounds + WARM_UP):
        cluster.feed(*cluster.moved(cluster.some_ticket()))
        request = ask(cluster)
        began = thread_time()
        decide(request=request, snapshot=cluster.replica.snapshot(now=NOW))
        samples.append((thread_time() - began) * US)
    return samples[WARM_UP:]


def _crowds(*, slots: int, floor: Floor) -> Iterator[Figure]:
    medians = []
    for waiters in CROWDS:
        cluster = Cluster(shape=Shape(servers=SIZES[0], is_full=True, waiters=waiters))
        samples = _freed_slots_us(cluster=cluster, slots=slots)
        medians.append(percentile(samples, 0.5))
        yield from spread(case=f"a freed slot, {waiters:,} waiters", samples=samples, unit="us", floor=floor)
    ratio = medians[1] / medians[0]
    yield Figure(case="a freed slot", measure="10,000 to 100", value=ratio, unit="x", goal=MORE_WAITERS_MAY_COST)


def _freed_slots_us(*, cluster: Cluster, slots: int) -> list[float]:
    """Time taking in a release and planning for those who wait, who are told first what they wait for."""
    _settle(cluster)
    samples = []
    for _ in range(slots):
        freed = cluster.some_ticket(used_up=True)
        began = thread_time()
        cluster.feed(("ticket", freed.id, None))
        changes = plan_changes(replica=cluster.replica, config=cluster.config, now=NOW)
        samples.append((thread_time() - began) * US)
        cluster.carry_out(changes)
        _settle(cluster)
    return samples


def _settle(cluster: Cluster) -> None:
    changes = plan_changes(replica=cluster.replica, config=cluster.config, now=NOW)
    cluster.carry_out(changes)
