"""Applies documents through the services, and says of each object what became of it."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from kubemoot_web.crds.bundle import Document, Source, parse
from kubemoot_web.crds.diff import ObjectDiff, diff
from kubemoot_web.crds.errors import ImportRefused
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
    documents = parse(sources)
    with _placed(documents):
        applied = await resources_apply(
            writes=[document.write for document in documents], dry_run=dry_run, node=node, now=now, changed=changed
        )
    return Imported(dry_run=dry_run, diffs=tuple(_diff(one) for one in applied))


async def document_put(*, document: Document, node: str, now: float, changed: Changed) -> Applied:
    """Create or replace the object of one document.

    Raises:
        ImportRefused: it contradicts what is stored.
        Conflict: it was changed since the resourceVersion that the document names.
    """
    try:
        return await resource_replace(write=document.write, node=node, now=now, changed=changed)
    except ResourcesRefused as error:
        raise _refused((document,), error) from error


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
