"""`manage.py bench claims`: claims through the real ledger, how many a second, and whether a slot was given twice."""

import asyncio
import secrets
from argparse import ArgumentParser
from collections.abc import Awaitable, Callable, Mapping, Sequence
from multiprocessing.connection import Connection
from time import monotonic, process_time
from typing import Any

from kubemoot_web.management.benches.crowd import Report, crowd, reports
from kubemoot_web.management.benches.figures import Better, Figure, Floor, Progress
from kubemoot_web.management.benches.own_valkey import (
    FIGURES,
    MODEL,
    SERVER,
    NoEffects,
    call,
    own_valkey,
    process_of,
    register,
)
from kubemoot_web.management.benches.processes import cpu_seconds
from kubemoot_web.management.benches.slot_referee import SlotReferee
from scheduler import bootstrap
from scheduler.core.ledger import GrantChange, Outcome, Settled
from scheduler.core.types import Ticket, TicketState
from scheduler.ports import Ledger
from scheduler.services.cycle import plan_changes
from scheduler.services.submit import call_submit
from scheduler.services.tickets import ticket_release

GOOD = Outcome(ok=True)
PROCESSES = 4
CROWDED_SLOTS = 32
CALLERS_EACH = 12
"""Four times as many want a slot as one process has callers: more than there are slots."""
FLOOR_S = 1.0
ONE_GOAL = 2500.0
ALL_GOAL = 4000.0
NOTHING = "a step that does nothing, asked for by as many callers on the same connections"


class ClaimsBench:
    """Claims through the ledger: from one process, and from four on one copy."""

    name = "claims"
    help = "Claim and give back through the real ledger, from one process and from four on one copy."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the arguments."""
        parser.add_argument("--seconds", type=float, default=5.0, help="how long each rate is measured (default: 5)")
        parser.add_argument("--callers", type=int, default=32, help="callers of the one process (default: 32)")
        parser.add_argument(
            "--attempts", type=int, default=1_000_000, help="claims while every grant is counted (default: a million)"
        )

    def run(self, *, options: Mapping[str, Any], progress: Progress) -> Sequence[Figure]:
        """Measure."""
        seconds = options["seconds"]
        figures = []
        for callers in dict.fromkeys((1, options["callers"])):
            progress(f"One process, {callers} callers, {seconds:g} s ...")
            figures += one_process(callers=callers, seconds=seconds)
        progress(f"{PROCESSES} processes on one copy of {CROWDED_SLOTS} slots, {seconds:g} s ...")
        figures += many_processes(seconds=seconds)
        progress(f"The same for {options['attempts']:,} attempts, every grant counted ...")
        return [*figures, *counted(attempts=options["attempts"])]


def one_process(*, callers: int, seconds: float) -> list[Figure]:
    """Measure planning, claiming and giving back where every caller finds a slot."""
    with own_valkey() as path:
        options = {"callers": callers, "s": seconds, "valkey": process_of(path)}
        with crowd(works=[_alone], path=path, options=options) as pipes:
            (report,) = reports(pipes)
    case = f"one process, {callers} callers" if callers > 1 else "one process, one caller"
    goal = ONE_GOAL if callers > 1 else None
    floor = Floor(what=NOTHING, value=report["floor"])
    return [
        _rate(case=f"{case}: plan, claim, release", value=report["grants"], floor=floor, goal=goal),
        _cpu(case=f"{case}: plan, claim, release", seconds=report["cpu"], grants=report["grants"] * seconds),
        _cpu(
            case=f"{case}: plan, claim, release",
            whose="CPU of Valkey",
            seconds=report["valkey_cpu"],
            grants=report["grants"] * seconds,
        ),
    ]


def many_processes(*, seconds: float) -> list[Figure]:
    """Measure the same from many processes on one copy that has fewer slots than they have callers."""
    options = {"callers": CALLERS_EACH, "s": seconds, "attempts": None}
    with own_valkey() as path, crowd(works=[_crowded] * PROCESSES, path=path, options=options) as pipes:
        done = reports(pipes)
    grants, attempts, floor = (sum(report[name] for report in done) for name in ("grants", "attempts", "floor"))
    case = f"{PROCESSES} processes, one copy of {CROWDED_SLOTS} slots"
    return [
        _rate(case=f"{case}: grants", value=grants, floor=Floor(what=NOTHING, value=floor), goal=ALL_GOAL),
        _rate(case=f"{case}: attempts", value=attempts, floor=None, goal=None),
        _cpu(case=f"{case}: grants", seconds=sum(report["cpu"] for report in done), grants=grants * seconds),
    ]


def counted(*, attempts: int) -> list[Figure]:
    """Let many processes claim a bounded number of times, and replay the journal beside them."""
    options = {"callers": CALLERS_EACH, "s": None, "attempts": attempts // PROCESSES}
    with own_valkey() as path, crowd(works=[_crowded] * PROCESSES, path=path, options=options) as pipes:
        referee = SlotReferee(path=path, slots=CROWDED_SLOTS)
        asyncio.run(referee.watch(until=lambda: all(pipe.poll() for pipe in pipes)))
        done = reports(pipes)
    asked = sum(report["asked"] for report in done)
    granted = sum(report["granted"] for report in done)
    case = f"{asked:,} attempts, {granted:,} grants"
    return [
        Figure(case=case, measure="grants missed by the count", value=abs(granted - referee.granted), unit="", goal=0),
        Figure(case=case, measure="most at once", value=referee.most, unit="calls", goal=CROWDED_SLOTS),
        Figure(case=case, measure="over-commits", value=referee.over_commits, unit="", goal=0),
    ]


async def _alone(ledger: Ledger, pipe: Connection, options: Mapping[str, Any]) -> Report:
    await register(ledger, slots=1000)
    floor = await _per_second(ledger.touch, callers=options["callers"], seconds=FLOOR_S)  # type: ignore[attr-defined]
    effects, wanted = NoEffects(), call("alone")

    async def once() -> None:
        settled = await call_submit(
            ledger=ledger, effects=effects, config=FIGURES, ids=_id, now=bootstrap.clock, call=wanted, wait_s=10
        )
        assert isinstance(settled, Settled)
        assert settled.ticket is not None
        await _give_back(ledger, settled.ticket)

    used, valkey_used = process_time(), cpu_seconds(options["valkey"])
    grants = await _per_second(once, callers=options["callers"], seconds=options["s"])
    return {
        "floor": floor,
        "grants": grants,
        "cpu": process_time() - used,
        "valkey_cpu": cpu_seconds(options["valkey"]) - valkey_used,
    }


async def _crowded(ledger: Ledger, pipe: Connection, options: Mapping[str, Any]) -> Report:
    """Claim whether or not this process's copy of the ledger shows a free slot: only the ledger keeps the count."""
    if options["number"] == 0:
        await register(ledger, slots=CROWDED_SLOTS)
    while not ledger.replica.servers or not ledger.replica.servers[SERVER].seen.ready:
        await ledger.wait_for_change(after=ledger.replica.version, timeout_s=1)
    done = {"asked": 0, "granted": 0}

    async def once() -> None:
        done["asked"] += 1
        version = ledger.replica.version
        ticket = await _claim(ledger, agent=f"crowd-{options['number']}")
        if ticket is None:
            await ledger.wait_for_change(after=version, timeout_s=0.1)
            return
        done["granted"] += 1
        await _give_back(ledger, ticket)

    if options["s"] is None:
        await _until(lambda: done["asked"] >= options["attempts"], once, callers=options["callers"])
        return dict(done)
    floor = await _per_second(ledger.touch, callers=options["callers"], seconds=FLOOR_S)  # type: ignore[attr-defined]
    done.update(asked=0, granted=0)
    began, used = monotonic(), process_time()
    await _per_second(once, callers=options["callers"], seconds=options["s"])
    took = monotonic() - began
    return {
        "floor": floor,
        "grants": done["granted"] / took,
        "attempts": done["asked"] / took,
        "cpu": process_time() - used,
    }


