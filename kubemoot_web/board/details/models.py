"""The list of models: where each is, who may use it, how much it is asked for."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from kubemoot_web.board.ids import dom_id
from kubemoot_web.board.marks import Mark, palette_of
from scheduler.core import messages
from scheduler.core.replica import Replica
from scheduler.core.snapshot import ClusterSnapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRow:
    """One model of the list. `agents` may use it, `waiting` calls wait for it, `calls` came in the last day."""

    id: str
    name: str
    mark: Mark
    is_registered: bool
    size: str
    loaded: tuple[str, ...]
    loading: tuple[str, ...]
    on_disk: int
    agents: int
    waiting: int
    calls: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Models:
    """Registered models first, then what servers have besides, by name."""

    registered: tuple[ModelRow, ...]
    others: tuple[ModelRow, ...]


def models_of(
    *, replica: Replica, registered: Sequence[str], agents: Mapping[str, int], calls: Mapping[str, int], now: float
) -> Models:
    """List the models that are registered, loaded, on a disk, or were called."""
    snapshot = replica.snapshot(now=now)
    palette = palette_of(replica)
    disks = _disks(replica)
    present = {model for server in snapshot.servers.values() for model in (*server.known, *server.loading)}
    names = {*registered, *present, *disks, *agents}
    rows = tuple(
        ModelRow(
            id=dom_id("model", name),
            name=name,
            mark=palette.mark(name),
            is_registered=name in registered,
            size=size_of(snapshot, name),
            loaded=tuple(server.name for server in snapshot.holding(name) if name in server.warm),
            loading=tuple(server.name for server in snapshot.holding(name) if name in server.loading),
            on_disk=disks.get(name, 0),
            agents=agents.get(name, 0),
            waiting=len(snapshot.demand_of(name).waiting),
            calls=calls.get(name, 0),
        )
        for name in sorted(names)
    )
    return Models(
        registered=tuple(row for row in rows if row.is_registered),
        others=tuple(row for row in rows if not row.is_registered),
    )


def size_of(snapshot: ClusterSnapshot, model: str) -> str:
    """Say how large a model is: the largest of what servers and registrations say."""
    found = [size for size in _sizes(snapshot, model) if size is not None]
    return messages.size(max(found)) if found else "size unknown"


def _sizes(snapshot: ClusterSnapshot, model: str) -> Iterator[int | None]:
    yield snapshot.footprints.get(model)
    for server in snapshot.holding(model):
        yield server.local_footprint(model)


def _disks(replica: Replica) -> Mapping[str, int]:
    counts: dict[str, int] = {}
    for record in replica.servers.values():
        for model in record.seen.models or ():
            counts[model] = counts.get(model, 0) + 1
    return counts
