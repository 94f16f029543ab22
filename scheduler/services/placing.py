"""A place for a call: waited for, and given back."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace

from providers.ports import EngineRelay
from scheduler.core.admission.closed import why_not_placed
from scheduler.core.attempt_history import AttemptOutcome
from scheduler.core.calls import Call
from scheduler.core.config import SchedulerConfig
from scheduler.core.decisions import Reason
from scheduler.core.ledger import Outcome, Settled
from scheduler.core.standing import standing_of
from scheduler.core.types import Waiter
from scheduler.ports import Clock, Effects, Ledger, LedgerUnavailable, TicketGone
from scheduler.services.held import HeldTickets
from scheduler.services.left_calls import LeftCalls
from scheduler.services.local import LocalPlaces
from scheduler.services.returning import LedgerBack
from scheduler.services.submit import StillWaiting, call_give_up, call_submit, call_wait, call_withdraw
from scheduler.services.tickets import ticket_release

LOOK_AGAIN_S = 5.0


class NoPlace(Exception):
    """The call got no place. `reason` is the one people read of; `eta_s` when one is to be expected, where known."""

    def __init__(self, *, reason: str, model: str, eta_s: float | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.model = model
        self.eta_s = eta_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Doors:
    """What an attempt works with. `left` holds what goes on for callers that have left; `pause` lets seconds pass."""

    ledger: Ledger
    effects: Effects
    config: SchedulerConfig
    relay: EngineRelay
    held: HeldTickets
    local: LocalPlaces
    now: Clock
    left: LeftCalls = field(default_factory=LeftCalls)
    pause: Callable[[float], Awaitable[None]] = asyncio.sleep


async def place(*, doors: Doors, call: Call, id: str, wait_s: float) -> Settled:
    """Wait for a place, at most `wait_s` seconds; while the model of a granted call loads, until it has loaded.

    While the ledger cannot be reached, this process gives it a place by itself on servers whose operator said so.

    Raises:
        NoPlace: the wait was too long, it was lost, or the call can never be placed.
        LineFull: too many calls wait already.
        LedgerUnavailable: only the ledger can place it, and cannot be reached.
    """
    try:
        if doors.local.is_on or doors.ledger.replica.local_servers:
            settled = await _by_whoever_can(doors=doors, call=call, id=id, wait_s=wait_s)
        else:
            settled = await _by_the_ledger(doors=doors, call=call, id=id, wait_s=wait_s)
    except LedgerUnavailable:
        doors.local.ended["", AttemptOutcome.ADMISSION_UNAVAILABLE] += 1
        raise
    if settled.ticket is None:
        reason = settled.reason or Reason.GPU_BUSY
        late = replace(call.waiter(id=id, now=doors.now(), default_limit_s=0), model=settled.model)
        is_told = reason == Reason.GPU_BUSY and not doors.local.is_on  # the last picture tells nothing of later
        raise NoPlace(reason=reason, model=settled.model, eta_s=_eta_s(doors=doors, waiter=late) if is_told else None)
    return settled


async def _by_the_ledger(*, doors: Doors, call: Call, id: str, wait_s: float, is_known: bool = False) -> Settled:
    """Have the ledger place a call. `is_known`: it may stand in its line already."""
    try:
        return await _settled(doors=doors, call=call, id=id, wait_s=wait_s, is_known=is_known)
    except TicketGone:
        raise NoPlace(reason=Reason.WAIT_LOST, model=call.candidates[0].model) from None


async def _by_whoever_can(*, doors: Doors, call: Call, id: str, wait_s: float) -> Settled:
    """Have the ledger place a call, or this process while the ledger is away; whichever it waits for, it waits once."""
    waiter = call.waiter(id=id, now=doors.now(), default_limit_s=wait_s)
    deadline = waiter.arrived_at + wait_s
    problem: LedgerUnavailable | None = None
    is_known = False
    while True:
        left_s = max(deadline - doors.now(), 0.0)
        if problem is None and not doors.local.serves(waiter=waiter):
            try:
                return await _by_the_ledger_while_there(
                    doors=doors, call=call, waiter=waiter, wait_s=left_s, is_known=is_known
                )
            except LedgerUnavailable as error:
                problem, is_known = error, True
        try:
            return await doors.local.place(waiter=waiter, wait_s=left_s, problem=problem, is_known=is_known)
        except LedgerBack:
            problem = None


async def _by_the_ledger_while_there(
    *, doors: Doors, call: Call, waiter: Waiter, wait_s: float, is_known: bool
) -> Settled:
    """Have the ledger place a call that could be placed here; what it gives when it is lost already may be too much."""
    with doors.local.asking(waiter=waiter):
        settled = await _by_the_ledger(doors=doors, call=call, id=waiter.id, wait_s=wait_s, is_known=is_known)
        if settled.ticket is None or doors.local.has_room_for(ticket=settled.ticket):
            return settled
    raise LedgerUnavailable("it answered too late")


async def _settled(*, doors: Doors, call: Call, id: str, wait_s: float, is_known: bool) -> Settled:
    settled = await _still_there(doors=doors, id=id, wait_s=wait_s) if is_known else None
    if settled is None:
        settled = await call_submit(
            ledger=doors.ledger,
            effects=doors.effects,
            config=doors.config,
            ids=lambda: id,
            now=doors.now,
            call=call,
            wait_s=wait_s,
        )
    try:
        while isinstance(settled, StillWaiting):
            waiter = settled.waiter
            if waiter.ticket is None:
                late = _late(doors=doors, waiter=waiter)
                await _leave(doors=doors, waiter=waiter.id, reason=late.reason)
                raise late
            settled = await call_wait(
                ledger=doors.ledger, config=doors.config, now=doors.now, waiter=waiter.id, wait_s=LOOK_AGAIN_S
            )
    except asyncio.CancelledError:
        await asyncio.shield(_withdraw(doors=doors, id=id))
        raise
    return settled


async def _still_there(*, doors: Doors, id: str, wait_s: float) -> Settled | StillWaiting | None:
    """Go on with the wait that the ledger knows; None where it knows of none, and holds nothing for it any more."""
    try:
        return await call_wait(ledger=doors.ledger, config=doors.config, now=doors.now, waiter=id, wait_s=wait_s)
    except TicketGone:
        await _withdraw(doors=doors, id=id)
        return None
    except asyncio.CancelledError:
        await asyncio.shield(_withdraw(doors=doors, id=id))
        raise


async def _withdraw(*, doors: Doors, id: str) -> None:
    with suppress(LedgerUnavailable):  # whatever it holds lapses by itself; what counts is that the caller is gone
        await call_withdraw(ledger=doors.ledger, effects=doors.effects, config=doors.config, waiter=id, now=doors.now())


def _late(*, doors: Doors, waiter: Waiter) -> NoPlace:
    """Say what a call is told whose patience is over while it waits in line."""
    snapshot = doors.ledger.replica.snapshot(now=doors.now())
    reason = why_not_placed(snapshot=snapshot, waiter=waiter) if waiter.needs_model else Reason.KEY_LIMIT
    eta_s = _eta_s(doors=doors, waiter=waiter) if reason is Reason.GPU_BUSY else None
    return NoPlace(reason=reason, model=waiter.model, eta_s=eta_s)


def _eta_s(*, doors: Doors, waiter: Waiter) -> float | None:
    """Estimate when a place is to be expected for a call that gives up waiting."""
    replica = doors.ledger.replica
    return standing_of(
        snapshot=replica.snapshot(now=doors.now()),
        waiters=replica.waiters.values(),
        waiter=waiter,
        config=doors.config,
        is_weighted=bool(replica.weights),
    ).eta_s


async def _leave(*, doors: Doors, waiter: str, reason: str = "") -> None:
    await call_give_up(
        ledger=doors.ledger,
        effects=doors.effects,
        config=doors.config,
        waiter=waiter,
        now=doors.now(),
        reason=reason,
    )


async def give_back(*, doors: Doors, ticket: str, outcome: Outcome) -> None:
    """Give a place back, even if whoever waits for that goes away."""
    if doors.local.end(ticket=ticket, outcome=outcome):
        if doors.local.has_doubts:
            await asyncio.shield(doors.local.tell_owed())
        return
    doors.local.serve()
    await asyncio.shield(_released(doors=doors, ticket=ticket, outcome=outcome))


async def _released(*, doors: Doors, ticket: str, outcome: Outcome) -> None:
    try:
        await ticket_release(
            ledger=doors.ledger,
            effects=doors.effects,
            config=doors.config,
            ticket=ticket,
            outcome=outcome,
            now=doors.now(),
        )
    except LedgerUnavailable as problem:
        doors.local.unsaid(ticket=ticket, outcome=outcome, problem=problem)
