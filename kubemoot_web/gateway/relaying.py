"""One call of a client, from its place in line to the last byte of its answer.

House rules: whatever happens, the place is given back; a client that leaves ends the engine's work at once; while a
call waits or loads its client is kept patient, for an engine's own silence nobody makes noise; after the first byte an
error travels inside the answer.
"""

import asyncio
from collections.abc import Callable

from kubemoot_web.gateway.asking import Asked, BadAsk
from kubemoot_web.gateway.dialects import Headers, answer_headers, beat
from kubemoot_web.gateway.errors import INSIDE, UNSAID, engine_refusal, engine_words, error_answer, error_frame
from kubemoot_web.gateway.heads import passed_down, placement
from kubemoot_web.gateway.line import Line
from kubemoot_web.gateway.mishaps import note_mishap
from kubemoot_web.gateway.pulse import Pulse
from kubemoot_web.gateway.readers import AnswerReader, TooLong, Verdict
from kubemoot_web.gateway.room import Room
from kubemoot_web.gateway.upstream import upstream
from providers.core.relaying import RelayFailed, RelayRequest
from providers.core.types import EngineKind
from scheduler.core.admission.retrying import Failure
from scheduler.core.calls import Call
from scheduler.core.decisions import Reason, code_of
from scheduler.core.ledger import CallEnd, Outcome
from scheduler.core.messages import engine_failed, place_lost, stood_aside
from scheduler.ports import LedgerUnavailable, LineFull
from scheduler.services.attempts import NoAnswer, Placed, RunningCall, call_open
from scheduler.services.placing import Doors, NoPlace

BEAT_S = 0.6
MOST_OF_AN_ERROR = 64 * 1024
SOON_S = 5.0
"""What Retry-After says where nobody knows when a place will be free."""
WORTH_LATER = frozenset({"gpu-busy", "queue-full", "too-many-calls", "ledger-unavailable"})
REASONS = {"key-limit": "too-many-calls"}
CODES = {
    Failure.UNREACHED: "engine-unreachable",
    Failure.BUSY: "gpu-busy",
    Failure.ERROR: "engine-error",
    Failure.BROKEN: "engine-unreachable",
    Failure.REDIRECTED: "engine-error",
}


class _TooLong(Exception):
    """The copy in the place that was found reads less than the call sends: the engine would cut it without a word."""


