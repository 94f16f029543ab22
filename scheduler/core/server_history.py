"""What the journal says about servers, event by event, and what a server held at each moment by these events."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

Event = Mapping[str, Any]
Size = int | None


class ServerEventKind(StrEnum):
    """What happened on a server."""

    LOAD_STARTED = "load_started"
    LOAD_DONE = "load_done"
    LOAD_FAILED = "load_failed"
    VICTIM_GONE = "victim_gone"
    PROBED = "probed"
    REGISTERED = "registered"
    CONFIGURED = "configured"
    REMOVED = "removed"
    ADMISSION = "admission"
    CIRCUIT_OPENED = "circuit_opened"
    CIRCUIT_CLOSED = "circuit_closed"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerEventRecord:
    """One thing that happened on a server, as history keeps it. Times are Unix seconds.

    `agent` and `call` are whom a load began for; `until` is how long a model rests after a load that failed, or the
    server after its calls did; `phase` and `residents` are what a probe found; of an admission, `phase` is its state,
    and `detail` why in words, or what left it in doubt.
    """

    server: str
    kind: ServerEventKind
    at: float
    model: str = ""
    mib: Size = None
    agent: str = ""
    call: str = ""
    evicts: tuple[str, ...] = ()
    detail: str = ""
    took_s: float | None = None
    until: float | None = None
    phase: str = ""
    is_ready: bool | None = None
    residents: tuple[tuple[str, Size], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Holding:
    """What took a server's memory from one moment on, as far as its events tell. None is a size nobody knows.

    `announced` are loads whose victims are not gone yet: the engine has not begun them, the memory is still theirs.
    """

    at: float
    is_ready: bool = False
    held: Mapping[str, Size] = field(default_factory=dict)
    loading: Mapping[str, Size] = field(default_factory=dict)
    announced: Mapping[str, tuple[Size, tuple[str, ...]]] = field(default_factory=dict)

    @property
    def mib(self) -> int:
        """Sum up the sizes that are known."""
        return sum(size or 0 for size in (*self.held.values(), *self.loading.values()))


def server_event_of(*, event: Event, at: float) -> ServerEventRecord | None:
    """Read an event of the journal; None when it says nothing about a server itself."""
    reader = READERS.get(str(event.get("type")))
    return None if reader is None or not event.get("server") else reader(event, at)


def is_news(*, record: ServerEventRecord, before: ServerEventRecord | None) -> bool:
    """Say whether a probe tells anything that the one before it did not; whatever else happened always does."""
    if record.kind is not ServerEventKind.PROBED or before is None:
        return True
    return replace(record, at=before.at, detail=before.detail) != before


def holdings(*, events: Sequence[ServerEventRecord]) -> tuple[Holding, ...]:
    """Work out what a server held after each of its events, oldest first."""
    found: list[Holding] = []
    for event in events:
        before = found[-1] if found else Holding(at=event.at)
        found.append(replace(STEPS[event.kind](before, event), at=event.at))
    return tuple(found)


def _load(event: Event, at: float) -> ServerEventRecord:
    return ServerEventRecord(
        server=event["server"],
        kind=ServerEventKind(event["type"]),
        at=at,
        model=event.get("model") or "",
        mib=event.get("footprint_mib"),
        agent=event.get("agent") or "",
        call=event.get("call") or "",
        evicts=tuple(event.get("evicts") or ()),
        detail=event.get("reason") or "",
        took_s=event.get("took_s"),
        until=event.get("blocked_until"),
    )


def _changed(event: Event, at: float) -> ServerEventRecord:
    names = event.get("residents") or ()
    sizes = event.get("sizes_mib") or (None,) * len(names)
    return ServerEventRecord(
        server=event["server"],
        kind=ServerEventKind(event["reason"]),
        at=at,
        detail=event.get("detail") or "",
        phase=event.get("phase") or "",
        is_ready=event.get("ready"),
        residents=tuple(zip(names, sizes, strict=True)),
    )


def _gate(event: Event, at: float) -> ServerEventRecord:
    return ServerEventRecord(
        server=event["server"],
        kind=ServerEventKind(event["type"]),
        at=at,
        detail=event.get("reason") or event.get("cause") or "",
        until=event.get("rests_until"),
        phase=event.get("state") or "",
    )


READERS: dict[str, Callable[[Event, float], ServerEventRecord]] = {
    "load_started": _load,
    "load_done": _load,
    "load_failed": _load,
    "victim_gone": _load,
    "server_changed": _changed,
    "admission": _gate,
    "circuit_opened": _gate,
    "circuit_closed": _gate,
}


def _begin_load(before: Holding, event: ServerEventRecord) -> Holding:
    announced = {**before.announced, event.model: (event.mib, event.evicts)}
    return _with_begun(replace(before, announced=announced))


def _with_begun(state: Holding) -> Holding:
    """Let the announced loads begin whose victims are all gone."""
    begun = {
        model: size for model, (size, victims) in state.announced.items() if not any(v in state.held for v in victims)
    }
    waiting = {model: load for model, load in state.announced.items() if model not in begun}
    return replace(state, loading={**state.loading, **begun}, announced=waiting)


def _end_load(before: Holding, event: ServerEventRecord) -> Holding:
    held = {**_without(before.held, event.model), event.model: event.mib}
    return replace(_lose_load(before, event), held=held)


def _lose_load(before: Holding, event: ServerEventRecord) -> Holding:
    announced = {model: load for model, load in before.announced.items() if model != event.model}
    return replace(before, loading=_without(before.loading, event.model), announced=announced)


def _unload(before: Holding, event: ServerEventRecord) -> Holding:
    return _with_begun(replace(before, held=_without(before.held, event.model)))


def _look(before: Holding, event: ServerEventRecord) -> Holding:
    """Believe what a probe saw; what is still loading is not in memory yet, whatever the engine lists."""
    coming = {*before.loading, *before.announced}
    held = {model: size for model, size in event.residents if model not in coming}
    return _with_begun(replace(before, is_ready=bool(event.is_ready), held=held))


def _without(sizes: Mapping[str, Size], model: str) -> dict[str, Size]:
    return {name: size for name, size in sizes.items() if name != model}


def _clear(before: Holding, event: ServerEventRecord) -> Holding:
    return Holding(at=event.at)


def _keep(before: Holding, event: ServerEventRecord) -> Holding:
    return before


STEPS: dict[ServerEventKind, Callable[[Holding, ServerEventRecord], Holding]] = {
    ServerEventKind.LOAD_STARTED: _begin_load,
    ServerEventKind.LOAD_DONE: _end_load,
    ServerEventKind.LOAD_FAILED: _lose_load,
    ServerEventKind.VICTIM_GONE: _unload,
    ServerEventKind.PROBED: _look,
    ServerEventKind.REGISTERED: _clear,
    ServerEventKind.CONFIGURED: _keep,
    ServerEventKind.REMOVED: _clear,
    ServerEventKind.ADMISSION: _keep,
    ServerEventKind.CIRCUIT_OPENED: _keep,
    ServerEventKind.CIRCUIT_CLOSED: _keep,
}
