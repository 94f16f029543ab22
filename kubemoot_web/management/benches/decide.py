"""`manage.py bench decide`: how fast the core decides, without ledger, network or process around it.

House rules: a decision includes the fresh picture that it is made on, after something changed; times are of this
thread's processor, so that other programs on the machine do not count.
"""

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
SERVERS = (100, 1000)
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
    help = "Decide on a replica of few and of many servers, and serve a freed slot with few and with many waiters."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the arguments."""
        parser.add_argument("--rounds", type=int, default=2000, help="decisions of each kind (default: 2000)")
        parser.add_argument("--slots", type=int, default=200, help="slots to free for each crowd (default: 200)")
        _add_sizes(parser, "--servers", default=SERVERS, of="clusters")
        _add_sizes(parser, "--waiters", default=CROWDS, of="crowds")

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
            few, many = (
                _decisions_us(
                    cluster=Cluster(shape=Shape(servers=servers, with_room=with_room)), ask=ask, rounds=rounds
                )
                for servers in options["servers"]
            )
            figures.extend(
                _compared(
                    cases=[f"{case}, {servers:,} servers" for servers in options["servers"]],
                    samples=(few, many),
                    floor=floor,
                    median_goal=goal,
                    larger_may_cost=LARGER_MAY_COST,
                )
            )
        progress("Freeing slots ...")
        few, many = (
            _freed_slots_us(
                cluster=Cluster(shape=Shape(servers=options["servers"][0], is_full=True, waiters=waiters)), slots=slots
            )
            for waiters in options["waiters"]
        )
        figures.extend(
            _compared(
                cases=[f"a freed slot, {waiters:,} waiters" for waiters in options["waiters"]],
                samples=(few, many),
                floor=floor,
                median_goal=None,
                larger_may_cost=MORE_WAITERS_MAY_COST,
            )
        )
        return figures


def _add_sizes(parser: ArgumentParser, option: str, *, default: tuple[int, int], of: str) -> None:
    parser.add_argument(
        option,
        type=int,
        nargs=2,
        default=default,
        metavar=("FEW", "MANY"),
        help=f"sizes of the two {of} (default: {default[0]} {default[1]})",
    )


def _compared(
    *,
    cases: Sequence[str],
    samples: tuple[Sequence[float], Sequence[float]],
    floor: Floor,
    median_goal: float | None,
    larger_may_cost: float,
) -> Iterator[Figure]:
    """Give both cases' figures, and how many times the smaller the larger one costs."""
    for case, measured, times in zip(cases, samples, (1, larger_may_cost), strict=True):
        goals = (None, None) if median_goal is None else (median_goal * times, P99_GOAL_US * times)
        yield from spread(case=case, samples=measured, unit="us", floor=floor, median_goal=goals[0], p99_goal=goals[1])
    few, many = (percentile(measured, 0.5) for measured in samples)
    yield Figure(case=cases[1], measure="median, to the other", value=many / few, unit="x", goal=larger_may_cost)


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
