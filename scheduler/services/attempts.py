"""The one attempt loop: a place, contact with its engine, the answer's first byte; another attempt where that is safe.

House rules: every attempt has a ticket of its own, given back before any pause and before another server is asked; a
ticket is held from before the request is sent until the answer is read to its end or the connection to the engine is
closed, and longer where the engine works on for nobody; nothing is sent again once a byte came, or while an engine may
be at work on it.
"""

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass, replace

from providers.core.engines.base import Trouble
from providers.core.relaying import RelayAnswer, RelayFailed, RelayRequest
from scheduler.core.admission.ambiguity import UNENDED, ambiguity_of, lost_by
from scheduler.core.admission.elsewhere import is_elsewhere, kept_from
from scheduler.core.admission.retrying import Failure, again, failure_of, read_retry_after
from scheduler.core.calls import Call
from scheduler.core.decisions import Reason
from scheduler.core.gate import AdmissionState, FailMode
from scheduler.core.ledger import CallEnd, Outcome, ServerRecord, Settled
from scheduler.core.types import Ticket
from scheduler.services.held import Progress
from scheduler.services.leaving import Opening, let_go
from scheduler.services.placing import Doors, NoPlace, give_back, place

MOST_WORDS = 64 * 1024
PATIENCE_FOR_WORDS_S = 1.0


class NoAnswer(Exception):
    """The call had a place, and its engine gave no answer that could be passed on.

    `said` is what the engine sent instead, for the caller's eyes alone: it may repeat the caller's words.
    """

    def __init__(
        self, *, failure: Failure, placed: "Placed", retry_after_s: float | None = None, said: bytes = b""
    ) -> None:
        super().__init__(failure.value)
        self.failure = failure
        self.placed = placed
        self.retry_after_s = retry_after_s
        self.said = said


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """Where an attempt of a call runs. `context_length` is the copy's, as far as known.

    `is_local`: this process gave the place by itself, the ledger knows nothing of it.
    """

    call: str
    attempt: int
    ticket: Ticket
    server: ServerRecord
    context_length: int | None
    waited_s: float
    is_local: bool = False


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
        self._is_over = not first
        self._trouble: Trouble | None = None
        self._progress = progress
        progress.at = self.first_byte_at

    async def piece(self) -> bytes:
        """Wait for the next piece of the answer after `first`; empty at its end.

        Raises:
            RelayFailed: the engine died, or fell silent for too long.
        """
        try:
            piece = await self._answer.piece()
        except RelayFailed as error:
            self._is_over, self._trouble = True, error.trouble
            raise
        self._is_over = not piece
        self._progress.at = self._doors.now()
        return piece

    async def end(self, *, outcome: Outcome) -> None:
        """Close the connection, then give the place back, even if whoever waits for that goes away.

        Both are left to themselves until the engine ends where it works on without its caller.
        """
        await let_go(
            doors=self._doors,
            ticket=self.placed.ticket.id,
            config=self.placed.server.config,
            contact=self._answer,
            is_at_work=not self._is_over and outcome.end in UNENDED,
            progress=self._progress,
            outcome=replace(
                outcome,
                status=self.status,
                first_byte_at=self.first_byte_at,
                ambiguity=ambiguity_of(end=outcome.end, trouble=self._trouble, is_whole=self._is_over),
            ),
        )


async def call_open(
    *,
    doors: Doors,
    call: Call,
    id: str,
    wait_s: float,
    is_stream: bool,
    prepare: Callable[[Placed], RelayRequest],
    on_place: Callable[[Placed | None], None],
    on_lapse: Callable[[], None],
) -> RunningCall:
    """Find a place for a call, send it, and wait for the first byte of its answer; again where that is safe.

    `wait_s` is for all attempts together. `is_stream` says that the answer comes piece by piece, so that an engine's
    silence means something. `prepare` makes the request for a place; `on_place` is told of every place before it is
    contacted, and None when another is looked for; `on_lapse` when the place of the running call is lost. A cancelled
    caller leaves the line, closes the connection, and gives back what it held; a place at an engine that works on
    without it is kept until that ends.

    Raises:
        NoPlace: the wait was too long, or the call can never be placed.
        NoAnswer: the engine failed it.
        LineFull: too many calls wait already.
    """
    failed: set[str] = set()
    asked, attempt = call, 1
    deadline = doors.now() + wait_s
    while True:
        attempt_id = id if attempt == 1 else f"{id}.{attempt}"
        left_s = max(deadline - doors.now(), 0.0)
        settled = await place(doors=doors, call=asked, id=attempt_id, wait_s=left_s)
        placed = await _placed(doors=doors, call=id, attempt=attempt, settled=settled)
        if placed is None:
            asked, attempt = replace(asked, plan=None), attempt + 1
            continue
        progress = Progress(at=doors.now(), is_told=is_stream)
        if not placed.is_local:
            goes_on = placed.server.config.fail_mode is FailMode.LOCAL
            doors.held.hold(ticket=placed.ticket, progress=progress, on_lapse=on_lapse, goes_on=goes_on)
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
            is_elsewhere=is_elsewhere(
                snapshot=snapshot,
                waiter=call.waiter(id=id, now=snapshot.now, default_limit_s=wait_s),
                failed=failed,
            ),
        )
        if step is None or doors.now() + step.after_s > deadline:
            raise tried
        if step.elsewhere:
            candidates = kept_from(candidates=call.candidates, servers=snapshot.servers, failed=failed)
            asked = replace(call, candidates=candidates, plan=None)
        else:
            asked = replace(call, plan=None)
        on_place(None)
        await doors.pause(step.after_s)
        attempt += 1


