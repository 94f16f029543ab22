"""Ollama's answers to a call: a stream of JSON lines, or one object; and the refusals before either begins."""

from providers.core.engines.base import (
    Delta,
    Done,
    Failed,
    HttpReply,
    RefusalReason,
    Refused,
    StreamEvent,
    Truncated,
)
from providers.core.engines.json_reading import JsonObject, Nonsense, read_object

MAX_LINE_BYTES = 32 * 1024 * 1024
NANOSECONDS = 1_000_000_000

REFUSALS = {
    404: (RefusalReason.NO_SUCH_MODEL, "The engine does not have this model."),
    429: (RefusalReason.BUSY, "The engine is busy (HTTP 429)."),
    503: (RefusalReason.BUSY, "The engine is busy (HTTP 503): its own queue is full."),
}


class AnswerReader:
    """Turns the bytes of an answer into events, wherever the network cuts them.

    Feed it every piece as it comes and close it at the end of the body. The last event is Done, Truncated or Failed;
    what an engine sends after that is ignored.
    """

    def __init__(self) -> None:
        """Begin with nothing read."""
        self._rest = b""
        self._is_over = False

    def feed(self, piece: bytes) -> list[StreamEvent]:
        """Read one piece of the body and list the events it completed."""
        *lines, self._rest = (self._rest + piece).split(b"\n")
        events = [event for line in lines for event in self._read(line)]
        if not self._is_over and len(self._rest) > MAX_LINE_BYTES:
            events.append(self._over(Failed(detail="The engine sent a line without end.")))
        return events

    def close(self) -> list[StreamEvent]:
        """Read what is left at the end of the body; an answer that was not marked as whole is truncated."""
        rest, self._rest = self._rest, b""
        try:
            read_object(rest)
        except Nonsense:
            rest = b""  # a last line that was cut off is a truncation, not nonsense
        events = self._read(rest)
        if not self._is_over:
            events.append(self._over(Truncated()))
        return events

    def _read(self, line: bytes) -> list[StreamEvent]:
        if self._is_over or not line.strip():
            return []
        try:
            return self._events(read_object(line))
        except Nonsense as found:
            return [self._over(Failed(detail=f"The engine answered {found} in the middle of its answer."))]

    def _events(self, line: JsonObject) -> list[StreamEvent]:
        if line.has("error"):
            return [self._over(Failed(detail="The engine gave up in the middle of its answer."))]
        message = line.object("message") or line
        delta = Delta(
            text=message.text("content") or line.text("response") or "",
            thinking=message.text("thinking") or "",
        )
        events: list[StreamEvent] = [delta] if delta != Delta() else []
        if line.is_true("done"):
            events.append(self._over(_done(line)))
        return events

    def _over(self, last: StreamEvent) -> StreamEvent:
        self._is_over = True
        return last


def refusal(*, status: int) -> Refused | None:
    """Say what the status of an answer refuses; None when it begins to answer.

    A 4xx is the caller's mistake and a 503 a full queue: neither says that the engine is ill.
    """
    if status == 200:
        return None
    if status in REFUSALS:
        reason, detail = REFUSALS[status]
        return Refused(reason=reason, detail=detail)
    reason = RefusalReason.BAD_REQUEST if 400 <= status < 500 else RefusalReason.FAILED
    return Refused(reason=reason, detail=f"The engine answered HTTP {status}.")


def parse_answer(*, reply: HttpReply) -> tuple[StreamEvent, ...]:
    """Read the whole reply to a call that was not streamed, as the same events."""
    if reply.status is None:
        return (Truncated(),)
    refused = refusal(status=reply.status)
    if refused is not None:
        return (refused,)
    reader = AnswerReader()
    return (*reader.feed(reply.body), *reader.close())


def _done(line: JsonObject) -> Done:
    load = line.whole("load_duration")
    return Done(
        reason=line.text("done_reason"),
        prompt_tokens=line.whole("prompt_eval_count"),
        completion_tokens=line.whole("eval_count"),
        load_s=None if load is None else load / NANOSECONDS,
    )
