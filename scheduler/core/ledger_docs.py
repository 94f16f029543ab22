"""Ledger values as plain JSON documents and back.

House rules: a document has exactly the fields of its value, by the same names; sequences may come back as `{}` where
they are empty (the script language cannot tell an empty list from an empty map), so both are read as empty.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any, TypeVar

from providers.core.specs import ResourceGroup
from scheduler.core.gate import Admission, AdmissionBy, AdmissionState, Circuit, FailMode, QuarantineCause
from scheduler.core.ledger import Intent, Plan, ServerConfig, ServerLearned, ServerRecord, ServerSeen, Use
from scheduler.core.snapshot import Resident
from scheduler.core.types import Candidate, Drain, LoadUnderWay, Priority, Ticket, TicketState, Waiter

Doc = dict[str, Any]
T = TypeVar("T")
_FIELDS: dict[type[Any], tuple[str, ...]] = {}
_SLOTS: dict[type[Any], Mapping[str, Callable[[Any, Any], None]]] = {}
_STATES = {state.value: state for state in TicketState}
_CLASSES = {priority.value: priority for priority in Priority}


def to_doc(value: Any) -> Any:
    """Turn a value into plain JSON types."""
    if is_dataclass(value) and not isinstance(value, type):
        return {name: to_doc(getattr(value, name)) for name in _names(type(value))}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, frozenset):
        return sorted(value)
    if isinstance(value, tuple | list):
        return [to_doc(item) for item in value]
    if isinstance(value, Mapping):
        return {key: to_doc(item) for key, item in value.items()}
    return value


def to_text(value: Any) -> str:
    """Write a value as JSON: what `to_doc` gives, without making it first.

    Raises:
        ValueError: a number in it is infinite or none.
    """
    return _ENCODER.encode(value)


def server_record(doc: Mapping[str, Any]) -> ServerRecord:
    """Read a server's document. A part that is a value already (it did not change) stays as it is."""
    config, seen, learned = doc["config"], doc["seen"], doc["learned"]
    if not isinstance(config, ServerConfig):
        config = _plain(ServerConfig, config, resource_group=_group, fail_mode=FailMode)
    if not isinstance(seen, ServerSeen):
        seen = _plain(
            ServerSeen,
            seen,
            residents=_residents,
            models=_optional_texts,
            observed=dict,
            estimated=dict,
            addresses=_texts,
        )
    if not isinstance(learned, ServerLearned):
        learned = _plain(ServerLearned, learned, blocked_until=dict, failures=dict, circuit=_circuit)
    admission = doc.get("admission") or Admission()
    if not isinstance(admission, Admission):
        admission = _plain(Admission, admission, state=AdmissionState, by=AdmissionBy, cause=_cause)
    return ServerRecord(config=config, seen=seen, learned=learned, admission=admission)


def ticket(doc: Mapping[str, Any]) -> Ticket:
    """Read a ticket's document."""
    return _plain(Ticket, doc, state=_STATES.__getitem__, priority=_CLASSES.__getitem__, evicts=_texts, evicted=_texts)


def load(doc: Mapping[str, Any]) -> LoadUnderWay:
    """Read a load's document."""
    return _plain(LoadUnderWay, doc, evicts=_texts)


def waiter(doc: Mapping[str, Any]) -> Waiter:
    """Read a waiter's document."""
    return _plain(Waiter, doc, priority=Priority, candidates=_candidates)


def drain(doc: Mapping[str, Any]) -> Drain:
    """Read a drain's document."""
    return _plain(Drain, doc, victims=_texts)


def plan(doc: Mapping[str, Any]) -> Plan:
    """Read a plan's document."""
    return _plain(Plan, doc)


def intent(doc: Mapping[str, Any]) -> Intent:
    """Read an intent's document."""
    return _plain(Intent, doc, models=_texts)


def use(doc: Mapping[str, Any]) -> Use:
    """Read a counter's document."""
    return _plain(Use, doc)


def _names(kind: type[Any]) -> tuple[str, ...]:
    if kind not in _FIELDS:
        _FIELDS[kind] = tuple(field.name for field in fields(kind))
    return _FIELDS[kind]


def _slots(kind: type[Any]) -> Mapping[str, Callable[[Any, Any], None]]:
    """Map a kind's fields to what sets each in a value that is being made."""
    if kind not in _SLOTS:
        _SLOTS[kind] = {name: getattr(kind, name).__set__ for name in _names(kind)}
    return _SLOTS[kind]


def _shallow(value: Any) -> Any:
    """Give the encoder one level of what it does not know. Enums of texts are texts to it."""
    if isinstance(value, frozenset):
        return sorted(value)
    return {name: getattr(value, name) for name in _names(type(value))}


_ENCODER = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, allow_nan=False, default=_shallow)


def _plain(kind: type[T], doc: Mapping[str, Any], **readers: Callable[[Any], Any]) -> T:
    """Read a document, slot by slot: a frozen value's own way takes four times as long, and there are many to read."""
    slots = _slots(kind)
    if doc.keys() != slots.keys():
        known = {name: readers.get(name, _as_it_is)(doc[name]) for name in slots if name in doc}
        return kind(**known)
    value = object.__new__(kind)
    for name, put in slots.items():
        put(value, doc[name])
    for name, read in readers.items():
        slots[name](value, read(doc[name]))
    return value


def _as_it_is(item: Any) -> Any:
    return item


def _texts(items: Iterable[str]) -> tuple[str, ...]:
    return tuple(items)


def _optional_texts(items: Iterable[str] | None) -> tuple[str, ...] | None:
    return None if items is None else tuple(items)


def _residents(items: Iterable[Mapping[str, Any]]) -> tuple[Resident, ...]:
    return tuple(_plain(Resident, item, aliases=_texts) for item in items)


def _group(item: Mapping[str, Any] | None) -> ResourceGroup | None:
    return None if item is None else _plain(ResourceGroup, item)


def _cause(name: str | None) -> QuarantineCause | None:
    return None if name is None else QuarantineCause(name)


def _circuit(item: Mapping[str, Any]) -> Circuit:
    return _plain(Circuit, item)


def _candidates(items: Iterable[Mapping[str, Any]]) -> tuple[Candidate, ...]:
    return tuple(_plain(Candidate, item, servers=_optional_names) for item in items)


def _optional_names(items: Iterable[str] | None) -> frozenset[str] | None:
    return None if items is None else frozenset(items)
