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

VERSION = HttpCall(method="GET", path="/version", timeout_s=PROBE_TIMEOUT_S)
SLEEPING = HttpCall(method="GET", path="/is_sleeping", timeout_s=PROBE_TIMEOUT_S)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServingEngine:
    """The codec for an engine without loads. `reader` knows its words; `more` are questions that it need not answer."""

    reader: ReplyReader
    more: tuple[HttpCall, ...] = ()

    loader = None

    def probe_calls(self) -> tuple[HttpCall, ...]:
        """List the calls that observe a server."""
        return (MODELS, *self.more)

    def parse_probe(
        self,
        *,
        replies: Sequence[HttpReply],
        now: float,  # noqa: ARG002 - the port's signature
    ) -> Observation | ProbeFailure:
        """Read what a server said about itself. Only its list of models is indispensable.

        A server that says that it sleeps serves nobody, however green the rest is.
        """
        version: str | None = None
        loaded: tuple[LoadedCopy, ...] = ()
        for call, reply in zip(self.probe_calls(), replies, strict=False):
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

    def parse_residents(self, *, reply: HttpReply, now: float) -> tuple[LoadedCopy, ...] | ProbeFailure:
        """Read what is served."""
        seen = self.parse_probe(replies=(reply,), now=now)
        return seen if isinstance(seen, ProbeFailure) else seen.loaded


def _copies(body: JsonObject) -> tuple[LoadedCopy, ...]:
    """Read what is served. Several names of the same weights are one copy, under the first; an adapter is its own."""
    copies: dict[str, LoadedCopy] = {}
    for name, entry in entries_of(body):
        root = None if entry.has("parent") else entry.text("root")
        known = copies.get(root or name)
        copies[root or name] = LoadedCopy(
            model=name if known is None else known.model,
            footprint_mib=None,
            context_length=entry.whole("max_model_len") or None,
            aliases=() if known is None else (*known.aliases, name),
        )
    return tuple(copies.values())


VLLM = ServingEngine(
    reader=ReplyReader(
        engine="a vLLM server",
        expected={
            MODELS.path: EXPECTED,
            VERSION.path: 'an object with the text "version"',
            SLEEPING.path: 'an object with "is_sleeping"',
        },
    ),
    more=(VERSION, SLEEPING),
)
OPENAI = ServingEngine(reader=ReplyReader(engine="a server with OpenAI's API", expected={MODELS.path: EXPECTED}))
