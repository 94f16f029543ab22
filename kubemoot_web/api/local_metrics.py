"""What Prometheus reads of the calls that a web process places without the ledger: its own, known to nobody else."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from scheduler.core.admission.local import LocalState
from scheduler.core.attempt_history import AttemptOutcome

NONE, OTHER = "none", "other"


def local_families(
    *, state: LocalState, ended: Mapping[tuple[str, AttemptOutcome], int], known: Collection[str]
) -> Iterable[Metric]:
    """Give the families; only registered servers are labels, and `none` for calls that nobody could place."""
    mode = GaugeMetricFamily(
        "kubemoot_local_mode", "1 while this process places calls there without the ledger.", labels=("endpoint",)
    )
    inflight = GaugeMetricFamily(
        "kubemoot_local_inflight",
        "Calls that this process placed without the ledger and that still run.",
        labels=("endpoint",),
    )
    for name in sorted(known):
        mode.add_metric((name,), float(name in state.servers))
        inflight.add_metric((name,), state.running.get(name, 0))
    depth = GaugeMetricFamily("kubemoot_local_queue_depth", "Calls that wait in the line of this process alone.")
    depth.add_metric((), state.waiting)
    attempts = CounterMetricFamily(
        "kubemoot_local_attempts",
        "Attempts that this process placed without the ledger and that ended; none: those that it could not place.",
        labels=("endpoint", "outcome"),
    )
    counts = Counter[tuple[str, str]]()
    for (server, outcome), count in ended.items():
        counts[server if server in known else OTHER if server else NONE, outcome.value] += count
    for labels, count in sorted(counts.items()):
        attempts.add_metric(labels, count)
    return (mode, inflight, depth, attempts)
