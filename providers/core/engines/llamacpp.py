"""The wire of llama.cpp's server, without a socket: one model from its start on, or many in its router mode.

House rules: a list of models that says how each one is, is a router's; what a router does not call loaded is not
there. It answers a load when the load begins: the list alone tells how it went. A router that would put models out by
itself is not used: it counts them, knows nothing of memory, and may meet calls. Texts of errors are not read.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from providers.core.engines import messages
from providers.core.engines.base import (
    PROBE_TIMEOUT_S,
    FailureKind,
    HttpCall,
    HttpReply,
    Loader,
    ProbeFailure,
    StepDone,
    StepFailed,
    StepOutcome,
)
from providers.core.engines.json_reading import JsonObject, Nonsense, read_object
from providers.core.engines.openai_listing import EXPECTED, MODELS, entries_of
from providers.core.engines.replies import UNAUTHORIZED, ReplyReader, unanswered
from providers.core.types import AvailableModel, LoadedCopy, Observation
from providers.core.units import mib_from_bytes

PROPS: Final = HttpCall(method="GET", path="/props", timeout_s=PROBE_TIMEOUT_S)
LOAD_PATH: Final = "/models/load"
UNLOAD_PATH: Final = "/models/unload"

THERE: Final = frozenset({"loaded", "sleeping"})
"""A copy that sleeps wakes by itself for the next call."""
COMING: Final = frozenset({"loading", "downloading"})

READER = ReplyReader(
    engine="a llama.cpp server",
    expected={PROPS.path: "an object with its settings", MODELS.path: EXPECTED},
)


class LlamaCppEngine:
    """The codec for `llama-server`."""

    @property
    def loader(self) -> Loader:
        """Give itself: it loads and unloads when told to."""
        return self

    def probe_calls(self) -> tuple[HttpCall, ...]:
        """List the two calls that observe a server; both leave a sleeping model asleep, and load nothing."""
        return (PROPS, MODELS)

    def parse_probe(
        self,
        *,
        replies: Sequence[HttpReply],
        now: float,  # noqa: ARG002 - the port's signature
    ) -> Observation | ProbeFailure:
        """Read what a server said about itself. Only its list of models is indispensable.

        It tells anybody which models it has, but its settings only who has the key that calls need too.
        """
        settings = _Settings()
        listed: tuple[_Listed, ...] = ()
        for call, reply in zip(self.probe_calls(), replies, strict=False):
            if reply.status == 503:
                return ProbeFailure(kind=FailureKind.WRONG_ANSWER, detail=messages.still_starting(call=call))
            may_be_missing = call is PROPS and reply.status != UNAUTHORIZED
            body = READER.read(call=call, reply=reply, may_be_missing=may_be_missing)
            if isinstance(body, ProbeFailure):
                return body
            if body is None:
                continue
            try:
                if call is PROPS:
                    settings = _settings(body)
                else:
                    listed = _listed(body)
            except Nonsense as found:
                return READER.nonsense(call=call, found=str(found))
        if settings.most_loaded and settings.most_loaded < len(listed):
            detail = messages.evicts_by_itself(most=settings.most_loaded, models=len(listed))
            return ProbeFailure(kind=FailureKind.WRONG_ANSWER, detail=detail)
        return Observation(
            loaded=_loaded(listed, context_length=settings.context_length),
            available=_available(listed),
            version=settings.version,
            slots=settings.slots,
        )

    def residents_call(self) -> HttpCall:
        """Make the call that asks what is in memory now."""
        return MODELS

    def parse_residents(
        self,
        *,
        reply: HttpReply,
        now: float,  # noqa: ARG002 - the port's signature
    ) -> tuple[LoadedCopy, ...] | ProbeFailure:
        """Read what is in memory now. A model that is still loading is not."""
        return READER.parsed(call=MODELS, reply=reply, parse=lambda body: _loaded(_listed(body)))

    def parse_coming(self, *, reply: HttpReply) -> frozenset[str]:
        """Name the models that are being loaded."""
        return frozenset(name for one in _listed(read_object(reply.body)) if one.state in COMING for name in one.names)

    def load_calls(
        self,
        *,
        model: str,
        context_length: int | None,  # noqa: ARG002 - the port's signature
        timeout_s: float,
    ) -> tuple[HttpCall, ...]:
        """Make the call that begins a load; the context is the one that the router was started with."""
        return (HttpCall(method="POST", path=LOAD_PATH, json={"model": model}, timeout_s=timeout_s),)

    def unload_calls(self, *, model: str, timeout_s: float) -> tuple[HttpCall, ...]:
        """Make the call that begins an unload."""
        return (HttpCall(method="POST", path=UNLOAD_PATH, json={"model": model}, timeout_s=timeout_s),)

    def parse_step(self, *, call: HttpCall, reply: HttpReply) -> StepOutcome:
        """Read the reply to a load or an unload. A 400 says that it is under way or done: the list will tell."""
        model = str((call.json or {}).get("model", ""))
        failed = unanswered(call=call, reply=reply)
        if failed is not None:
            return failed
        match reply.status:
            case 200 | 400:
                return StepDone()
            case 404:
                return StepFailed(detail=messages.loads_nothing(model=model))
            case status:
                return StepFailed(detail=messages.step_status(call=call, model=model, status=status or 0))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Settings:
    """What a server says of itself. `most_loaded` models does a router keep in memory, 0: as many as there are."""

    context_length: int | None = None
    slots: int | None = None
    version: str | None = None
    most_loaded: int | None = None


def _settings(body: JsonObject) -> _Settings:
    usual = body.object("default_generation_settings")
    return _Settings(
        context_length=None if usual is None else usual.whole("n_ctx") or None,
        slots=body.whole("total_slots") or None,
        version=body.text("build_info"),
        most_loaded=body.whole("max_instances"),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Listed:
    """A model as the list has it. `state` is what a router says of it; None at a server with this one model."""

    names: tuple[str, ...]
    state: str | None
    context_length: int | None
    size_mib: int | None


def _listed(body: JsonObject) -> tuple[_Listed, ...]:
    return tuple(_read(name, entry) for name, entry in entries_of(body))


def _read(name: str, entry: JsonObject) -> _Listed:
    status, meta = entry.object("status"), entry.object("meta")
    size = None if meta is None else meta.whole("size")
    return _Listed(
        names=tuple(dict.fromkeys((name, *entry.texts("aliases")))),
        state=None if status is None else status.text("value") or "",
        context_length=None if meta is None else meta.whole("n_ctx") or None,
        size_mib=mib_from_bytes(size) if size else None,
    )


def _loaded(listed: Sequence[_Listed], *, context_length: int | None = None) -> tuple[LoadedCopy, ...]:
    """List what is in memory; `context_length` is what one call may use where the list does not say."""
    return tuple(
        LoadedCopy(
            model=one.names[0],
            footprint_mib=None,
            context_length=one.context_length or context_length,
            aliases=one.names[1:],
        )
        for one in listed
        if one.state is None or one.state in THERE
    )


def _available(listed: Sequence[_Listed]) -> tuple[AvailableModel, ...]:
    return tuple(AvailableModel(model=name, size_mib=one.size_mib) for one in listed for name in one.names)
