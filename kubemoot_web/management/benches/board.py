"""`manage.py bench board`: many open boards while the ledger changes four times a second.

House rules: the web process is the real one; its floor is a process that is started alike and sends the same bytes.
"""

import asyncio
import time
from argparse import ArgumentParser
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Any

from websockets.sync.client import connect

from kubemoot_web.management.benches.bare_broadcast import TELL
from kubemoot_web.management.benches.board_life import Life
from kubemoot_web.management.benches.figures import Better, Figure, Floor, Progress, percentile
from kubemoot_web.management.benches.own_valkey import ledger_on, own_valkey
from kubemoot_web.management.benches.processes import cpu_seconds
from kubemoot_web.management.benches.watchers import Address, Arrivals, Seen, newest_step, watchers
from kubemoot_web.management.benches.web_site import HOST, Site, bare_site, own_site

MS = 1000.0
UPDATES_PER_S = 4
EVERY_S = 1 / UPDATES_PER_S
CPU_GOAL = 100.0
UPDATES_GOAL_PER_S = 0.95 * UPDATES_PER_S
"""Now and then two changes may come in one message."""
SLOW_MAY_COST = 1.5
"""A board that waited for a slow one would be late by seconds; less than this is the machine's mood."""
WARM_UP_STEPS = 8
BARE = "a bare broadcast: the same bytes to as many sockets"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    """What a run showed: CPU in % of a core, how late each step was on each board, what one board was sent.

    `per_s`: messages a second on the board that got the fewest. `spared`: how many of the messages that others got the
    slow board with the most did without.
    """

    cpu: float
    late_ms: tuple[float, ...]
    messages: tuple[str, ...]
    per_s: float
    spared: int


