"""The history port on the database: journal entries become rows, once each."""

from collections.abc import Sequence
from dataclasses import fields
from datetime import UTC, datetime
from typing import Any

from asgiref.sync import sync_to_async
from django.db import transaction

from scheduler.core.call_history import CallRecord, CallState, fold
from scheduler.core.ledger import JournalEntry
from scheduler.models import Call, JournalCursor

TIMES = ("arrived_at", "granted_at", "started_at", "finished_at")
COLUMNS = tuple(field.name for field in fields(CallRecord))


class OrmHistory:
    """Writes calls down. `ledger` names whose journal this is, so that several can share a database."""

    def __init__(self, *, ledger: str) -> None:
        self._ledger = ledger

    async def cursor(self) -> str:
        """Give the id of the last journal entry that was written down; empty before the first."""
        row = await JournalCursor.objects.filter(ledger=self._ledger).afirst()
        return "" if row is None else row.entry

    async def write(self, *, entries: Sequence[JournalEntry]) -> None:
        """Write entries down, once each, and move the cursor, in one transaction."""
        await sync_to_async(self._write)(entries)

    def _write(self, entries: Sequence[JournalEntry]) -> None:
        with transaction.atomic():
            row, _ = JournalCursor.objects.select_for_update().get_or_create(ledger=self._ledger)
            fresh = [entry for entry in entries if _position(entry.id) > _position(row.entry)]
            if not fresh:
                return
            _write_calls(fresh)
            row.entry = fresh[-1].id
            row.save()


def _write_calls(entries: Sequence[JournalEntry]) -> None:
    named = {str(event["call"]) for entry in entries for event in entry.events if event.get("call")}
    records = {call.id: _record(call) for call in Call.objects.filter(id__in=named)}
    for entry in entries:
        for event in entry.events:
            call = str(event.get("call") or "")
            record = fold(record=records.get(call), event=event, at=entry.at)
            if record is not None:
                records[call] = record
    Call.objects.bulk_create(
        [_row(record) for record in records.values()],
        update_conflicts=True,
        unique_fields=["id"],
        update_fields=[name for name in COLUMNS if name != "id"],
        batch_size=200,
    )


def _position(entry: str) -> tuple[int, int]:
    """Read a stream id, `milliseconds-number`; they are ordered by these, not as text."""
    first, _, second = entry.partition("-")
    return int(first or 0), int(second or 0)


def _record(call: Call) -> CallRecord:
    values: dict[str, Any] = {name: getattr(call, name) for name in COLUMNS}
    times = {name: None if values[name] is None else values[name].timestamp() for name in TIMES}
    return CallRecord(**(values | times | {"state": CallState(call.state), "evicted": tuple(call.evicted)}))


def _row(record: CallRecord) -> Call:
    values: dict[str, Any] = {name: getattr(record, name) for name in COLUMNS}
    times = {name: None if values[name] is None else datetime.fromtimestamp(values[name], tz=UTC) for name in TIMES}
    return Call(**(values | times | {"state": record.state.value, "evicted": list(record.evicted)}))
