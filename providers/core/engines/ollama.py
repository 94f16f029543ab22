"""Ollama's wire, without a socket: which calls to send, and what the replies mean.

House rules: a field that is missing is unknown (None), unknown fields are ignored, a field of the wrong type makes the
reply nonsense (a ProbeFailure, never an exception). Texts of errors are not read: they change between releases.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from providers.core.engines import messages
from providers.core.engines.base import (
    PROBE_TIMEOUT_S,
    HttpCall,
    HttpReply,
    Loader,
    ProbeFailure,
    StepDone,
    StepFailed,
    StepOutcome,
    TryAnotherWay,
)
from providers.core.engines.json_reading import Nonsense, read_object
from providers.core.engines.ollama_listing import parse_available, parse_loaded, with_aliases
from providers.core.engines.replies import ReplyReader, unanswered
from providers.core.types import LoadedCopy, Observation

KEEP_FOR_EVER = -1
UNLOAD_NOW = 0

VERSION = HttpCall(method="GET", path="/api/version", timeout_s=PROBE_TIMEOUT_S)
RUNNING = HttpCall(method="GET", path="/api/ps", timeout_s=PROBE_TIMEOUT_S)
ON_DISK = HttpCall(method="GET", path="/api/tags", timeout_s=PROBE_TIMEOUT_S)

READER = ReplyReader(
    engine="an Ollama server",
    expected={
        VERSION.path: 'an object with the text "version"',
        RUNNING.path: 'an object with the list "models" of what is in memory',
        ON_DISK.path: 'an object with the list "models" of what is on disk',
    },
)


class OllamaEngine:
    """The codec for Ollama and everything that speaks its wire."""

    @property
    def loader(self) -> Loader:
        """Give itself: it loads and unloads when told to."""
        return self

    def probe_calls(self) -> tuple[HttpCall, ...]:
        """List the three calls that observe a server; none of them can start a load or a generation."""
        return (VERSION, RUNNING, ON_DISK)

    def parse_probe(self, *, replies: Sequence[HttpReply], now: float) -> Observation | ProbeFailure:
        """Read what a server said about itself.

        Only the list of running models is indispensable. A server that answers the version or the list on disk with a
        4xx is alive and does not say: both become unknown.
        """
        version: str | None = None
        loaded: tuple[LoadedCopy, ...] = ()
        available = None
        for call, reply in zip(self.probe_calls(), replies, strict=False):
            body = READER.read(call=call, reply=reply, may_be_missing=call is not RUNNING)
            if isinstance(body, ProbeFailure):
                return body
            if body is None:
                continue
            try:
                if call is VERSION:
                    version = body.text("version")
                elif call is RUNNING:
                    loaded = parse_loaded(body, now=now)
                else:
                    available = parse_available(body)
            except Nonsense as found:
                return READER.nonsense(call=call, found=str(found))
        return Observation(loaded=with_aliases(loaded, available), available=available, version=version)

    def residents_call(self) -> HttpCall:
        """Make the call that asks what is in memory now."""
        return RUNNING

    def parse_residents(self, *, reply: HttpReply, now: float) -> tuple[LoadedCopy, ...] | ProbeFailure:
        """Read what is in memory now. A model that is still loading is listed too: listed is not yet ready."""
        return READER.parsed(call=RUNNING, reply=reply, parse=lambda body: parse_loaded(body, now=now))

    def parse_coming(self, *, reply: HttpReply) -> None:  # noqa: ARG002 - the port's signature
        """Say nothing: a model that is loading is listed as if it were there, and its load is answered at its end."""
        return

    def load_calls(self, *, model: str, context_length: int | None, timeout_s: float) -> tuple[HttpCall, ...]:
        """List the ways to load a model for ever: an empty generation, else (it cannot generate) an empty embedding."""
        options = call_options(context_length=context_length)
        body: dict[str, Any] = {"model": model, "keep_alive": KEEP_FOR_EVER}
        if options:
            body["options"] = options
        return _both_ways(body=body, timeout_s=timeout_s)

    def unload_calls(self, *, model: str, timeout_s: float) -> tuple[HttpCall, ...]:
        """List the ways to unload a model. The engine answers at once; the model goes when its last call has ended."""
        return _both_ways(body={"model": model, "keep_alive": UNLOAD_NOW}, timeout_s=timeout_s)

    def parse_step(self, *, call: HttpCall, reply: HttpReply) -> StepOutcome:
        """Read the reply to a load or an unload."""
        model = str((call.json or {}).get("model", ""))
        failed = unanswered(call=call, reply=reply)
        if failed is not None:
            return failed
        match reply.status:
            case 200:
                return _confirmed(call=call, reply=reply)
            case 400:  # an embedding model refuses to generate; which text it says so with depends on the release
                return TryAnotherWay(detail=messages.step_status(call=call, model=model, status=400))
            case 404:
                return StepFailed(detail=messages.no_such_model(call=call, model=model))
            case 503:
                return StepFailed(detail=messages.engine_busy(call=call))
            case status:
                return StepFailed(detail=messages.step_status(call=call, model=model, status=status or 0))


def call_options(*, context_length: int | None) -> dict[str, int]:
    """Make the options that a call to a copy with this context must carry, so that the engine does not load it again.

    `context_length` is the one already allocated (or, for a load, the one to allocate). Any other number, also 0 and
    also none at all, makes the engine unload and load the model anew; only an unknown context is not sent.
    """
    return {"num_ctx": context_length} if context_length else {}


def _both_ways(*, body: Mapping[str, Any], timeout_s: float) -> tuple[HttpCall, ...]:
    return (
        HttpCall(method="POST", path="/api/generate", json={**body, "stream": False}, timeout_s=timeout_s),
        HttpCall(method="POST", path="/api/embed", json={**body, "input": ""}, timeout_s=timeout_s),
    )


def _confirmed(*, call: HttpCall, reply: HttpReply) -> StepOutcome:
    """Read the body behind a 200: one object, or the lines of a stream; the running models are asked next anyway."""
    found = ""
    for line in filter(None, map(bytes.strip, reply.body.split(b"\n"))):
        try:
            found = "an error" if read_object(line).has("error") else ""
        except Nonsense as nonsense:
            found = str(nonsense)
        if found:  # a failure after the status was sent can only come this way
            return StepFailed(detail=READER.told(call=call, found=found, expected="an object that says done"))
    return StepDone()
