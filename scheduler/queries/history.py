"""What was: calls and what happened on servers, as the core's records.

House rules: every query is answered by an index and bounded, so that a page takes as long after a million calls as
after a hundred; a list never reads the decisions, which are the bulk of a row.
"""

from collections.abc import Mapping
from dataclasses import fields
from datetime import UTC, datetime
from typing import Any

from django.db.models import CharField, Count, F, Q, QuerySet, Subquery
from django.db.models.functions import Cast, Substr

from scheduler.core.attempt_history import AttemptOutcome, split_attempt_id
from scheduler.core.call_history import CallPage, CallRecord, CallState
from scheduler.core.server_history import ServerEventKind, ServerEventRecord
from scheduler.models import Call, ServerEvent

CALL_FIELDS = tuple(field.name for field in fields(CallRecord))
CALL_TIMES = ("arrived_at", "granted_at", "started_at", "first_byte_at", "finished_at")
SERVER_EVENT_FIELDS = tuple(field.name for field in fields(ServerEventRecord))
LONGEST_CALL_S = 7200
"""How long before a moment a call may have arrived that still runs then."""
HOUR, MINUTE, SECOND = 13, 16, 19
"""How much of `2026-11-29 12:03:20` names the hour, the minute, the second."""
FINE_S = 7200
"""Up to which length a day is counted by seconds instead of minutes."""


def calls(*, filters: Mapping[str, str], since: float | None = None, before: str = "") -> QuerySet[Call]:
    """List calls, newest first, that match every filter; `before` is the id of the call to go on after."""
    rows = Call.objects.filter(**filters)
    if since is not None:
        rows = rows.filter(arrived_at__gte=_time(since))
    if before:
        last = Subquery(Call.objects.filter(id=before).values("arrived_at"))
        # The first condition says nothing new: it is the one that an index can begin at.
        rows = rows.filter(arrived_at__lte=last).filter(Q(arrived_at__lt=last) | Q(id__lt=before))
    return rows


def call_page(*, filters: Mapping[str, str], since: float | None, before: str, limit: int) -> CallPage:
    """Read one page of calls as values."""
    rows = list(calls(filters=filters, since=since, before=before).defer("decision")[: limit + 1])
    shown = rows[:limit]
    return CallPage(
        calls=tuple(call_record(row, with_decision=False) for row in shown),
        next=shown[-1].id if len(rows) > limit else "",
    )


def has_calls(*, agent: str) -> bool:
    """Say whether any call came under exactly this name."""
    return Call.objects.filter(agent=agent).exists()


def recent_calls(*, limit: int) -> tuple[CallRecord, ...]:
    """List the newest calls as values."""
    return tuple(call_record(row) for row in calls(filters={})[:limit])


def one_call(*, id: str) -> CallRecord | None:
    """Read one call with its decision; the name of any of its attempts finds it too."""
    row = Call.objects.filter(id=split_attempt_id(id)[0]).first()
    return None if row is None else call_record(row)


def call_record(row: Call, *, with_decision: bool = True) -> CallRecord:
    """Read a call's row as a value; times become Unix seconds."""
    names = CALL_FIELDS if with_decision else tuple(name for name in CALL_FIELDS if name != "decision")
    values: dict[str, Any] = {name: getattr(row, name) for name in names}
    times = {name: _seconds(values[name]) for name in CALL_TIMES}
    plain = {
        "state": CallState(row.state),
        "outcome": AttemptOutcome(row.outcome) if row.outcome else None,
        "evicted": tuple(row.evicted),
    }
    return CallRecord(**(values | times | plain))


def calls_by_hour(*, model: str, since: float) -> dict[float, int]:
    """Count a model's calls since then by the hour they came in; an hour is named by its beginning."""
    rows = Call.objects.filter(model=model, arrived_at__gte=_time(since))
    return dict(_counted(rows, of="arrived_at", length=HOUR))


def calls_by(*, what: str, since: float) -> dict[str, int]:
    """Count the calls since then by their `server` or `model`."""
    rows = Call.objects.filter(arrived_at__gte=_time(since)).order_by().values_list(what)
    return dict(rows.annotate(count=Count("pk")))


