"""What was, in sums: for metrics."""

from scheduler.core.attempt_tally import Spread, Tally, TallyKey
from scheduler.models import AttemptTally, SwitchTally


def attempt_tallies() -> dict[TallyKey, Tally]:
    """Read every sum over attempts that have ended."""
    return {
        TallyKey(
            server=row.server, model=row.model, purpose=row.purpose, priority=row.priority, outcome=row.outcome
        ): Tally(
            count=row.count,
            queued=Spread(counts=tuple(row.queued), total_s=row.queued_s),
            ran=Spread(counts=tuple(row.ran), total_s=row.ran_s),
        )
        for row in AttemptTally.objects.all()
    }


def switch_tallies() -> dict[str, int]:
    """Read how often the model changed on each server, since it was first used."""
    return dict(SwitchTally.objects.values_list("server", "switches"))
