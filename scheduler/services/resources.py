"""Storing and deleting resources of every kind: all or nothing, one transaction, ranking included.

House rules: what must happen elsewhere is told to `changed` once, after the commit, and never for a dry run or a change
that changed nothing; a status never counts as somebody's edit.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from asgiref.sync import sync_to_async
from django.db import transaction

from providers import queries as providers
from providers.core.naming import server_name
from providers.core.resource_groups import contradictions, resource_group_of
from providers.models import Model, ModelServer, Resource
from providers.services.servers import server_keys
from scheduler.core.resources import (
    Applied,
    Conflict,
    NotFound,
    Problem,
    ResourceKey,
    ResourcesChanged,
    ResourcesRefused,
    ResourceWrite,
    Stored,
)
from scheduler.models import Agent, Crew, CrewSchedulingPolicy, MootArchetype, PromptModule
from scheduler.services.one_writer import one_writer
from scheduler.services.ranking import rank_touched

TABLES: Mapping[str, type[Resource]] = {
    table.__name__: table
    for table in (ModelServer, Model, Crew, Agent, PromptModule, CrewSchedulingPolicy, MootArchetype)
}
CREW_LABEL = "kubemoot.ai/crew"

Changed = Callable[[ResourcesChanged], Awaitable[None]]


async def resources_apply(
    *, writes: Sequence[ResourceWrite], dry_run: bool, node: str, now: float, changed: Changed
) -> tuple[Applied, ...]:
    """Store all writes or none, and rank anew. `node` is the machine that loopback endpoints are read on.

    Raises:
        Conflict: one was changed since the version it names.
        ResourcesRefused: they contradict what is stored, or each other.
    """
    applied = await sync_to_async(_apply)(writes=writes, dry_run=dry_run, node=node, now=now)
    written = tuple(one.after.key for one in applied if one.is_change)
    if written and not dry_run:
        await changed(ResourcesChanged(written=written))
    return applied


async def resource_replace(*, write: ResourceWrite, node: str, now: float, changed: Changed) -> Applied:
    """Create or replace one resource.

    Raises:
        Conflict: it was changed since the version the write names.
        ResourcesRefused: it contradicts what is stored.
    """
    (applied,) = await resources_apply(writes=(write,), dry_run=False, node=node, now=now, changed=changed)
    return applied


async def resource_delete(*, key: ResourceKey, now: float, changed: Changed) -> Stored:
    """Delete one resource, and rank anew.

    Raises:
        NotFound: it is not there.
    """
    stored = await sync_to_async(delete_now)(key=key, now=now)
    await changed(ResourcesChanged(deleted=(key,)))
    return stored


async def resource_get(*, key: ResourceKey) -> Stored:
    """Read one resource.

    Raises:
        NotFound: it is not there.
    """
    row = await TABLES[key.kind].objects.filter(namespace=key.namespace, name=key.name).afirst()  # type: ignore[attr-defined]
    if row is None:
        raise NotFound(key)
    return _stored(row)


async def resources_list(*, kind: str, namespace: str | None) -> tuple[Stored, ...]:
    """Read the resources of a kind, of one namespace or of all."""
    rows = TABLES[kind].objects.all()  # type: ignore[attr-defined]
    if namespace is not None:
        rows = rows.filter(namespace=namespace)
    return tuple([_stored(row) async for row in rows])


@dataclass(slots=True)
class _Pending:
    """A row on its way: as it was, and what is written to it."""

    row: Resource
    before: Stored | None
    is_change: bool


def _apply(*, writes: Sequence[ResourceWrite], dry_run: bool, node: str, now: float) -> tuple[Applied, ...]:
    with transaction.atomic():
        one_writer()
        kinds = {write.key.kind for write in writes}
        rows = {key: row for kind in kinds for key, row in _rows(kind).items()}
        pending = [_pending(write, index=index, row=rows.get(write.key), now=now) for index, write in enumerate(writes)]
        _assign_endpoint_keys(pending, stored=rows, node=node)
        _agree_on_groups(pending, stored=rows)
        for one in pending:
            if one.is_change:
                one.row.save()
        rank_touched(touched=[write.key for write, one in zip(writes, pending, strict=True) if one.is_change], now=now)
        ranked = {key: row for kind in kinds for key, row in _rows(kind).items()}
        applied = tuple(
            Applied(before=one.before, after=_stored(ranked[write.key]))
            for write, one in zip(writes, pending, strict=True)
        )
        if dry_run:
            transaction.set_rollback(True)
    return applied


def delete_now(*, key: ResourceKey, now: float) -> Stored:
    """Delete one resource as part of a larger change, and rank anew; whoever must hear of it is told by the caller.

    Raises:
        NotFound: it is not there.
    """
    with transaction.atomic():
        one_writer()
        row = _rows(key.kind).get(key)
        if row is None:
            raise NotFound(key)
        stored = _stored(row)
        row.delete()
        rank_touched(touched=(key,), now=now)
    return stored


def _rows(kind: str) -> dict[ResourceKey, Resource]:
    rows: Sequence[Resource] = list(TABLES[kind].objects.all())  # type: ignore[attr-defined]
    return {ResourceKey(kind=kind, namespace=row.namespace, name=row.name): row for row in rows}


def _pending(write: ResourceWrite, *, index: int, row: Resource | None, now: float) -> _Pending:
    """Put a write into its row, checking the version it rests on."""
    before = None if row is None else _stored(row)
    sent = write.resource_version
    if sent is not None and (before is None or sent != str(before.resource_version)):
        raise Conflict(
            key=write.key, sent=sent, stored=None if before is None else before.resource_version, index=index
        )
    at = datetime.fromtimestamp(now, tz=UTC)
    if row is None:
        row = TABLES[write.key.kind](namespace=write.key.namespace, name=write.key.name, created_at=at)
    wanted = (write.labels, write.annotations, write.spec)
    is_change = before is None or wanted != (before.labels, before.annotations, before.spec)
    if is_change:
        if before is not None:
            row.resource_version += 1
            row.generation += before.spec != write.spec
        row.labels, row.annotations, row.spec = dict(write.labels), dict(write.annotations), dict(write.spec)
        row.changed_at = at
        _set_crew(row)
    return _Pending(row=row, before=before, is_change=is_change)


def _set_crew(row: Resource) -> None:
    """Repeat in a column whose crew this is."""
    if isinstance(row, Agent):
        row.crew = row.labels.get(CREW_LABEL, "")
    elif isinstance(row, CrewSchedulingPolicy):
        reference = str(row.spec["crewRef"])
        row.crew = reference if "/" in reference else f"{row.namespace}/{reference}"


def _assign_endpoint_keys(pending: Sequence[_Pending], *, stored: Mapping[ResourceKey, Resource], node: str) -> None:
    """Give every server whose endpoint is new its key; refuse an endpoint that another server has."""
    moved = {_name(one.row): index for index, one in enumerate(pending) if _is_moved(one)}
    rows = {name: row for name, index in moved.items() if isinstance(row := pending[index].row, ModelServer)}
    others = [row for row in stored.values() if isinstance(row, ModelServer) and _name(row) not in moved]
    keys, taken = server_keys(
        registered={_name(row): row.endpoint_key for row in others if row.endpoint_key is not None},
        endpoints={name: row.spec["endpoint"] for name, row in rows.items()},
        node=node,
        aliases=providers.endpoint_aliases() if rows else {},
    )
    if taken:
        path = ("spec", "endpoint")
        raise ResourcesRefused([Problem(index=moved[c.server], path=path, message=c.message()) for c in taken])
    # Two servers may swap endpoints in one file: no old key may stand in the way while rows are saved one by one.
    ModelServer.objects.filter(pk__in=[row.pk for row in rows.values() if row.pk is not None]).update(endpoint_key=None)
    for name, row in rows.items():
        row.endpoint_key = keys[name]


def _agree_on_groups(pending: Sequence[_Pending], *, stored: Mapping[ResourceKey, Resource]) -> None:
    """Refuse a server that says another cap for its resource group than the group's servers will have afterwards.

    What is not changed was there first, so that of a bundle the documents are blamed, and all may change at once.
    """
    changed = {
        _name(one.row): index for index, one in enumerate(pending) if one.is_change and isinstance(one.row, ModelServer)
    }
    others = [row for row in stored.values() if isinstance(row, ModelServer) and _name(row) not in changed]
    said = (
        (_name(row), group)
        for row in (*others, *(pending[index].row for index in changed.values()))
        if (group := resource_group_of(namespace=row.namespace, spec=row.spec)) is not None
    )
    wrong = [found for found in contradictions(said) if found.server in changed]
    if wrong:
        path = ("spec", "scheduling", "resourceGroup", "maxConcurrent")
        raise ResourcesRefused([Problem(index=changed[w.server], path=path, message=w.message()) for w in wrong])


def _is_moved(one: _Pending) -> bool:
    """Say whether this is a server with an endpoint that it did not have before."""
    if not isinstance(one.row, ModelServer):
        return False
    return one.before is None or one.before.spec["endpoint"] != one.row.spec["endpoint"]


def _name(row: Resource) -> str:
    return server_name(namespace=row.namespace, name=row.name)


def _stored(row: Resource) -> Stored:
    return Stored(
        key=ResourceKey(kind=type(row).__name__, namespace=row.namespace, name=row.name),
        spec=row.spec,
        labels=row.labels,
        annotations=row.annotations,
        status=row.status,
        uid=row.uid,
        resource_version=row.resource_version,
        generation=row.generation,
        created_at=row.created_at.timestamp(),
    )