class BoardBench:
    """Open boards, and what they cost."""

    name = "board"
    help = "Keep many boards open while the ledger changes four times a second; then again beside some that never read."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the arguments."""
        parser.add_argument("--boards", type=int, default=1000, help="boards that are open (default: 1000)")
        parser.add_argument(
            "--seconds", type=float, default=15.0, help="how long each case lasts (default: 15, at most 30)"
        )
        parser.add_argument("--slow", type=int, default=10, help="boards that never read (default: 10)")
        parser.add_argument("--servers", type=int, default=8, help="model servers on each board (default: 8)")

    def run(self, *, options: Mapping[str, Any], progress: Progress) -> Sequence[Figure]:
        """Measure."""
        boards, slow, servers = options["boards"], options["slow"], options["servers"]
        steps = max(1, int(options["seconds"] * UPDATES_PER_S))
        alike, thin = f"{boards:,} boards", f"{boards:,} boards and {slow:,} that never read"
        progress(f"{alike}, {options['seconds']:g} s ...")
        run = _ours(boards=boards, slow=0, servers=servers, steps=steps)
        progress(f"{thin}, {options['seconds']:g} s ...")
        beside_slow = _ours(boards=boards, slow=slow, servers=servers, steps=steps)
        progress("The same bytes in a bare broadcast ...")
        bare = _bare(boards=boards, messages=run.messages)
        return [
            *_figures(case=alike, run=run, bare=bare),
            *_figures(case=thin, run=beside_slow, bare=bare),
            *_beside_slow(case=thin, run=beside_slow, others=run),
        ]


def _ours(*, boards: int, slow: int, servers: int, steps: int) -> _Run:
    """Let the ledger change under boards that are open in a real web process."""
    with own_valkey() as valkey, own_site(valkey=valkey) as site, asyncio.Runner() as runner:
        life = Life(ledger=ledger_on(valkey), servers=servers)
        try:
            runner.run(life.settle())
            headers = {"Cookie": site.cookies, "Origin": f"http://{HOST}:{site.port}"}
            address = Address(host=HOST, port=site.port, path="/ws/board/", headers=headers)
            with watchers(address=address, boards=boards, slow=slow) as watching:
                runner.run(life.live(steps=WARM_UP_STEPS, every_s=EVERY_S))
                watching.forget(last=WARM_UP_STEPS - 1)
                spent = _Spent(site)
                runner.run(life.live(steps=steps, every_s=EVERY_S))
                cpu = spent.percent()
                began = dict(enumerate(life.began[WARM_UP_STEPS:], start=WARM_UP_STEPS))
                return _run(cpu=cpu, began=began, seen=watching.seen(last=max(began)))
        finally:
            runner.run(life.ledger.close())


def _bare(*, boards: int, messages: Sequence[str]) -> _Run:
    """Send the same messages at the same pace to as many sockets, and do nothing else."""
    with bare_site() as site:
        address = Address(host=HOST, port=site.port, path="/", headers={})
        with (
            watchers(address=address, boards=boards, slow=0) as watching,
            connect(f"ws://{HOST}:{site.port}{TELL}") as broadcast,
        ):
            spent = _Spent(site)
            began: dict[int, float] = {}
            for number, message in enumerate(messages):
                time.sleep(max(0.0, spent.began + number * EVERY_S - monotonic()))
                step = newest_step(message.encode())
                assert step is not None, "only messages that show a step are kept"
                began[step] = monotonic()
                broadcast.send(message)
            time.sleep(EVERY_S)
            cpu = spent.percent()
            return _run(cpu=cpu, began=began, seen=watching.seen(last=max(began)))


def late_ms(*, began: Mapping[int, float], arrivals: Arrivals) -> Iterator[float]:
    """Say of each step how late it was on a board: a message that shows a newer one shows it as well."""
    left = iter(arrivals)
    newest, arrived_at = next(left)
    for step in sorted(began):
        while newest < step:
            newest, arrived_at = next(left)
        yield (arrived_at - began[step]) * MS


def _run(*, cpu: float, began: Mapping[int, float], seen: Seen) -> _Run:
    lateness = [late for arrivals in seen.arrivals for late in late_ms(began=began, arrivals=arrivals)]
    got = min(map(len, seen.arrivals))
    return _Run(
        cpu=cpu,
        late_ms=tuple(lateness),
        messages=seen.messages,
        per_s=got / (len(began) * EVERY_S),
        spared=max((got - len(arrivals) for arrivals in seen.slow), default=0),
    )


def _figures(*, case: str, run: _Run, bare: _Run) -> Iterator[Figure]:
    cpu = Floor(what=BARE, value=bare.cpu)
    size = sum(len(message.encode()) for message in run.messages) / len(run.messages)
    yield Figure(case=case, measure="CPU", value=run.cpu, unit="% of a core", goal=CPU_GOAL, floor=cpu)
    yield Figure(
        case=case, measure="updates", value=run.per_s, unit="/s", goal=UPDATES_GOAL_PER_S, better=Better.HIGHER
    )
    yield Figure(case=case, measure="size of an update", value=size / 1024, unit="KiB")
    for measure, share in (("median", 0.5), ("p99", 0.99)):
        floor = Floor(what=BARE, value=percentile(bare.late_ms, share))
        yield Figure(
            case=case, measure=f"late, {measure}", value=percentile(run.late_ms, share), unit="ms", floor=floor
        )


def _beside_slow(*, case: str, run: _Run, others: _Run) -> Iterator[Figure]:
    """Say how much later boards are beside slow ones, and that these really were slow: the newest was all they got."""
    beside, alone = (percentile(each.late_ms, 0.5) for each in (run, others))
    yield Figure(case=case, measure="late, to the other", value=beside / alone, unit="x", goal=SLOW_MAY_COST)
    yield Figure(
        case=case, measure="updates a slow one was spared", value=run.spared, unit="", goal=1, better=Better.HIGHER
    )


class _Spent:
    """What a process spends from now on."""

    def __init__(self, site: Site) -> None:
        self.began = monotonic()
        self._pid = site.pid
        self._used = cpu_seconds(site.pid)

    def percent(self) -> float:
        """Give it in percent of a core."""
        return (cpu_seconds(self._pid) - self._used) / (monotonic() - self.began) * 100
