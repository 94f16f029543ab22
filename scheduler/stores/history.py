"""The history port on the database: journal entries become rows, once each, and old rows go."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from asgiref.sync import sync_to_async
from django.db import transaction
from django.db.models import QuerySet

from scheduler.core.attempt_history import split_attempt_id
from scheduler.core.call_history import CallRecord, fold
from scheduler.core.ledger import JournalEntry
from scheduler.core.server_history import ServerEventKind, ServerEventRecord, is_news, server_event_of
from scheduler.models import Call, JournalCursor, ServerEvent
from scheduler.queries import (
    CALL_FIELDS,
    CALL_TIMES,
    SERVER_EVENT_FIELDS,
    call_record,
    calls_before,
    last_probe,
    server_events_before,
    servers_with_events,
)
from scheduler.stores.attempts import forget_attempts, write_attempts


class OrmHistory:
    """Writes calls and server events down, and forgets them.

    `ledger` names whose journal it is, so that several can share a database.
    """

    def __init__(self, *, ledger: str) -> None:
        self._ledger = ledger
        self._cursor: str | None = None

    async def cursor(self) -> str:
        """Give the id of the last journal entry that is known to be written down; empty before the first.

        The database is asked once. What others write meanwhile is read again, and left alone by `write`.
        """
        if self._cursor is None:
            row = await JournalCursor.objects.filter(ledger=self._ledger).afirst()
            self._cursor = "" if row is None else row.entry
        return self._cursor

    async def write(self, *, entries: Sequence[JournalEntry]) -> None:
        """Write entries down, once each, and move the cursor, in one transaction."""
        self._cursor = await sync_to_async(self._write)(entries)

    async def forget(self, *, before: float, most: int) -> int:
        """Forget the oldest of what was before a moment, so many calls and server events at most; give how many."""
        return await sync_to_async(_forget)(before=before, most=most)

    def _write(self, entries: Sequence[JournalEntry]) -> str:
        with transaction.atomic():
            row, _ = JournalCursor.objects.select_for_update().get_or_create(ledger=self._ledger)
            fresh = [entry for entry in entries if _position(entry.id) > _position(row.entry)]
            if fresh:
                _write_calls(fresh)
                write_attempts(fresh)
                _write_server_events(fresh)
                row.entry = fresh[-1].id
                row.save()
            entry: str = row.entry
            return entry


def _write_calls(entries: Sequence[JournalEntry]) -> None:
    """Fold entries into the rows of their calls: those of every attempt go into the one row of its call."""
    named = {_call_of(event) for entry in entries for event in entry.events if event.get("call")}
    records = {call.id: call_record(call) for call in Call.objects.filter(id__in=named)}
    for entry in entries:
        for event in entry.events:
            call = _call_of(event)
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


def _call_of(event: Mapping[str, object]) -> str:
    return split_attempt_id(str(event.get("call") or ""))[0]


def _write_server_events(entries: Sequence[JournalEntry]) -> None:
    told = [
        record
        for entry in entries
        for event in entry.events
        if (record := server_event_of(event=event, at=entry.at)) is not None
    ]
    probed = {record.server for record in told if record.kind is ServerEventKind.PROBED}
    last = {server: last_probe(server=server) for server in probed}
    kept = []
    for record in told:
        if is_news(record=record, before=last.get(record.server)):
            kept.append(record)
        if record.kind is ServerEventKind.PROBED:
            last[record.server] = record
    ServerEvent.objects.bulk_create([_event_row(record) for record in kept], batch_size=200)


def _forget(*, before: float, most: int) -> int:
    """Each kind in a step of its own: on a database with one writer nobody waits for both."""
    oldest = _oldest(calls_before(before=before), most)
    with transaction.atomic():
        forget_attempts(oldest)
        calls, _ = Call.objects.filter(pk__in=oldest).delete()
    events = 0
    for server in servers_with_events():
        old = _oldest(server_events_before(server=server, before=before), most - events)
        events += ServerEvent.objects.filter(pk__in=old).delete()[0]
    return calls + events


def _oldest(rows: QuerySet[Any], most: int) -> list[Any]:
    """Read the keys first: no database deletes the first rows of a query in the same way as another."""
    return list(rows.values_list("pk", flat=True)[:most])


def _position(entry: str) -> tuple[int, int]:
    """Read a stream id, `milliseconds-number`; they are ordered by these, not as text."""
    first, _, second = entry.partition("-")
    return int(first or 0), int(second or 0)


def _row(record: CallRecord) -> Call:
    values: dict[str, Any] = {name: getattr(record, name) for name in CALL_FIELDS}
    times = {name: _time(values[name]) for name in CALL_TIMES}
    outcome = "" if record.outcome is None else record.outcome.value
    plain = {"state": record.state.value, "outcome": outcome, "evicted": list(record.evicted)}
    return Call(**(values | times | plain))


def _event_row(record: ServerEventRecord) -> ServerEvent:
    values: dict[str, Any] = {name: getattr(record, name) for name in SERVER_EVENT_FIELDS}
    plain = {
        "kind": record.kind.value,
        "at": _time(record.at),
        "until": _time(record.until),
        "evicts": list(record.evicts),
        "residents": [list(resident) for resident in record.residents],
    }
    return ServerEvent(**(values | plain))


def _time(at: float | None) -> datetime | None:
    return None if at is None else datetime.fromtimestamp(at, tz=UTC)
