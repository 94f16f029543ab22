"""Writing sums over attempts down, in the transaction that writes the attempts: each is counted once."""

from collections.abc import Mapping
from dataclasses import asdict

from scheduler.core.attempt_history import AttemptRecord
from scheduler.core.attempt_tally import Spread, Tally, TallyKey, key_of
from scheduler.models import AttemptTally, SwitchTally


def write_tallies(*, before: Mapping[str, AttemptRecord], after: Mapping[str, AttemptRecord]) -> None:
    """Count what ended, and what was admitted, between two pictures of the same attempts."""
    sums: dict[TallyKey, Tally] = {}
    for id, record in after.items():
        known = before.get(id)
        if record.outcome is not None and (known is None or known.outcome is None):
            key = key_of(record)
            sums[key] = (sums.get(key) or _stored(key)).adding(record)
    for key, tally in sums.items():
        values = {
            "count": tally.count,
            "queued": tally.queued.counts,
            "queued_s": tally.queued.total_s,
            "ran": tally.ran.counts,
            "ran_s": tally.ran.total_s,
        }
        AttemptTally.objects.update_or_create(**asdict(key), defaults=values)
    _write_switches(before=before, after=after)


def _stored(key: TallyKey) -> Tally:
    row = AttemptTally.objects.filter(**asdict(key)).first()
    if row is None:
        return Tally()
    return Tally(
        count=row.count,
        queued=Spread(counts=tuple(row.queued), total_s=row.queued_s),
        ran=Spread(counts=tuple(row.ran), total_s=row.ran_s),
    )


def _write_switches(*, before: Mapping[str, AttemptRecord], after: Mapping[str, AttemptRecord]) -> None:
    """Count an admission of another model than the one before it on the same server, in the order of their time."""
    fresh = sorted(
        (record.admitted_at, id, record)
        for id, record in after.items()
        if record.admitted_at is not None and (id not in before or before[id].admitted_at is None)
    )
    rows = {row.server: row for row in SwitchTally.objects.filter(server__in={record.server for *_, record in fresh})}
    for _, _, record in fresh:
        row = rows.setdefault(record.server, SwitchTally(server=record.server, model=record.model))
        row.switches += row.model != record.model
        row.model = record.model
    SwitchTally.objects.bulk_create(
        rows.values(), update_conflicts=True, unique_fields=["server"], update_fields=["switches", "model"]
    )
