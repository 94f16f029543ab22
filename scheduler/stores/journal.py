"""The journal's entries as scripts write them, read.

An entry is one text of three lines: version, time, events. An event about a ticket carries the ticket's document and
what else there is to say; its readers get the fields that a call's history is made of.
"""

import json
from typing import Any

from scheduler.core.ledger import JournalEntry

LISTS = ("evicted", "evicts", "residents", "sizes_mib", "candidates")
OF_TICKET = (
    *("waiter", "plan", "agent", "crew", "thread", "phase", "purpose", "priority", "server", "model", "action"),
    *("evicted", "arrived_at", "granted_at", "started_at", "key"),
)


def read_entry(*, entry_id: bytes, text: bytes) -> JournalEntry:
    """Read an entry."""
    version, at, events = text.split(b"\n")
    return JournalEntry(id=entry_id.decode(), version=int(version), at=float(at), events=read_events(events))


def read_events(text: bytes) -> tuple[dict[str, Any], ...]:
    """Read what happened."""
    return tuple({name: _listed(name, value) for name, value in _flat(event).items()} for event in json.loads(text))


def _flat(event: dict[str, Any]) -> dict[str, Any]:
    ticket = event.pop("of", None)
    if ticket is None:
        return event
    call = ticket["call"] or ticket["waiter"] or ticket["id"]
    told = {"call": call, "ticket": ticket["id"]} | {name: ticket[name] for name in OF_TICKET}
    more: dict[str, Any] = event.pop("with", None) or {}
    return event | told | more


def _listed(name: str, value: Any) -> Any:
    """Read an empty list where the script language wrote an empty map."""
    return [] if name in LISTS and value == {} else value
