"""The one attempt loop: a place, contact with its engine, the answer's first byte; another attempt where that is safe.

House rules: every attempt has a ticket of its own, given back before any pause and before another server is asked; a
ticket is held from before the request is sent until the answer is read to its end or the connection to the engine is
closed; nothing is sent again once a byte came, or while an engine may be at work on it.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from providers.core.engines.base import Trouble
from providers.core.relaying import RelayAnswer, RelayFailed, RelayRequest
from providers.ports import EngineRelay
from scheduler.core.admission.elsewhere import is_elsewhere, kept_from
from scheduler.core.admission.retrying import Failure, again, failure_of, read_retry_after
from scheduler.core.calls import Call
from scheduler.core.config import SchedulerConfig
from scheduler.core.decisions import Reason
from scheduler.core.ledger import CallEnd, Outcome, ServerRecord, Settled
from scheduler.core.standing import standing_of
from scheduler.core.types import Ticket, Waiter
from scheduler.ports import Clock, Effects, Ledger, LedgerUnavailable, TicketGone
from scheduler.services.held import HeldTickets, Progress
from scheduler.services.submit import StillWaiting, call_give_up, call_submit, call_wait, call_withdraw
from scheduler.services.tickets import ticket_release

LOOK_AGAIN_S = 5.0
NEVER_SENT = frozenset({Trouble.REFUSED, Trouble.UNKNOWN_HOST, Trouble.UNREACHED, Trouble.BAD_ADDRESS})


class NoPlace(Exception):
    """The call got no place. `reason` is the one people read of; `eta_s` when one is to be expected, where known."""

    def __init__(self, *, reason: str, model: str, eta_s: float | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.model = model
        self.eta_s = eta_s


class NoAnswer(Exception):
    """The call had a place, and its engine gave no answer that could be passed on."""

    def __init__(self, *, failure: Failure, placed: "Placed", retry_after_s: float | None = None) -> None:
        super().__init__(failure.value)
        self.failure = failure
        self.placed = placed
        self.retry_after_s = retry_after_s


class PlaceLost(Exception):
    """The ledger took the call's place back while it ran: its holder was not heard of for too long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """Where an attempt of a call runs. `context_length` is the copy's, as far as known."""

    call: str
    attempt: int
    ticket: Ticket
    server: ServerRecord
    context_length: int | None
    waited_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Doors:
    """What an attempt works with. `pause` lets seconds pass."""

    ledger: Ledger
    effects: Effects
    config: SchedulerConfig
    relay: EngineRelay
    held: HeldTickets
    now: Clock
    pause: Callable[[float], Awaitable[None]] = asyncio.sleep


class RunningCall:
    """A call whose answer has begun. Whoever has it must end it, whatever happens."""

    def __init__(self, *, doors: Doors, placed: Placed, answer: RelayAnswer, first: bytes, progress: Progress) -> None:
        self.placed = placed
        self.status = answer.status
        self.headers = answer.headers
        self.first = first
        self.first_byte_at = doors.now()
        self._doors = doors
        self._answer = answer
        self._progress = progress
        progress.at = self.first_byte_at

    async def piece(self) -> bytes:
        """Wait for the next piece of the answer after `first`; empty at its end.

        Raises:
            RelayFailed: the engine died, or fell silent for too long.
        """
        piece = await self._answer.piece()
        self._progress.at = self._doors.now()
        return piece

    async def end(self, *, outcome: Outcome) -> None:
        """Close the connection, then give the place back, even if whoever waits for that goes away."""
        self._answer.close()
        told = replace(outcome, status=self.status, first_byte_at=self.first_byte_at)
        await _give_back(doors=self._doors, placed=self.placed, outcome=told)


async def call_open(
    *,
    doors: Doors,
    call: Call,
    id: str,
    wait_s: float,
    prepare: Callable[[Placed], RelayRequest],
    on_place: Callable[[Placed], None],
    on_lapse: Callable[[], None],
) -> RunningCall:
    """Find a place for a call, send it, and wait for the first byte of its answer; again where that is safe.

    `prepare` makes the request for a place; `on_place` is told of every place before it is contacted; `on_lapse` when
    the place of the running call is lost. A cancelled caller leaves the line, closes the connection, and gives back
    what it held.

    Raises:
        NoPlace: the wait was too long, or the call can never be placed.
        NoAnswer: the engine failed it.
        LineFull: too many calls wait already.
    """
    failed: set[str] = set()
    asked, attempt = call, 1
    while True:
        attempt_id = id if attempt == 1 else f"{id}.{attempt}"
        settled = await _place(doors=doors, call=asked, id=attempt_id, wait_s=wait_s)
        placed = _placed(doors=doors, call=id, attempt=attempt, settled=settled)
        progress = Progress(at=doors.now())
        doors.held.hold(ticket=placed.ticket.id, progress=progress, on_lapse=on_lapse)
        on_place(placed)
        tried = await _contact(doors=doors, placed=placed, prepare=prepare, progress=progress)
        if isinstance(tried, RunningCall):
            return tried
        failed.add(placed.ticket.server)
        snapshot = doors.ledger.replica.snapshot(now=doors.now())
        step = again(
            failure=tried.failure,
            attempt=attempt,
            wish_s=tried.retry_after_s,
            is_elsewhere=is_elsewhere(snapshot=snapshot, candidates=call.candidates, failed=failed),
        )
        if step is None:
            raise tried
        if step.elsewhere:
            candidates = kept_from(candidates=call.candidates, servers=snapshot.servers, failed=failed)
            asked = replace(call, candidates=candidates, plan=None)
        else:
            asked = replace(call, plan=None)
        await doors.pause(step.after_s)
        attempt += 1


async def _place(*, doors: Doors, call: Call, id: str, wait_s: float) -> Settled:
    """Wait for a place, at most `wait_s` seconds; while the model of a granted call loads, until it has loaded."""
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
                eta_s = _eta_s(doors=doors, waiter=waiter)
                await _leave(doors=doors, waiter=waiter.id, reason=Reason.GPU_BUSY)
                raise NoPlace(reason=Reason.GPU_BUSY, model=waiter.model, eta_s=eta_s)
            settled = await call_wait(
                ledger=doors.ledger, config=doors.config, now=doors.now, waiter=waiter.id, wait_s=LOOK_AGAIN_S
            )
    except asyncio.CancelledError:
        await asyncio.shield(
            call_withdraw(ledger=doors.ledger, effects=doors.effects, config=doors.config, waiter=id, now=doors.now())
        )
        raise
    except TicketGone:
        raise NoPlace(reason=Reason.GPU_BUSY, model="") from None
    if settled.ticket is None:
        reason = settled.reason or Reason.GPU_BUSY
        late = replace(call.waiter(id=id, now=doors.now(), default_limit_s=0), model=settled.model)
        eta_s = _eta_s(doors=doors, waiter=late) if reason == Reason.GPU_BUSY else None
        raise NoPlace(reason=reason, model=settled.model, eta_s=eta_s)
    return settled


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


def _placed(*, doors: Doors, call: str, attempt: int, settled: Settled) -> Placed:
    ticket = settled.ticket
    assert ticket is not None
    record = doors.ledger.replica.servers[ticket.server]
    copy = next((each for each in record.seen.residents if ticket.model in each.names), None)
    known = None if copy is None else copy.context_length
    return Placed(
        call=call,
        attempt=attempt,
        ticket=ticket,
        server=record,
        context_length=known or record.config.context_length,
        waited_s=settled.waited_s,
    )


async def _contact(
    *, doors: Doors, placed: Placed, prepare: Callable[[Placed], RelayRequest], progress: Progress
) -> RunningCall | NoAnswer:
    """Send a request and wait for its answer's first byte. Without an answer to pass on, the place is given back."""
    answer: RelayAnswer | None = None
    outcome = Outcome(ok=False, end=CallEnd.REFUSED)  # what cannot be said to this engine is the caller's affair
    is_open = False
    try:
        request = prepare(placed)
        outcome = Outcome(ok=False, end=CallEnd.CANCELLED)
        answer = await doors.relay.open(endpoint=placed.server.config.endpoint, request=request)
        failure = failure_of(status=answer.status)
        if failure is None:
            first = await answer.piece()
            running = RunningCall(doors=doors, placed=placed, answer=answer, first=first, progress=progress)
            is_open = True
            return running
        wish_s = next(
            (read_retry_after(v, now=doors.now()) for name, v in answer.headers if name == "retry-after"), None
        )
        outcome = Outcome(ok=False, end=CallEnd.ERROR, status=answer.status)
        return NoAnswer(failure=failure, placed=placed, retry_after_s=wish_s)
    except RelayFailed as error:
        outcome = Outcome(ok=False, end=CallEnd.ERROR)
        return NoAnswer(failure=_failure(error, has_head=answer is not None), placed=placed)
    finally:
        if not is_open:
            if answer is not None:
                answer.close()
            await _give_back(doors=doors, placed=placed, outcome=outcome)


def _failure(error: RelayFailed, *, has_head: bool) -> Failure:
    """Say what a failed contact means. An engine that began its answer and died without a byte works on nothing."""
    if error.trouble in NEVER_SENT:
        return Failure.UNREACHED
    return Failure.ERROR if has_head and error.trouble is Trouble.BROKEN else Failure.BROKEN


async def _give_back(*, doors: Doors, placed: Placed, outcome: Outcome) -> None:
    doors.held.let_go(ticket=placed.ticket.id)
    with contextlib.suppress(LedgerUnavailable):  # the place lapses within its lease
        await asyncio.shield(
            ticket_release(
                ledger=doors.ledger,
                effects=doors.effects,
                config=doors.config,
                ticket=placed.ticket.id,
                outcome=outcome,
                now=doors.now(),
            )
        )