class Relaying:
    """Carries one call. `id` is the call's; `wait_s` how long it may wait; `hold_s` how long in silence; `room` is what
    its body takes, given back once no engine can need it any more.
    """

    def __init__(
        self, *, doors: Doors, line: Line, asked: Asked, room: Room, call: Call, id: str, wait_s: float, hold_s: float
    ) -> None:
        self._doors = doors
        self._line = line
        self._asked = asked
        self._room = room
        self._call = call
        self._id = id
        self._wait_s = wait_s
        self._hold_s = hold_s
        self._placed: Placed | None = None
        self._reader: AnswerReader | None = None
        self._is_lapsed = False

    async def run(self) -> None:
        """Place the call, relay it, and tell the client how it went."""
        task = asyncio.current_task()
        assert task is not None
        self._line.watch(lambda: _end(task))
        try:
            await self._carry(on_lapse=lambda: self._lapse(task))
        except asyncio.CancelledError:
            if self._line.is_gone:
                task.uncancel()
            elif self._is_lapsed:
                task.uncancel()
                await self._fail("engine-error", place_lost())
            else:
                raise
        except Exception as error:  # whatever it is, a client is told, and never takes what it has for an answer
            note_mishap(error)
            await self._fail("internal", INSIDE)
        finally:
            self._line.unwatch()

    async def _carry(self, *, on_lapse: Callable[[], None]) -> None:
        try:
            running = await self._opened(on_lapse=on_lapse)
        except NoPlace as error:
            code = REASONS.get(error.reason, code_of(reason=error.reason))
            await self._fail(code, stood_aside(reason=error.reason, model=error.model), retry_s=error.eta_s)
        except NoAnswer as error:
            server = error.placed.ticket.server
            message = engine_failed(server=server, failure=error.failure, said=engine_words(error.said))
            await self._fail(CODES[error.failure], message, retry_s=error.retry_after_s)
        except LineFull as error:
            await self._fail("queue-full", str(error))
        except LedgerUnavailable as error:
            await self._fail("ledger-unavailable", str(error))
        except BadAsk as error:
            await self._fail("bad-request", error.message, param=error.param)
        except _TooLong as error:
            await self._fail("prompt-too-large", str(error), param="messages")
        else:
            await self._relay(running)

    async def _opened(self, *, on_lapse: Callable[[], None]) -> RunningCall:
        """Wait for the answer's first byte; the client hears beats while its call waits or loads."""
        pulse = Pulse(after_s=self._hold_s, every_s=BEAT_S, beat=self._beat)
        try:
            return await call_open(
                doors=self._doors,
                call=self._call,
                id=self._id,
                wait_s=self._wait_s,
                is_stream=self._asked.stream,
                prepare=self._prepare,
                on_place=self._place,
                on_lapse=on_lapse,
            )
        finally:
            pulse.stop()  # and wait for nothing: a client that left now would leave the running call to nobody

    async def _beat(self) -> None:
        if self._placed is not None and not self._line.is_begun:
            return  # nobody makes noise for the silence of an engine
        asked = self._asked
        if not self._line.is_begun:
            headers = [*answer_headers(asked.dialect, asked.stream), *self._placement()]
            await self._line.begin(status=200, headers=headers)
        await self._line.write(beat(asked.dialect, asked.stream))

    def _place(self, placed: Placed | None) -> None:
        self._placed = placed

    def _prepare(self, placed: Placed) -> RelayRequest:
        config, tokens = placed.server.config, self._asked.prompt_tokens
        if tokens is not None and placed.context_length is not None and tokens > placed.context_length:
            # a copy that was loaded for this call alone: how much it can read was not known before
            raise _TooLong(stood_aside(reason=Reason.PROMPT_TOO_LARGE, model=placed.ticket.model))
        made = upstream(
            self._asked,
            engine=EngineKind(config.kind),
            model=placed.ticket.model,
            context_length=placed.context_length,
            is_context_set=config.context_length is not None,
            call_id=self._id,
            clock=self._doors.now,
        )
        self._reader = made.reader
        self._asked.fold_up()
        return RelayRequest(
            method="POST",
            path=made.path,
            silence_s=config.call_timeout_s,
            headers=(("content-type", "application/json"), *self._passed_up()),
            body=made.body,
            secret=config.secret,
        )

    def _passed_up(self) -> list[tuple[str, str]]:
        """List what of the client's headers an engine may see: what traces a call, never who sent it."""
        known = self._line.headers
        return [(name, known[name]) for name in ("x-request-id", "traceparent") if name in known]

    async def _relay(self, running: RunningCall) -> None:
        assert self._reader is not None
        self._asked = self._asked.without_body()
        self._room.give_back()
        end = CallEnd.CANCELLED
        verdict: Verdict | None = None
        try:
            if running.status != 200:
                end = CallEnd.REFUSED
                await self._pass_refusal(running)
                return
            verdict = await (self._stream(running) if self._asked.stream else self._gather(running))
            end = verdict.end
            await self._line.finish()  # before the place is given back: a ledger that is slow holds up no client
        except asyncio.CancelledError:
            verdict = self._reader.verdict
            if verdict.end is CallEnd.OK:  # a client that has the final mark need not wait for the engine's own end
                end = verdict.end
            raise
        finally:
            await running.end(
                outcome=Outcome(
                    ok=end is CallEnd.OK,
                    end=end,
                    prompt_tokens=None if verdict is None else verdict.prompt_tokens,
                    completion_tokens=None if verdict is None else verdict.completion_tokens,
                )
            )

    async def _stream(self, running: RunningCall) -> Verdict:
        """Pass an answer on, piece by piece, up to its end."""
        assert self._reader is not None
        reader, line = self._reader, self._line
        if not line.is_begun:
            await line.begin(status=200, headers=self._head(running))
        piece, is_broken = running.first, False
        try:
            while piece:
                out = reader.feed(piece)
                if out:
                    await line.write(out)
                piece = await running.piece()
        except (RelayFailed, TooLong):
            is_broken = True
        rest = reader.end(is_broken=is_broken)
        if rest:
            await line.write(rest)
        return reader.verdict

    async def _gather(self, running: RunningCall) -> Verdict:
        """Pass an answer on whole, so that one without its end can still be told as an error."""
        assert self._reader is not None
        reader = self._reader
        parts, piece, is_broken = [], running.first, False
        try:
            while piece:
                parts.append(reader.feed(piece))
                piece = await running.piece()
        except (RelayFailed, TooLong):
            is_broken = True
        parts.append(reader.end(is_broken=is_broken))
        verdict = reader.verdict
        body = b"".join(parts)
        if self._line.is_begun:
            await self._line.write(body)
        elif verdict.end is CallEnd.OK:
            length = (b"content-length", str(len(body)).encode())
            await self._line.begin(status=200, headers=[*self._head(running), length])
            await self._line.write(body)
        else:
            is_cut = verdict.end is CallEnd.TRUNCATED
            said = "" if is_cut else engine_words(body)
            message = engine_failed(server=running.placed.ticket.server, failure=Failure.ERROR, said=said)
            code = "stream-truncated" if is_cut else "engine-error"
            status, headers, body = error_answer(self._asked.dialect, code, message)
            await self._line.begin(status=status, headers=[*headers, *self._placement()])
            await self._line.write(body)
        return verdict

    async def _pass_refusal(self, running: RunningCall) -> None:
        """Pass on what the engine had against the request, in the shape of the client's dialect."""
        body = bytearray()
        piece = running.first
        try:
            while piece and len(body) < MOST_OF_AN_ERROR:
                body += piece
                piece = await running.piece()
        except RelayFailed:
            pass  # its status says enough
        asked = self._asked
        status, headers, told = engine_refusal(asked.dialect, running.status, bytes(body))
        if self._line.is_begun:
            words = engine_words(told) or UNSAID
            await self._line.finish(error_frame(asked.dialect, asked.stream, "engine-error", words))
        else:
            await self._line.answer(status, [*headers, *self._placement()], told)

    async def _fail(self, code: str, message: str, *, param: str | None = None, retry_s: float | None = None) -> None:
        """Tell the client that it gets no answer: by a status where none was sent yet, else inside the answer."""
        asked = self._asked
        if self._line.is_begun:
            await self._line.finish(error_frame(asked.dialect, asked.stream, code, message))
            return
        if code in WORTH_LATER:
            retry_s = SOON_S if retry_s is None else retry_s
        status, headers, body = error_answer(asked.dialect, code, message, param=param, retry_after_s=retry_s)
        await self._line.answer(status, [*headers, *self._placement()], body)

    def _head(self, running: RunningCall) -> Headers:
        """Make the head of an answer."""
        passed = passed_down(running.headers)
        return [
            *answer_headers(self._asked.dialect, self._asked.stream),
            *passed,
            *self._placement(has_id=any(name == b"x-request-id" for name, _ in passed)),
        ]

    def _placement(self, *, has_id: bool = False) -> Headers:
        request_id = None if has_id else self._line.headers.get("x-request-id", self._id)
        return placement(call=self._id, request_id=request_id, placed=self._placed)

    def _lapse(self, task: "asyncio.Task[object]") -> None:
        self._is_lapsed = True
        _end(task)


def _end(task: "asyncio.Task[object]") -> None:
    task.cancel()