def calls_in_flight(*, server: str, since: float, until: float) -> tuple[int, tuple[tuple[float, int], ...]]:
    """Tell how many calls ran on a server at the beginning, and by how many that changed when, oldest first."""
    rows = Call.objects.filter(server=server, arrived_at__gte=_time(since - LONGEST_CALL_S))
    begun = rows.filter(started_at__lt=_time(since)).filter(
        Q(finished_at__isnull=True) | Q(finished_at__gte=_time(since))
    )
    length = SECOND if until - since <= FINE_S else MINUTE
    starts = _counted(rows.filter(started_at__gte=_time(since)), of="started_at", length=length)
    ends = _counted(
        rows.filter(started_at__isnull=False, finished_at__gte=_time(since)), of="finished_at", length=length
    )
    changes: dict[float, int] = {}
    for at, count in (*starts, *((at, -count) for at, count in ends)):
        changes[at] = changes.get(at, 0) + count
    return begun.count(), tuple(sorted(changes.items()))


def server_events(*, server: str, since: float, limit: int) -> tuple[ServerEventRecord, ...]:
    """List what happened on a server since then, oldest first: the newest `limit`, and before them the last probe."""
    rows = ServerEvent.objects.filter(server=server)
    newest = list(rows.filter(at__gte=_time(since)).order_by("-at", "-id")[:limit])
    begin = newest[-1].at if newest else _time(since)
    last = rows.filter(at__lt=begin, kind=ServerEventKind.PROBED).order_by("-at", "-id").first()
    before = [] if last is None else rows.filter(at__gte=last.at, at__lt=begin).order_by("at", "id")[:limit]
    return tuple(server_event_record(row) for row in (*before, *reversed(newest)))


def last_probe(*, server: str) -> ServerEventRecord | None:
    """Read what a server's last probe found."""
    row = _probes(server=server).first()
    return None if row is None else server_event_record(row)


def calls_before(*, before: float) -> QuerySet[Call]:
    """List the calls that came in before a moment, oldest first."""
    return Call.objects.filter(arrived_at__lt=_time(before)).order_by("arrived_at", "id")


def server_events_before(*, server: str, before: float) -> QuerySet[ServerEvent]:
    """List the events of a server before a moment that nothing rests on any more, oldest first.

    From its last probe on everything counts: what it held at that moment follows from it, however old it is.
    """
    probe = _probes(server=server).filter(at__lt=_time(before)).first()
    if probe is None:
        return ServerEvent.objects.none()
    return ServerEvent.objects.filter(server=server, at__lt=probe.at).order_by("at", "id")


def servers_with_events() -> tuple[str, ...]:
    """Name every server that something was written down of, registered or not."""
    return tuple(ServerEvent.objects.order_by("server").values_list("server", flat=True).distinct())


def _probes(*, server: str) -> QuerySet[ServerEvent]:
    return ServerEvent.objects.filter(server=server, kind=ServerEventKind.PROBED).order_by("-at", "-id")


def server_tallies(*, since: float) -> dict[str, dict[str, int]]:
    """Count what happened on each server since then, by kind."""
    rows = ServerEvent.objects.filter(at__gte=_time(since)).order_by().values_list("server", "kind")
    found: dict[str, dict[str, int]] = {}
    for server, kind, count in rows.annotate(count=Count("pk")):
        found.setdefault(server, {})[kind] = count
    return found


def stood_aside(*, since: float, limit: int) -> tuple[CallRecord, ...]:
    """List the newest calls that stood aside."""
    filters = {"state": CallState.STOOD_ASIDE.value}
    return call_page(filters=filters, since=since, before="", limit=limit).calls


def server_event_record(row: ServerEvent) -> ServerEventRecord:
    """Read a server event's row as a value."""
    values: dict[str, Any] = {name: getattr(row, name) for name in SERVER_EVENT_FIELDS}
    plain = {
        "kind": ServerEventKind(row.kind),
        "at": row.at.timestamp(),
        "until": _seconds(row.until),
        "evicts": tuple(row.evicts),
        "residents": tuple((model, mib) for model, mib in row.residents),
    }
    return ServerEventRecord(**(values | plain))


def _counted(rows: QuerySet[Call], *, of: str, length: int) -> list[tuple[float, int]]:
    """Count rows by the beginning of a time's text: cheap on every database, where cutting times is not."""
    text = Substr(Cast(F(of), CharField(max_length=32)), 1, length)
    groups = rows.order_by().annotate(cut=text).values_list("cut").annotate(count=Count("pk"))
    return [(_begin(cut), count) for cut, count in groups]


def _begin(text: str) -> float:
    """Read a cut time: `2026-11-29 12` is the beginning of that hour."""
    whole = f"{text}:00" if len(text) == HOUR else text
    return datetime.fromisoformat(whole).replace(tzinfo=UTC).timestamp()


def _time(at: float) -> datetime:
    return datetime.fromtimestamp(at, tz=UTC)


def _seconds(at: datetime | None) -> float | None:
    return None if at is None else at.timestamp()
