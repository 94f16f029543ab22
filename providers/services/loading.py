"""Brings a model into a server's memory, and puts models out of it, believing the engine alone.

House rules: memory of a victim counts as free only after the engine stopped listing it; a failed unload fails the load;
every step has a limit; cancelling at any point closes the connection, and so ends what the engine was doing for us.
"""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from providers.core.engines import ENGINES, messages
from providers.core.engines.base import (
    Engine,
    HttpCall,
    HttpReply,
    Loader,
    ProbeFailure,
    StepDone,
    StepFailed,
    TryAnotherWay,
)
from providers.core.types import EngineKind, LoadedCopy, Observation
from providers.ports import EngineApi, LoadReport

ASK_ATTEMPTS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadLimits:
    """How long each step may take, how often the engine is asked meanwhile. `unload_s` is for all victims together."""

    unload_s: float = 60.0
    load_s: float = 600.0
    confirm_s: float = 10.0
    first_poll_s: float = 0.05
    longest_poll_s: float = 0.5


class LoadStep(StrEnum):
    """The steps of a load, in their order."""

    ASK = "ask"
    UNLOAD = "unload"
    LOAD = "load"
    CONFIRM = "confirm"


class LoadFailed(Exception):
    """A model could not be brought in or put out.

    `model` is the one the failing step was about; `hung` says that the step ran into its limit. A hung LOAD is what the
    server's health wants to know.
    """

    def __init__(self, *, step: LoadStep, model: str, detail: str, hung: bool = False) -> None:
        """Keep the facts; the text is the sentence for people."""
        super().__init__(detail)
        self.step = step
        self.model = model
        self.detail = detail
        self.hung = hung


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadResult:
    """The copy as the engine lists it after the load, and how long unloading and loading took.

    `was_listed`: the model was there before (loaded, or loading for somebody else): `load_s` is not the load's length.
    """

    copy: LoadedCopy
    was_listed: bool
    unload_s: float
    load_s: float


async def load_model(
    *,
    engine: EngineApi,
    kind: EngineKind,
    endpoint: str,
    secret: str | None = None,
    model: str,
    victims: Sequence[str],
    context_length: int | None,
    report: LoadReport,
    limits: LoadLimits,
    now: float,
) -> LoadResult:
    """Unload the victims, wait until the engine has forgotten each, load the model, wait until the engine lists it.

    1. Ask what is there. A model that somebody else has loaded keeps its context: another number would reload it.
    2. Unload each victim and report it once it is gone; one that was not there is reported at once.
    3. Load. Only now: the engine must never have to make room by itself.
    4. Believe it when the engine lists it. One that answers a load at its begin may take as long for it as for a load.

    Raises:
        LoadFailed: a step failed or ran into its limit; nothing after it was done.
    """
    codec = ENGINES[kind]
    if codec.loader is None:
        raise LoadFailed(step=LoadStep.ASK, model=model, detail=messages.loads_nothing(model=model))
    server = _Server(
        engine=engine,
        codec=codec,
        loader=codec.loader,
        endpoint=endpoint,
        secret=secret,
        limits=limits,
        now=now,
    )
    digests, resident = await server.look(model=model)  # 1
    started = time.monotonic()
    await server.unload(models=victims, digests=digests, resident=resident, report=report)  # 2
    unloaded = time.monotonic()
    present = _find(resident, model=model, digest=digests.get(model))
    context = present.context_length if present is not None and present.context_length else context_length
    calls = server.loader.load_calls(model=model, context_length=context, timeout_s=limits.load_s)
    await server.step(step=LoadStep.LOAD, model=model, calls=calls)  # 3
    copy = await server.wait_until_listed(model=model, digest=digests.get(model))  # 4
    loaded = time.monotonic()
    return LoadResult(copy=copy, was_listed=present is not None, unload_s=unloaded - started, load_s=loaded - unloaded)


