"""A place for a call: waited for, and given back."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace

from providers.ports import EngineRelay
from scheduler.core.admission.closed import why_not_placed
from scheduler.core.calls import Call
from scheduler.core.config import SchedulerConfig
from scheduler.core.decisions import Reason
from scheduler.core.ledger import Outcome, Settled
from scheduler.core.standing import standing_of
from scheduler.core.types import Waiter
from scheduler.ports import Clock, Effects, Ledger, LedgerUnavailable, TicketGone
from scheduler.services.held import HeldTickets
from scheduler.services.left_calls import LeftCalls
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
    now: Clock
    left: LeftCalls = field(default_factory=LeftCalls)
    pause: Callable[[float], Awaitable[None]] = asyncio.sleep


async def place(*, doors: Doors, call: Call, id: str, wait_s: float) -> Settled:
    """Wait for a place, at most `wait_s` seconds; while the model of a granted call loads, until it has loaded.

    Raises:
        NoPlace: the wait was too long, it was lost, or the call can never be placed.
        LineFull: too many calls wait already.
    """
    try:
        settled = await _settled(doors=doors, call=call, id=id, wait_s=wait_s)
    except TicketGone:
        raise NoPlace(reason=Reason.WAIT_LOST, model=call.candidates[0].model) from None
    if settled.ticket is None:
        reason = settled.reason or Reason.GPU_BUSY
        late = replace(call.waiter(id=id, now=doors.now(), default_limit_s=0), model=settled.model)
        eta_s = _eta_s(doors=doors, waiter=late) if reason == Reason.GPU_BUSY else None
        raise NoPlace(reason=reason, model=settled.model, eta_s=eta_s)
    return settled


async def _settled(*, doors: Doors, call: Call, id: str, wait_s: float) -> Settled:
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
        await asyncio.shield(
            call_withdraw(ledger=doors.ledger, effects=doors.effects, config=doors.config, waiter=id, now=doors.now())
        )
        raise
    return settled


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
    await asyncio.shield(_released(doors=doors, ticket=ticket, outcome=outcome))


async def _released(*, doors: Doors, ticket: str, outcome: Outcome) -> None:
    with contextlib.suppress(LedgerUnavailable):  # the place lapses within its lease
        await ticket_release(
            ledger=doors.ledger,
            effects=doors.effects,
            config=doors.config,
            ticket=ticket,
            outcome=outcome,
            now=doors.now(),
        )
