"""Reading an answer of the OpenAI wire as documents of Ollama's own, from which every other dialect is written.

House rules: what is said goes on with its event, tool calls once they are whole; the last document comes with the final
mark, for what an answer took may come after its reason to end; an answer of which something was lost has no last one.
"""

from collections.abc import Callable
from typing import Any, Final

from kubemoot_web.gateway.errors import engine_words
from kubemoot_web.gateway.gathered_calls import GatheredCalls
from kubemoot_web.gateway.json_reader import read_object
from kubemoot_web.gateway.readers import BROKEN_OFF, NANOSECONDS, count_of
from kubemoot_web.gateway.sse_reader import FINAL

Clock = Callable[[], float]

FIELDS: Final = (b"data", b"error")
"""Old llama.cpp says an error in a field of that name."""
FAILED: Final = "The model server failed and did not say why."
NO_ANSWER: Final = "The model server answered with something that is no answer."
MILLISECONDS: Final = NANOSECONDS // 1000
LONGEST_MS: Final = 1e12


class Events:
    """Reads server-sent events line by line. `clock` measures how long things took where the engine does not say."""

    __slots__ = ("_calls", "_is_whole", "_reason", "_took")

    def __init__(self, *, clock: Clock) -> None:
        """The request is about to be sent."""
        self._calls = GatheredCalls()
        self._took = Took(clock=clock)
        self._reason: Any = None
        self._is_whole = True

    def __call__(self, line: bytes) -> list[dict[str, Any]]:
        """Read a line, and give the documents that it makes: none, one, or with the final mark the rest.

        Raises:
            TooLong: a tool call has no end.
        """
        name, _, rest = line.partition(b":")
        data = rest.strip()
        if name not in FIELDS or not data:
            return []
        if data == FINAL:
            return self._ended()
        event = read_object(data)
        if event is None:
            self._is_whole = False  # nobody knows what it said
            return []
        if name == b"error" or is_error(event):
            return [{"error": engine_words(data) or FAILED}]
        self._took.begin()
        self._took.note(event)
        choice = first_choice(event)
        message, self._reason = said(choice, "delta"), choice.get("finish_reason") or self._reason
        self._calls.add(message.pop("tool_calls", None))
        if choice.get("finish_reason"):
            message = joined(message, self._calls.taken())
        return [document(message, choice)] if message else []

    def _ended(self) -> list[dict[str, Any]]:
        if not self._is_whole or self._reason in BROKEN_OFF:
            return []
        left = self._calls.taken()
        last = {"message": {"role": "assistant", "content": ""}, **self._took.ended(self._reason)}
        return [document(left, {}), last] if left else [last]


def answer_reader(clock: Clock) -> Callable[[bytes], dict[str, Any] | None]:
    """Make what reads a whole answer as one document; None where it is cut. The request is about to be sent."""
    took = Took(clock=clock)

    def read(body: bytes) -> dict[str, Any] | None:
        given = read_object(body)
        if given is None:
            return None
        choice = first_choice(given)
        if is_error(given) or not choice:
            return {"error": engine_words(body) or (FAILED if is_error(given) else NO_ANSWER)}
        if choice.get("finish_reason") in BROKEN_OFF:
            return None
        took.note(given)
        calls, message = GatheredCalls(), said(choice, "message")
        calls.add(message.pop("tool_calls", None))
        told = document(joined(message, calls.taken()), choice)
        return {**told, **took.ended(choice.get("finish_reason"))}

    return read


def embedding_reader(clock: Clock) -> Callable[[bytes], dict[str, Any] | None]:
    """Make what reads a list of embeddings; None where it is cut. The request is about to be sent."""
    took = Took(clock=clock)

    def read(body: bytes) -> dict[str, Any] | None:
        given = read_object(body)
        if given is None:
            return None
        data = given.get("data")
        found = [each for each in data if isinstance(each, dict)] if isinstance(data, list) else []
        vectors = [each.get("embedding") for each in sorted(found, key=lambda each: count_of(each.get("index")) or 0)]
        if is_error(given) or not vectors or not all(isinstance(each, list) for each in vectors):
            return {"error": engine_words(body) or (FAILED if is_error(given) else NO_ANSWER)}
        took.note(given)
        whole = took.ended(None)
        kept = ("total_duration", "load_duration", "prompt_eval_count")
        return {"embeddings": vectors, **{name: whole[name] for name in kept if name in whole}}

    return read