async def _claim(ledger: Ledger, *, agent: str) -> Ticket | None:
    now = bootstrap.clock()
    waiter = call(agent).waiter(id=_id(), now=now, default_limit_s=10)
    changes = plan_changes(replica=ledger.replica, config=FIGURES, now=now, newcomers=(waiter,))
    planned = [change.ticket for change in changes if isinstance(change, GrantChange)]
    ticket = planned[0] if planned else _blind(agent=waiter.agent, call=waiter.id, now=now)
    committed = await ledger.commit(changes=[GrantChange(ticket=ticket)], now=now)
    return None if committed.refused else ticket


def _blind(*, agent: str, call: str, now: float) -> Ticket:
    return Ticket(
        id=f"t-{call}", server=SERVER, agent=agent, model=MODEL, state=TicketState.ACTIVE, started_at=now, call=call
    )


async def _give_back(ledger: Ledger, ticket: Ticket) -> None:
    await ticket_release(
        ledger=ledger, effects=NoEffects(), config=FIGURES, ticket=ticket.id, outcome=GOOD, now=bootstrap.clock()
    )


async def _per_second(work: Callable[[], Awaitable[None]], *, callers: int, seconds: float) -> float:
    began = monotonic()
    count = await _until(lambda: monotonic() - began >= seconds, work, callers=callers)
    return count / (monotonic() - began)


async def _until(is_over: Callable[[], bool], work: Callable[[], Awaitable[None]], *, callers: int) -> int:
    """Let so many callers work in turns until it is over; give how often they did."""

    async def caller() -> int:
        count = 0
        while not is_over():
            await work()
            count += 1
        return count

    return sum(await asyncio.gather(*(caller() for _ in range(callers))))


def _rate(*, case: str, value: float, floor: Floor | None, goal: float | None) -> Figure:
    return Figure(case=case, measure="per second", value=value, unit="/s", goal=goal, better=Better.HIGHER, floor=floor)


def _cpu(*, case: str, seconds: float, grants: float, whose: str = "CPU, without Valkey's") -> Figure:
    """Make the figure that a machine with other work to do does not spoil: what is spent on a grant."""
    return Figure(case=case, measure=whose, value=seconds / max(grants, 1) * 1e6, unit="us each")


def _id() -> str:
    return secrets.token_hex(12)
