"""Applies documents through the services, and says of each object what became of it."""

import asyncio
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from kubemoot_web.crds.bundle import Document, Source, parse, parse_for
from kubemoot_web.crds.diff import ObjectDiff, diff
from kubemoot_web.crds.errors import ImportRefused
from kubemoot_web.crds.kinds import Kind
from kubemoot_web.crds.mapping import desired
from scheduler.core.resources import Applied, Conflict, ResourcesRefused
from scheduler.services.resources import Changed, resource_replace, resources_apply


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """What became of each object, in the order of the documents."""

    dry_run: bool
    diffs: tuple[ObjectDiff, ...]


async def bundle_apply(
    *, sources: Iterable[Source], dry_run: bool, node: str, now: float, changed: Changed
) -> Imported:
    """Apply all documents of all sources, or none.

    Raises:
        ImportRefused: with everything that is wrong in any of them; nothing was changed.
    """
    # A large text takes seconds to read: in a thread, so that the process goes on serving calls meanwhile.
    documents = await asyncio.to_thread(parse, tuple(sources))
    with _placed(documents):
        applied = await resources_apply(
            writes=[document.write for document in documents], dry_run=dry_run, node=node, now=now, changed=changed
        )
    return Imported(dry_run=dry_run, diffs=tuple(_diff(one) for one in applied))


async def document_put(
    *, source: Source, kind: Kind, namespace: str, name: str, node: str, now: float, changed: Changed
) -> Applied:
    """Create or replace the one object that an address names.

    Raises:
        ImportRefused: it is not right, or contradicts its address or what is stored.
        Conflict: it was changed since the resourceVersion that the document names.
    """
    document = await asyncio.to_thread(parse_for, source=source, kind=kind, namespace=namespace, name=name)
    try:
        return await resource_replace(write=document.write, node=node, now=now, changed=changed)
    except ResourcesRefused as error:
        raise _refused((document,), error) from error


async def documents_put(*, source: Source, node: str, now: float, changed: Changed) -> tuple[Applied, ...]:
    """Create or replace all objects of a source, or none.

    Raises:
        ImportRefused: one is not right, or they contradict each other or what is stored.
        Conflict: one was changed since the resourceVersion that its document names.
    """
    documents = await asyncio.to_thread(parse, (source,))
    writes = [document.write for document in documents]
    try:
        return await resources_apply(writes=writes, dry_run=False, node=node, now=now, changed=changed)
    except ResourcesRefused as error:
        raise _refused(documents, error) from error


@contextmanager
def _placed(documents: tuple[Document, ...]) -> Iterator[None]:
    """Say of what the services refuse in which document and line it stands."""
    try:
        yield
    except ResourcesRefused as error:
        raise _refused(documents, error) from error
    except Conflict as error:
        path = ("metadata", "resourceVersion")
        raise ImportRefused([documents[error.index].problem(path=path, message=str(error))]) from error


def _refused(documents: tuple[Document, ...], error: ResourcesRefused) -> ImportRefused:
    return ImportRefused(
        [documents[wrong.index].problem(path=wrong.path, message=wrong.message) for wrong in error.problems]
    )


def _diff(applied: Applied) -> ObjectDiff:
    before = None if applied.before is None else desired(applied.before)
    return diff(before=before, after=desired(applied.after))