class Took:
    """What an answer took: in tokens as the engine says, in time as it says or as it was seen from here."""

    __slots__ = ("_began", "_clock", "_first_at", "_timings", "_usage")

    def __init__(self, *, clock: Clock) -> None:
        """The request is about to be sent."""
        self._clock = clock
        self._began = clock()
        self._first_at: float | None = None
        self._usage: dict[str, Any] = {}
        self._timings: dict[str, Any] = {}

    def begin(self) -> None:
        """The answer comes piece by piece, and its first one is here."""
        if self._first_at is None:
            self._first_at = self._clock()

    def note(self, event: dict[str, Any]) -> None:
        """Take what an event says of it; the newest counts."""
        if isinstance(event.get("usage"), dict):
            self._usage = event["usage"]
        if isinstance(event.get("timings"), dict):  # llama.cpp
            self._timings = event["timings"]

    def ended(self, reason: Any) -> dict[str, Any]:
        """Say how an answer ended and what it took, as Ollama's last document does; what is unknown is left out."""
        now, usage, timings = self._clock(), self._usage, self._timings
        read, written = count_of(timings.get("prompt_n")), count_of(timings.get("predicted_n"))
        if read is not None:
            read += count_of(timings.get("cache_n")) or 0
        began, first_at = self._began, self._first_at
        told = {
            "total_duration": _nanoseconds(now - began),
            "load_duration": 0,  # what was loaded was loaded before the call was sent
            "prompt_eval_count": _known(usage.get("prompt_tokens"), read),
            "prompt_eval_duration": _own(timings.get("prompt_ms"), None if first_at is None else first_at - began),
            "eval_count": _known(usage.get("completion_tokens"), written),
            "eval_duration": _own(timings.get("predicted_ms"), None if first_at is None else now - first_at),
        }
        ended = {"done": True, "done_reason": "length" if reason == "length" else "stop"}
        return ended | {name: value for name, value in told.items() if value is not None}


def is_error(given: dict[str, Any]) -> bool:
    """Say whether an event or a body is an error; old vLLM says so by its kind alone."""
    return bool(given.get("error")) or given.get("object") == "error"


def first_choice(given: dict[str, Any]) -> dict[str, Any]:
    """Find the one choice that was asked for; empty where there is none, as beside the usage."""
    choices = given.get("choices")
    return choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}


def said(choice: dict[str, Any], member: str) -> dict[str, Any]:
    """Read what a choice says, in the words of Ollama's wire; its tool calls as they are."""
    given = choice.get(member)
    delta = given if isinstance(given, dict) else {}
    message = {
        "content": _first_text(delta.get("content"), delta.get("refusal"), choice.get("text")),
        "thinking": _first_text(delta.get("reasoning_content"), delta.get("reasoning")),
        "tool_calls": delta.get("tool_calls"),
    }
    return {name: value for name, value in message.items() if value}


def joined(message: dict[str, Any], calls: dict[str, Any]) -> dict[str, Any]:
    """Put tool calls into a message, and what could not be read as one behind its text."""
    text = message.get("content", "") + calls.get("content", "")
    return {**message, **calls, **({"content": text} if text else {})}


def document(message: dict[str, Any], choice: dict[str, Any]) -> dict[str, Any]:
    """Make a document of Ollama's wire."""
    logprobs = choice.get("logprobs")
    told = logprobs.get("content") if isinstance(logprobs, dict) else None
    made = {"message": {"role": "assistant", "content": "", **message}, "done": False}
    return {**made, "logprobs": told} if isinstance(told, list) else made


def _first_text(*values: Any) -> str:
    return next((value for value in values if isinstance(value, str) and value), "")


def _known(value: Any, instead: int | None) -> int | None:
    count = count_of(value)
    return instead if count is None else count


def _nanoseconds(seconds: float) -> int:
    return round(max(seconds, 0.0) * NANOSECONDS)


def _own(ms: Any, seen_s: float | None) -> int | None:
    """Take the engine's own figure where it gives one that can be, else what was seen."""
    if isinstance(ms, int | float) and not isinstance(ms, bool) and 0 <= ms < LONGEST_MS:
        return round(ms * MILLISECONDS)
    return None if seen_s is None else _nanoseconds(seen_s)
