"""The history port on the database: journal entries become rows, once each."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from asgiref.sync import sync_to_async
from django.db import transaction

from scheduler.core.call_history import CallRecord, fold
from scheduler.core.ledger import JournalEntry
from scheduler.models import Call, JournalCursor
from scheduler.queries import CALL_FIELDS, CALL_TIMES, call_record


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
    records = {call.id: call_record(call) for call in Call.objects.filter(id__in=named)}
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
        update_fields=[name for name in CALL_FIELDS if name != "id"],
        batch_size=200,
    )


def _position(entry: str) -> tuple[int, int]:
    """Read a stream id, `milliseconds-number`; they are ordered by these, not as text."""
    first, _, second = entry.partition("-")
    return int(first or 0), int(second or 0)


def _row(record: CallRecord) -> Call:
    values: dict[str, Any] = {name: getattr(record, name) for name in CALL_FIELDS}
    times = {
        name: None if values[name] is None else datetime.fromtimestamp(values[name], tz=UTC) for name in CALL_TIMES
    }
    return Call(**(values | times | {"state": record.state.value, "evicted": list(record.evicted)}))