async def _placed(*, doors: Doors, call: str, attempt: int, settled: Settled) -> Placed | None:
    """Look up where a call runs; None, and the place is given back, on a server that was taken out meanwhile."""
    ticket = settled.ticket
    assert ticket is not None
    own = doors.local.record_of(ticket=ticket.id)
    record = doors.ledger.replica.servers.get(ticket.server) if own is None else own
    if record is None:  # taken out of the configuration in this very moment
        await give_back(doors=doors, ticket=ticket.id, outcome=Outcome(ok=False, end=CallEnd.CANCELLED))
        raise NoPlace(reason=Reason.GPU_CLOSED, model=ticket.model)
    if record.admission.state is AdmissionState.QUARANTINED:
        await give_back(doors=doors, ticket=ticket.id, outcome=Outcome(ok=False, end=CallEnd.UNSENT))
        return None
    copy = next((each for each in record.seen.residents if ticket.model in each.names), None)
    known = None if copy is None else copy.context_length
    return Placed(
        call=call,
        attempt=attempt,
        ticket=ticket,
        server=record,
        context_length=known or record.config.context_length,
        waited_s=settled.waited_s,
        is_local=own is not None,
    )


async def _contact(
    *, doors: Doors, placed: Placed, prepare: Callable[[Placed], RelayRequest], progress: Progress
) -> RunningCall | NoAnswer:
    """Send a request and wait for its answer's first byte. Without an answer to pass on, the place is given back."""
    answer: RelayAnswer | None = None
    opening: Opening | None = None
    config = placed.server.config
    outcome = Outcome(ok=False, end=CallEnd.REFUSED)  # what cannot be said to this engine is the caller's affair
    is_open = False
    try:
        request = prepare(placed)
        outcome = Outcome(ok=False, end=CallEnd.CANCELLED)
        if config.aborts_on_disconnect:
            answer = await doors.relay.open(endpoint=config.endpoint, request=request)
        else:
            opening = Opening(
                send=lambda told: doors.relay.open(endpoint=config.endpoint, request=request, on_sent=told)
            )
            answer = await opening.head()
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
        return NoAnswer(failure=failure, placed=placed, retry_after_s=wish_s, said=await _words(answer))
    except RelayFailed as error:
        ambiguity = lost_by(error.trouble) if error.was_sent else None
        outcome = Outcome(ok=False, end=CallEnd.ERROR, ambiguity=ambiguity)
        is_over = answer is not None and config.aborts_on_disconnect
        return NoAnswer(failure=_failure(error, is_over=is_over), placed=placed)
    finally:
        if not is_open:
            await let_go(
                doors=doors,
                ticket=placed.ticket.id,
                config=config,
                contact=answer or opening,
                is_at_work=opening is not None and opening.is_sent and outcome.end in UNENDED,
                progress=progress,
                outcome=outcome,
            )


async def _words(answer: RelayAnswer) -> bytes:
    """Read what an engine says of its failure, as far as it says it soon and shortly."""
    said = bytearray()
    with contextlib.suppress(RelayFailed, TimeoutError):
        async with asyncio.timeout(PATIENCE_FOR_WORDS_S):
            while len(said) < MOST_WORDS and (piece := await answer.piece()):
                said += piece
    return bytes(said[:MOST_WORDS])


def _failure(error: RelayFailed, *, is_over: bool) -> Failure:
    """Say what a failed contact means.

    `is_over`: an engine that began its answer and died without a byte works on nothing, unless it is of those that work
    on when the connection ends.
    """
    if not error.was_sent:
        return Failure.UNREACHED
    return Failure.ERROR if is_over and error.trouble is Trouble.BROKEN else Failure.BROKEN
