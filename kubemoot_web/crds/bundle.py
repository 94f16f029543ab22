"""Text of many documents -> resources, or every error with its file, document, line and field. Pure."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pydantic import ValidationError

from kubemoot_web.crds import kinds
from kubemoot_web.crds.charts import RENDER_FIRST, template_line, template_path
from kubemoot_web.crds.errors import ImportProblem, ImportRefused
from kubemoot_web.crds.mapping import key_of, write_of
from kubemoot_web.crds.scalars import shown
from kubemoot_web.crds.schema_errors import Path, field_text, problems
from kubemoot_web.crds.schemas import SPECS, Metadata, Schema
from kubemoot_web.crds.yaml_tree import TextUnreadable, Tree, read_documents
from scheduler.core.resources import ResourceKey, ResourceWrite

MOST_BYTES = 4 * 1024 * 1024
MOST_PROBLEMS = 100
TOP_FIELDS = ("apiVersion", "kind", "metadata", "spec", "status")


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One resource of a bundle, and where it stands."""

    write: ResourceWrite
    file: str
    number: int
    tree: Tree
    offset: Path = ()

    def problem(self, *, path: Path, message: str) -> ImportProblem:
        """Say that something is wrong with a field of this document."""
        return ImportProblem(
            file=self.file,
            document=self.number,
            line=self.tree.line((*self.offset, *path)),
            field=field_text(path),
            message=message,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A text and the name people know it by."""

    file: str
    text: str


def decoded(*, file: str, data: bytes) -> Source:
    """Make a source of bytes.

    Raises:
        ImportRefused: they are no UTF-8.
    """
    try:
        return Source(file=file, text=data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        message = "is not UTF-8: save the file as UTF-8"
        raise ImportRefused([ImportProblem(file=file, document=0, line=line, field="", message=message)]) from None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """An object that was read but not checked yet."""

    file: str
    number: int
    tree: Tree
    offset: Path
    value: Any

    def problem(self, path: Path, message: str) -> ImportProblem:
        line = self.tree.line((*self.offset, *path))
        return ImportProblem(file=self.file, document=self.number, line=line, field=field_text(path), message=message)


def parse(sources: Iterable[Source]) -> tuple[Document, ...]:
    """Read and check the documents of all sources.

    Raises:
        ImportRefused: with everything that is wrong in any of them.
    """
    documents: list[Document] = []
    wrong: list[ImportProblem] = []
    for source in sources:
        for found in _objects(source, wrong):
            checked = _check(found)
            if isinstance(checked, Document):
                documents.append(checked)
            else:
                wrong.extend(checked)
    wrong.extend(_twice(documents))
    if wrong:
        raise ImportRefused(_cut(wrong))
    return tuple(documents)


def parse_for(*, source: Source, kind: kinds.Kind, namespace: str, name: str) -> Document:
    """Read and check the one document that an address names; what the address says need not be said again.

    Raises:
        ImportRefused: with everything that is wrong, also when it names something else than the address.
    """
    wrong: list[ImportProblem] = []
    found = list(_objects(source, wrong))
    if not wrong and len(found) != 1:
        wrong.append(_about(source, line=0, message=f"must hold one document, not {len(found)}"))
    if wrong:
        raise ImportRefused(wrong)
    checked = _check(replace(found[0], value=_completed(found[0].value, kind=kind, namespace=namespace, name=name)))
    if not isinstance(checked, Document):
        raise ImportRefused(_cut(checked))
    wanted = key_of(kind=kind, namespace=namespace, name=name)
    named = checked.write.key
    if named != wanted:
        path: Path = ("kind",)
        if named.kind == wanted.kind:
            path = ("metadata", "name" if named.namespace == wanted.namespace else "namespace")
        message = f"names {named.text()}, but the address names {wanted.text()}"
        raise ImportRefused([checked.problem(path=path, message=message)])
    return checked


def _completed(value: Any, *, kind: kinds.Kind, namespace: str, name: str) -> Any:
    """Fill in what a document leaves to its address."""
    if not isinstance(value, dict):
        return value
    metadata = value.get("metadata")
    if metadata is None or isinstance(metadata, dict):
        named = {"name": name, **({"namespace": namespace} if kind.namespaced else {}), **(metadata or {})}
        value = {**value, "metadata": named}
    return {"apiVersion": kinds.API_VERSION, "kind": kind.name, **value}


def _objects(source: Source, wrong: list[ImportProblem]) -> Iterator[_Found]:
    """Read the objects of one source; what cannot be read is added to `wrong`."""
    size = len(source.text.encode())
    if size > MOST_BYTES:
        wrong.append(_about(source, line=0, message=f"has {size} bytes; at most {MOST_BYTES} are read at once"))
        return
    number = 0
    try:
        for number, tree in enumerate(read_documents(source.text), start=1):
            template = template_path(tree)
            if template is not None:
                found = _Found(file=source.file, number=number, tree=tree, offset=(), value=None)
                wrong.append(found.problem(template, RENDER_FIRST))
            elif tree.root.value is not None:
                yield from _unpacked(source.file, number, tree)
    except TextUnreadable as error:
        at = template_line(source.text)
        line, message = (error.line, error.message) if at is None else (at, RENDER_FIRST)
        wrong.append(_about(source, line=line, message=message, document=number + 1))


def _unpacked(file: str, number: int, tree: Tree) -> Iterator[_Found]:
    """Take the items out of a List, as `kubectl get -o yaml` writes them, or out of a plain array, as JSON has them."""
    value = tree.plain()
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield _Found(file=file, number=number, tree=tree, offset=(index,), value=item)
        return
    kind = value.get("kind") if isinstance(value, dict) else None
    if isinstance(kind, str) and kind.endswith("List") and isinstance(value.get("items"), list):
        for index, item in enumerate(value["items"]):
            yield _Found(file=file, number=number, tree=tree, offset=("items", index), value=item)
    else:
        yield _Found(file=file, number=number, tree=tree, offset=(), value=value)


def _check(found: _Found) -> Document | list[ImportProblem]:
    """Check one object, whole: all that is wrong with it at once."""
    value = found.value
    if not isinstance(value, dict):
        return [found.problem((), "must be an object with apiVersion, kind, metadata and spec")]
    kind, wrong = _kind(found, value)
    if kind is None:
        return wrong
    wrong.extend(
        found.problem((name,), f"is no field of {kind.name}; known here: {', '.join(TOP_FIELDS)}")
        for name in value
        if name not in TOP_FIELDS
    )
    metadata = _validated(found, Metadata, kind, "metadata", value, wrong)
    spec = _validated(found, SPECS[kind.name], kind, "spec", value, wrong)
    if isinstance(metadata, Metadata) and metadata.namespace is not None and not kind.namespaced:
        message = f"must be left out: a {kind.name} belongs to the whole cluster"
        wrong.append(found.problem(("metadata", "namespace"), message))
    if wrong or not isinstance(metadata, Metadata) or spec is None:
        return wrong
    return Document(
        write=write_of(kind=kind, metadata=metadata, spec=spec),
        file=found.file,
        number=found.number,
        tree=found.tree,
        offset=found.offset,
    )


def _kind(found: _Found, value: Mapping[str, Any]) -> tuple[kinds.Kind | None, list[ImportProblem]]:
    version, name = value.get("apiVersion"), value.get("kind")
    wrong: list[ImportProblem] = []
    if version is None:
        wrong.append(found.problem(("apiVersion",), f"is required: write {kinds.API_VERSION}"))
    elif version != kinds.API_VERSION:
        wrong.append(found.problem(("apiVersion",), f"must be {kinds.API_VERSION}, not {shown(version)}"))
    kind = kinds.BY_NAME.get(name) if isinstance(name, str) else None
    if kind is None:
        known = ", ".join(known.name for known in kinds.KINDS)
        said = "is required" if name is None else f"is unknown: {shown(name)}"
        wrong.append(found.problem(("kind",), f"{said}; write one of {known}"))
    return (kind if not wrong else None), wrong


def _validated(
    found: _Found,
    schema: type[Schema],
    kind: kinds.Kind,
    field: str,
    value: Mapping[str, Any],
    wrong: list[ImportProblem],
) -> Schema | None:
    given = value.get(field)
    try:
        return schema.model_validate({} if given is None else given)
    except ValidationError as error:
        told = problems(error=error, schema=schema, kind=kind.name, root=(field,))
        wrong.extend(found.problem(path, message) for path, message in told)
        return None


def _cut(wrong: list[ImportProblem]) -> list[ImportProblem]:
    """Leave out what nobody would read; the last line says how much that is."""
    if len(wrong) <= MOST_PROBLEMS:
        return wrong
    last = replace(
        wrong[MOST_PROBLEMS], field="", message=f"and {len(wrong) - MOST_PROBLEMS} more problems from here on"
    )
    return [*wrong[:MOST_PROBLEMS], last]


def _twice(documents: Iterable[Document]) -> Iterator[ImportProblem]:
    first: dict[ResourceKey, Document] = {}
    for document in documents:
        earlier = first.setdefault(document.write.key, document)
        if earlier is not document:
            place = f"{earlier.file}, document {earlier.number}"
            message = f"{document.write.key.text()} stands in {place} already: keep one"
            yield document.problem(path=("metadata", "name"), message=message)


def _about(source: Source, *, line: int, message: str, document: int = 0) -> ImportProblem:
    return ImportProblem(file=source.file, document=document, line=line, field="", message=message)
