"""`/metrics` for Prometheus: sums over attempts that ended, and how things stand now.

Every figure is the whole installation's, whichever web process is asked: sums come from the database, the present from
the ledger. Those called `kubemoot_local_` alone are of the process that is asked (`local_metrics.py`). Labels are
registered names or one of our own words, never anything that a caller wrote; what is not registered (any more) is
called `other`. No prompt, no answer, no key comes near it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from asgiref.sync import sync_to_async
from django.http import HttpRequest, HttpResponse
from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

from kubemoot_web.access import Principal
from kubemoot_web.access.keys import key_principal, presented_key
from kubemoot_web.access.principal import principal_of_user
from kubemoot_web.api.errors import error_response
from kubemoot_web.api.local_metrics import local_families
from scheduler import bootstrap, queries
from scheduler.core.attempt_tally import EXEC_BOUNDS_S, QUEUE_BOUNDS_S, Spread, Tally, TallyKey
from scheduler.core.group_flight import group_flights
from scheduler.core.replica import Replica
from scheduler.core.snapshot import ClusterSnapshot

OTHER = "other"
NONE = "none"


class Metrics:
    """Collects for one scrape."""

    def __init__(
        self,
        *,
        replica: Replica,
        tallies: Mapping[TallyKey, Tally],
        switches: Mapping[str, int],
        models: frozenset[str],
        local: Iterable[Metric],
    ) -> None:
        """Take what there is to tell."""
        self._replica = replica
        known = models | replica.footprints.keys()
        self._tallies = _merged(
            (_registered(key, servers=replica.servers, models=known), tally) for key, tally in tallies.items()
        )
        self._switches = switches
        self._local = local

    def collect(self) -> Iterable[Metric]:
        """Give every family."""
        yield self._queue_seconds()
        yield self._attempt_seconds()
        yield self._attempts()
        snapshot = self._replica.snapshot(now=bootstrap.clock())
        yield from self._present(snapshot)
        yield from self._groups(snapshot)
        yield from self._local
        switches = CounterMetricFamily(
            "kubemoot_model_switches",
            "Admitted attempts of another model than the one before on the same endpoint.",
            labels=("endpoint",),
        )
        for server in self._replica.servers:
            switches.add_metric((server,), self._switches.get(server, 0))
        yield switches

    def _queue_seconds(self) -> Metric:
        family = HistogramMetricFamily(
            "kubemoot_admission_queue_seconds",
            "Time an attempt waited for its place.",
            labels=("endpoint", "class", "purpose"),
        )
        for key, tally in _merged(
            (replace(key, model="", outcome=""), tally) for key, tally in self._tallies.items()
        ).items():
            family.add_metric((key.server, key.priority, key.purpose), *_buckets(tally.queued, bounds=QUEUE_BOUNDS_S))
        return family

    def _attempt_seconds(self) -> Metric:
        family = HistogramMetricFamily(
            "kubemoot_attempt_seconds",
            "Time an attempt held its place.",
            labels=("endpoint", "provider", "model", "purpose", "outcome"),
        )
        kinds = {name: record.config.kind for name, record in self._replica.servers.items()}
        for key, tally in _merged((replace(key, priority=""), tally) for key, tally in self._tallies.items()).items():
            labels = (key.server, kinds.get(key.server, NONE), key.model, key.purpose, key.outcome)
            family.add_metric(labels, *_buckets(tally.ran, bounds=EXEC_BOUNDS_S))
        return family

    def _attempts(self) -> Metric:
        family = CounterMetricFamily("kubemoot_attempts", "Attempts that ended.", labels=("endpoint", "outcome"))
        for key, tally in _merged(
            (TallyKey(server=key.server, model="", purpose="", priority="", outcome=key.outcome), tally)
            for key, tally in self._tallies.items()
        ).items():
            family.add_metric((key.server, key.outcome), tally.count)
        return family

    def _present(self, snapshot: ClusterSnapshot) -> Iterable[Metric]:
        inflight = GaugeMetricFamily(
            "kubemoot_inflight", "Places held now: calls, loads and plans.", labels=("endpoint", "class")
        )
        depth = GaugeMetricFamily(
            "kubemoot_queue_depth",
            "Calls that wait now, by where they are to run; none: not settled yet.",
            labels=("endpoint", "class"),
        )
        cap = GaugeMetricFamily("kubemoot_admission_cap", "Most calls at once, where set.", labels=("endpoint",))
        ready = GaugeMetricFamily("kubemoot_endpoint_ready", "1 while calls may be placed there.", labels=("endpoint",))
        memory = GaugeMetricFamily(
            "kubemoot_memory_bytes", "Memory of models: usable, and taken by residents.", labels=("endpoint", "state")
        )
        tickets = _counted((t.server, t.priority.value) for t in self._replica.tickets.values())
        waiting = _counted((w.server or NONE, w.priority.value) for w in self._replica.waiting())
        servers = snapshot.servers
        for name, server in servers.items():
            for priority in ("interactive", "background"):
                inflight.add_metric((name, priority), tickets.get((name, priority), 0))
            if server.max_concurrent is not None:
                cap.add_metric((name,), server.max_concurrent)
            ready.add_metric((name,), float(server.is_open))
            if server.usable_mib is not None:
                memory.add_metric((name, "usable"), server.usable_mib * 1024 * 1024)
            memory.add_metric((name, "resident"), sum(c.footprint_mib or 0 for c in server.residents) * 1024 * 1024)
        for name in (*servers, NONE):
            for priority in ("interactive", "background"):
                depth.add_metric((name, priority), waiting.get((name, priority), 0))
        return (inflight, depth, cap, ready, memory)

    def _groups(self, snapshot: ClusterSnapshot) -> Iterable[Metric]:
        inflight = GaugeMetricFamily(
            "kubemoot_resource_group_inflight", "Places held now on all servers of a resource group.", labels=("group",)
        )
        cap = GaugeMetricFamily(
            "kubemoot_resource_group_cap", "Most calls at once on all servers of a resource group.", labels=("group",)
        )
        for flight in {flight.name: flight for flight in group_flights(snapshot).values()}.values():
            inflight.add_metric((flight.name,), flight.total)
            cap.add_metric((flight.name,), flight.cap)
        return (inflight, cap)


async def metrics(request: HttpRequest) -> HttpResponse:
    """Answer a scrape: with a key of the scope read, or by a signed-in person."""
    principal = await _principal(request)
    if principal is None or "read" not in principal.scopes:
        return error_response(status=401 if principal is None else 403)
    rt = await bootstrap.runtime()
    tallies = await sync_to_async(queries.attempt_tallies)()
    switches = await sync_to_async(queries.switch_tallies)()
    registry = CollectorRegistry(auto_describe=False)
    replica, local = rt.ledger.replica, rt.doors.local
    registry.register(
        Metrics(
            replica=replica,
            tallies=tallies,
            switches=switches,
            models=await rt.callers.models(),
            local=tuple(
                local_families(state=local.state(), ended=local.ended, known={*replica.servers, *local.records})
            ),
        )
    )
    return HttpResponse(generate_latest(registry), content_type=CONTENT_TYPE_LATEST)


async def _principal(request: HttpRequest) -> Principal | None:
    headers = ((name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in request.headers.items())
    key = presented_key(headers)
    return await principal_of_user(await request.auser()) if key is None else await key_principal(key)


def _registered(key: TallyKey, *, servers: Mapping[str, object], models: Iterable[str]) -> TallyKey:
    """Let only registered names be labels."""
    server = key.server if key.server in servers else OTHER if key.server else NONE
    return replace(key, server=server, model=key.model if key.model in models else OTHER, purpose=key.purpose or NONE)


def _merged(tallies: Iterable[tuple[TallyKey, Tally]]) -> dict[TallyKey, Tally]:
    sums: dict[TallyKey, Tally] = {}
    for key, tally in tallies:
        sums[key] = sums[key].joined(tally) if key in sums else tally
    return sums


def _counted(keys: Iterable[tuple[str, str]]) -> dict[tuple[str, str], int]:
    counts: dict[tuple[str, str], int] = {}
    for key in keys:
        counts[key] = counts.get(key, 0) + 1
    return counts


def _buckets(spread: Spread, *, bounds: tuple[float, ...]) -> tuple[list[tuple[str, float]], float]:
    """Write a spread as Prometheus does: what lies at or below each bound, and the sum."""
    names = (*map(str, bounds), "+Inf")
    return [(name, float(count)) for name, count in zip(names, spread.cumulative, strict=True)], spread.total_s
