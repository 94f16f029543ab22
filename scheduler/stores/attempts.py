"""Writing the attempts of calls down, beside the calls."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from providers import queries as providers
from scheduler.core.attempt_history import AttemptRecord, fold_attempt
from scheduler.core.ledger import JournalEntry
from scheduler.models import Attempt
from scheduler.queries import ATTEMPT_FIELDS, ATTEMPT_TIMES, attempt_record
from scheduler.stores.tallies import write_tallies


def write_attempts(entries: Sequence[JournalEntry]) -> None:
    """Fold entries into the rows of their attempts, each with the identity of the endpoint that it got a place on."""
    named = {str(event["call"]) for entry in entries for event in entry.events if event.get("call")}
    records = {row.id: attempt_record(row) for row in Attempt.objects.filter(id__in=named)}
    before = dict(records)
    for entry in entries:
        for event in entry.events:
            id = str(event.get("call") or "")
            record = fold_attempt(record=records.get(id), event=event, at=entry.at)
            if record is not None:
                records[id] = record
    nameless = {record.server for record in records.values() if record.server and not record.endpoint}
    keys = providers.endpoint_keys(servers=nameless) if nameless else {}
    Attempt.objects.bulk_create(
        [_row(replace(record, endpoint=record.endpoint or keys.get(record.server, ""))) for record in records.values()],
        update_conflicts=True,
        unique_fields=["id"],
        update_fields=[name for name in ATTEMPT_FIELDS if name != "id"],
        batch_size=200,
    )
    write_tallies(before=before, after=records)


def forget_attempts(calls: Collection[str]) -> None:
    """Forget the attempts of calls that are forgotten."""
    Attempt.objects.filter(call__in=calls).delete()


def _row(record: AttemptRecord) -> Attempt:
    values: dict[str, Any] = {name: getattr(record, name) for name in ATTEMPT_FIELDS}
    times = {name: _time(values[name]) for name in ATTEMPT_TIMES}
    outcome = "" if record.outcome is None else record.outcome.value
    return Attempt(**(values | times | {"outcome": outcome}))


def _time(at: float | None) -> datetime | None:
    return None if at is None else datetime.fromtimestamp(at, tz=UTC)
