"""Engines that serve what they were started with: vLLM, and any other server with OpenAI's wire.

House rules: what is listed is in memory; nothing is ever loaded or unloaded; how much it takes nobody says.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from providers.core.engines import messages
from providers.core.engines.base import (
    PROBE_TIMEOUT_S,
    FailureKind,
    HttpCall,
    HttpReply,
    ProbeFailure,
)
from providers.core.engines.json_reading import JsonObject, Nonsense
from providers.core.engines.openai_listing import EXPECTED, MODELS, entries_of
from providers.core.engines.replies import ReplyReader
from providers.core.types import AvailableModel, LoadedCopy, Observation

HEALTH = HttpCall(method="GET", path="/health", timeout_s=PROBE_TIMEOUT_S)
VERSION = HttpCall(method="GET", path="/version", timeout_s=PROBE_TIMEOUT_S)
SLEEPING = HttpCall(method="GET", path="/is_sleeping", timeout_s=PROBE_TIMEOUT_S)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServingEngine:
    """The codec for an engine without loads. `reader` knows its words, `calls` are what it is asked in a probe."""

    reader: ReplyReader
    calls: tuple[HttpCall, ...] = (MODELS,)

    loader = None

    def probe_calls(self) -> tuple[HttpCall, ...]:
        """List the calls that observe a server."""
        return self.calls

    def parse_probe(
        self,
        *,
        replies: Sequence[HttpReply],
        now: float,  # noqa: ARG002 - the port's signature
    ) -> Observation | ProbeFailure:
        """Read what a server said about itself. Only its list of models is indispensable.

        A server that says that it is not well, or sleeps, serves nobody: it lists its models all the same.
        """
        version: str | None = None
        loaded: tuple[LoadedCopy, ...] = ()
        for call, reply in zip(self.probe_calls(), replies, strict=False):
            if call is HEALTH and reply.trouble is None:
                if reply.status == 503:
                    return ProbeFailure(kind=FailureKind.WRONG_ANSWER, detail=messages.not_well(call=call))
                continue
            body = self.reader.read(call=call, reply=reply, may_be_missing=call is not MODELS)
            if isinstance(body, ProbeFailure):
                return body
            if body is None:
                continue
            try:
                if call is MODELS:
                    loaded = _copies(body)
                elif call is VERSION:
                    version = body.text("version")
                elif body.is_true("is_sleeping"):
                    return ProbeFailure(kind=FailureKind.WRONG_ANSWER, detail=messages.asleep())
            except Nonsense as found:
                return self.reader.nonsense(call=call, found=str(found))
        names = (name for copy in loaded for name in (copy.model, *copy.aliases))
        return Observation(
            loaded=loaded, available=tuple(AvailableModel(model=name) for name in names), version=version
        )

    def residents_call(self) -> HttpCall:
        """Make the call that asks what is served."""
        return MODELS

    def parse_residents(
        self,
        *,
        reply: HttpReply,
        now: float,  # noqa: ARG002 - the port's signature
    ) -> tuple[LoadedCopy, ...] | ProbeFailure:
        """Read what is served."""
        return self.reader.parsed(call=MODELS, reply=reply, parse=_copies)


def _copies(body: JsonObject) -> tuple[LoadedCopy, ...]:
    """Read what is served. Names of the same weights are one copy, under the first; so are the adapters on them."""
    copies: dict[str, LoadedCopy] = {}
    weights: dict[str, str] = {}
    for name, entry in entries_of(body):
        parent = entry.text("parent")
        weights[name] = (entry.text("root") or name) if not parent else weights.get(parent, parent)
        known = copies.get(weights[name])
        copies[weights[name]] = LoadedCopy(
            model=name if known is None else known.model,
            footprint_mib=None,
            context_length=(entry.whole("max_model_len") or None) if known is None else known.context_length,
            aliases=() if known is None else (*known.aliases, name),
        )
    return tuple(copies.values())


VLLM = ServingEngine(
    reader=ReplyReader(
        engine="a vLLM server",
        expected={
            HEALTH.path: "nothing but a status",
            MODELS.path: EXPECTED,
            VERSION.path: 'an object with the text "version"',
            SLEEPING.path: 'an object with "is_sleeping"',
        },
    ),
    calls=(HEALTH, MODELS, VERSION, SLEEPING),
)
OPENAI = ServingEngine(reader=ReplyReader(engine="a server with OpenAI's API", expected={MODELS.path: EXPECTED}))
