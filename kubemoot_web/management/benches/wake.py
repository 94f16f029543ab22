"""`manage.py bench wake`: from a slot given back in one process to the call of a caller who waits in another."""

import asyncio
import secrets
from argparse import ArgumentParser
from collections.abc import Mapping, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from time import monotonic
from typing import Any

from kubemoot_web.management.benches.crowd import Report, crowd, reports
from kubemoot_web.management.benches.figures import Figure, Floor, Progress, percentile
from kubemoot_web.management.benches.own_valkey import FIGURES, NoEffects, call, own_valkey, register
from kubemoot_web.management.benches.raw_channel import publish_hops
from scheduler import bootstrap
from scheduler.core.ledger import Outcome, Settled
from scheduler.ports import Ledger
from scheduler.services.submit import call_submit
from scheduler.services.tickets import ticket_release

MS = 1000.0
MEDIAN_GOAL_MS = 4.0
P99_GOAL_MS = 25.0
WAKE_UPS_GOAL = 1.2
CALM_S = 0.01
"""Between two slots, so that each finds everybody asleep."""
PATIENCE_S = 60.0


class WakeBench:
    """The way of a freed slot to who waits for it."""

    name = "wake"
    help = "Give a slot back in one process and see when a caller that waits in another one has it."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the arguments."""
        parser.add_argument("--slots", type=int, default=500, help="how often a slot is given back (default: 500)")
        parser.add_argument("--waiters", type=int, default=100, help="callers who wait (default: 100)")

    def run(self, *, options: Mapping[str, Any], progress: Progress) -> Sequence[Figure]:
        """Measure."""
        slots, waiters = options["slots"], options["waiters"]
        with own_valkey() as path:
            progress(f"{slots} messages published in one process and heard in another ...")
            hops = publish_hops(path=path, count=slots)
            progress(f"{slots} slots given back, {waiters} callers waiting in another process ...")
            work = {"slots": slots, "waiters": waiters}
            with crowd(works=[_give_back, _wait], path=path, options=work) as pipes:
                giver, waiting = pipes
                ways = _pass_on(giver, waiting, slots=slots)
                (report,) = reports([waiting])
        case = f"slot to call, {waiters} waiting"
        per_slot = report["wake_ups"] / slots
        return [
            _way(case=case, measure="median", share=0.5, ways=ways, hops=hops, goal=MEDIAN_GOAL_MS),
            _way(case=case, measure="p99", share=0.99, ways=ways, hops=hops, goal=P99_GOAL_MS),
            Figure(case=case, measure="wake-ups per slot", value=per_slot, unit="", goal=WAKE_UPS_GOAL),
        ]


def _way(*, case: str, measure: str, share: float, ways: Sequence[float], hops: Sequence[float], goal: float) -> Figure:
    floor = Floor(
        what="a bare publish in one process heard by a bare subscriber in another", value=percentile(hops, share)
    )
    return Figure(case=case, measure=measure, value=percentile(ways, share), unit="ms", goal=goal, floor=floor)


def _pass_on(giver: Connection, waiting: Connection, *, slots: int) -> list[float]:
    """Carry tickets from who got them to who gives them back, and the times the other way; give the ways in ms."""
    ways = []
    giver.send(waiting.recv()[0])
    for _ in range(slots):
        given_at = giver.recv()
        ticket, got_at = waiting.recv()
        ways.append((got_at - given_at) * MS)
        giver.send(ticket)
    giver.send(None)
    waiting.send(None)
    return ways


async def _give_back(ledger: Ledger, pipe: Connection, options: Mapping[str, Any]) -> Report | None:
    """Give each ticket back that is named, and say when that began."""
    await register(ledger, slots=1)
    while True:
        ticket = await asyncio.to_thread(pipe.recv)
        if ticket is None:
            return None
        await asyncio.sleep(CALM_S)
        began = monotonic()
        await ticket_release(
            ledger=ledger,
            effects=NoEffects(),
            config=FIGURES,
            ticket=ticket,
            outcome=Outcome(ok=True),
            now=bootstrap.clock(),
        )
        pipe.send(began)


async def _wait(ledger: Ledger, pipe: Connection, options: Mapping[str, Any]) -> Report:
    """Keep so many callers waiting; name each ticket that one of them gets, and when it had it."""
    while not any(record.seen.ready for record in ledger.replica.servers.values()):
        await ledger.wait_for_change(after=ledger.replica.version, timeout_s=1)
    over = asyncio.create_task(asyncio.to_thread(pipe.recv))
    lined_up = asyncio.create_task(_until_lined_up(ledger, count=options["waiters"]))

    async def caller(number: int) -> None:
        while True:
            settled = await call_submit(
                ledger=ledger,
                effects=NoEffects(),
                config=FIGURES,
                ids=lambda: secrets.token_hex(12),
                now=bootstrap.clock,
                call=call(f"waiting-{number}"),
                wait_s=PATIENCE_S,
            )
            if isinstance(settled, Settled) and settled.ticket is not None:
                await asyncio.shield(lined_up)
                pipe.send((settled.ticket.id, monotonic()))

    callers = [asyncio.create_task(caller(number)) for number in range(options["waiters"] + 1)]
    await over
    wake_ups = ledger.wake_ups
    for task in callers:
        task.cancel()
    with suppress(asyncio.CancelledError):
        await asyncio.gather(*callers, return_exceptions=True)
    return {"wake_ups": wake_ups}


async def _until_lined_up(ledger: Ledger, *, count: int) -> None:
    """Wait until everybody else is in line: what it takes to get there is another matter."""
    while len(ledger.replica.waiters) < count:
        await ledger.wait_for_change(after=ledger.replica.version, timeout_s=1)
