"""What was: the attempts of calls. The house rules of the history of calls hold here too."""

from collections.abc import Mapping
from dataclasses import fields
from datetime import UTC, datetime
from typing import Any

from django.db.models import Q, QuerySet, Subquery

from scheduler.core.attempt_history import AttemptOutcome, AttemptPage, AttemptRecord
from scheduler.models import Attempt

ATTEMPT_FIELDS = tuple(field.name for field in fields(AttemptRecord))
ATTEMPT_TIMES = ("queued_at", "admitted_at", "started_at", "first_byte_at", "finished_at")
SUMMED = ("id", "call", "number", "agent", "server", "model", "queued_at", "admitted_at", "finished_at")
"""What a page needs of an attempt to sum it up: it does so every other second."""


def attempts(*, filters: Mapping[str, str], since: float | None = None, before: str = "") -> QuerySet[Attempt]:
    """List attempts, newest first, that match every filter; `before` is the id of the attempt to go on after."""
    rows = Attempt.objects.filter(**filters)
    if since is not None:
        rows = rows.filter(queued_at__gte=datetime.fromtimestamp(since, tz=UTC))
    if before:
        last = Subquery(Attempt.objects.filter(id=before).values("queued_at"))
        # The first condition says nothing new: it is the one that an index can begin at.
        rows = rows.filter(queued_at__lte=last).filter(Q(queued_at__lt=last) | Q(id__lt=before))
    return rows


def attempt_page(*, filters: Mapping[str, str], since: float | None, before: str, limit: int) -> AttemptPage:
    """Read one page of attempts as values."""
    rows = list(attempts(filters=filters, since=since, before=before)[: limit + 1])
    shown = rows[:limit]
    return AttemptPage(
        attempts=tuple(attempt_record(row) for row in shown), next=shown[-1].id if len(rows) > limit else ""
    )


def newest_attempts(*, since: float, limit: int) -> tuple[AttemptRecord, ...]:
    """List the newest attempts since a moment as values, so many at most."""
    return tuple(attempt_record(row) for row in attempts(filters={}, since=since)[:limit])


def attempts_to_sum(*, since: float, limit: int, server: str = "") -> tuple[AttemptRecord, ...]:
    """List the newest attempts since a moment, so many at most, with nothing but what can be summed up."""
    rows = attempts(filters={"server": server} if server else {}, since=since).values_list(*SUMMED)[:limit]
    return tuple(
        AttemptRecord(**dict(zip(SUMMED, (*row[:6], *(at and at.timestamp() for at in row[6:])), strict=True)))
        for row in rows
    )


def attempts_of(*, call: str) -> tuple[AttemptRecord, ...]:
    """List the attempts of a call, the first one first."""
    return tuple(attempt_record(row) for row in Attempt.objects.filter(call=call).order_by("number"))


def attempt_record(row: Attempt) -> AttemptRecord:
    """Read an attempt's row as a value; times become Unix seconds."""
    values: dict[str, Any] = {name: getattr(row, name) for name in ATTEMPT_FIELDS}
    times = {name: None if values[name] is None else values[name].timestamp() for name in ATTEMPT_TIMES}
    return AttemptRecord(**(values | times | {"outcome": AttemptOutcome(row.outcome) if row.outcome else None}))