def _find(copies: Sequence[LoadedCopy], *, model: str, digest: str | None) -> LoadedCopy | None:
    """Find a model among copies by its names or by its weights: some engines list a copy under one name alone."""
    for copy in copies:
        if model in (copy.model, *copy.aliases) or (digest is not None and copy.digest == digest):
            return copy
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Server:
    """One engine during one load."""

    engine: EngineApi
    codec: Engine
    loader: Loader
    endpoint: str
    secret: str | None
    limits: LoadLimits
    now: float

    async def look(self, *, model: str) -> tuple[dict[str, str], tuple[LoadedCopy, ...]]:
        """Ask for the digests of what is on disk and for what is in memory."""
        replies = []
        for call in self.codec.probe_calls():
            replies.append(await self._send(call))
            if replies[-1].trouble is not None:
                break
        seen = self.codec.parse_probe(replies=replies, now=self.now)
        if isinstance(seen, ProbeFailure):
            raise LoadFailed(step=LoadStep.ASK, model=model, detail=seen.detail)
        return _digests(seen), seen.loaded

    async def unload(
        self, *, models: Sequence[str], digests: dict[str, str], resident: Sequence[LoadedCopy], report: LoadReport
    ) -> None:
        """Unload models one after another, each reported when it is gone, so that a failure leaves nothing untold."""
        deadline = time.monotonic() + self.limits.unload_s
        for model in models:
            digest = digests.get(model)
            if _find(resident, model=model, digest=digest) is not None:
                calls = self.loader.unload_calls(model=model, timeout_s=max(deadline - time.monotonic(), 0))
                await self.step(step=LoadStep.UNLOAD, model=model, calls=calls)
                await self._wait_until_gone(model=model, digest=digest, deadline=deadline)
            await report.victim_gone(model=model)

    async def step(self, *, step: LoadStep, model: str, calls: Sequence[HttpCall]) -> None:
        """Send a step's calls in their order until the engine does it."""
        detail = ""
        for call in calls:
            reply = await self._send(call)
            match self.loader.parse_step(call=call, reply=reply):
                case StepDone():
                    return
                case TryAnotherWay(detail=why):
                    detail = why
                case StepFailed(timed_out=True) if step is LoadStep.LOAD:
                    detail = messages.loads_do_not_finish(model=model, waited_s=self.limits.load_s)
                    raise LoadFailed(step=step, model=model, detail=detail, hung=True)
                case StepFailed(detail=why, timed_out=timed_out):
                    raise LoadFailed(step=step, model=model, detail=why, hung=timed_out)
        raise LoadFailed(step=step, model=model, detail=detail)

    async def wait_until_listed(self, *, model: str, digest: str | None) -> LoadedCopy:
        """Ask until the engine lists a model, as long as it may still come."""
        began = time.monotonic()
        pause = self.limits.first_poll_s
        while True:
            residents, coming = await self._residents(step=LoadStep.CONFIRM, model=model)
            copy = _find(residents, model=model, digest=digest)
            if copy is not None:
                return copy
            waits_s = time.monotonic() + pause - began
            if coming is None and waits_s > self.limits.confirm_s:
                detail = messages.not_listed_after_load(model=model, waited_s=self.limits.confirm_s)
                raise LoadFailed(step=LoadStep.CONFIRM, model=model, detail=detail)
            if coming is not None and model not in coming:
                raise LoadFailed(step=LoadStep.LOAD, model=model, detail=messages.load_given_up(model=model))
            if waits_s > self.limits.load_s:
                detail = messages.loads_do_not_finish(model=model, waited_s=self.limits.load_s)
                raise LoadFailed(step=LoadStep.LOAD, model=model, detail=detail, hung=True)
            await asyncio.sleep(pause)
            pause = min(pause * 2, self.limits.longest_poll_s)

    async def _send(self, call: HttpCall) -> HttpReply:
        return await self.engine.send(endpoint=self.endpoint, call=replace(call, secret=self.secret))

    async def _wait_until_gone(self, *, model: str, digest: str | None, deadline: float) -> None:
        pause = self.limits.first_poll_s
        while True:
            residents, _ = await self._residents(step=LoadStep.UNLOAD, model=model)
            if _find(residents, model=model, digest=digest) is None:
                return
            if time.monotonic() + pause > deadline:
                detail = messages.still_resident(model=model, waited_s=self.limits.unload_s)
                raise LoadFailed(step=LoadStep.UNLOAD, model=model, detail=detail, hung=True)
            await asyncio.sleep(pause)
            pause = min(pause * 2, self.limits.longest_poll_s)

    async def _residents(self, *, step: LoadStep, model: str) -> tuple[tuple[LoadedCopy, ...], frozenset[str] | None]:
        """Ask what is in memory and what is coming; one bad answer is asked again, three in a row are a failure."""
        failure: ProbeFailure | None = None
        for attempt in range(ASK_ATTEMPTS):
            if attempt:
                await asyncio.sleep(self.limits.longest_poll_s)
            reply = await self._send(self.codec.residents_call())
            seen = self.codec.parse_residents(reply=reply, now=self.now)
            if not isinstance(seen, ProbeFailure):
                return seen, self.loader.parse_coming(reply=reply)
            failure = seen
        assert failure is not None
        raise LoadFailed(step=step, model=model, detail=failure.detail)


def _digests(seen: Observation) -> dict[str, str]:
    known = {m.model: m.digest for m in seen.available or () if m.digest is not None}
    return known | {c.model: c.digest for c in seen.loaded if c.digest is not None}
