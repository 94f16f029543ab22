"""What the runs of the gateway bench say, as figures: each way to the engine beside the direct one."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from kubemoot_web.management.benches.contenders import DIRECT, KUBEMOOT, LITELLM, NGINX, RELAY
from kubemoot_web.management.benches.figures import Better, Figure, Floor, percentile

US = 1e6
MEDIAN_GOAL_MS = 1.0
P99_GOAL_MS = 5.0
CALLS_GOAL_PER_S = 1500.0
CHUNKS_GOAL_PER_S = 15_000.0
TIMES_LITELLM = 15.0
SHARE_OF_LITELLM = 0.2
LEAVER_GOAL_MS = 100.0
STREAM_GOAL_KIB = 40.0
STRAIGHT = "the same call straight to the engine"
RELAY_ADDS = "what a relay adds that only asks the ledger"
NGINX_CPU = "what nginx takes"
SHARES = (("median", 0.5, MEDIAN_GOAL_MS), ("p99", 0.99, P99_GOAL_MS))


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """How many calls or pieces came through in how many seconds, and what CPU time that took in between."""

    count: int
    seconds: float
    cpu_s: float

    @property
    def per_s(self) -> float:
        """How many there were each second."""
        return self.count / self.seconds

    @property
    def cpu_us(self) -> float:
        """What each took."""
        return self.cpu_s / max(self.count, 1) * US

    @property
    def per_core_s(self) -> float:
        """How many a core would manage each second that had nothing else to do."""
        return self.count / self.cpu_s if self.cpu_s else 0.0

    def __add__(self, other: "Rate") -> "Rate":
        """Take two runs together."""
        return Rate(
            count=self.count + other.count, seconds=self.seconds + other.seconds, cpu_s=self.cpu_s + other.cpu_s
        )


def added(samples: Mapping[str, Sequence[float]], *, name: str, share: float) -> float:
    """Say how much longer this share of calls takes than straight to the engine."""
    return percentile(samples[name], share) - percentile(samples[DIRECT], share)


def latency(*, case: str, samples: Mapping[str, Sequence[float]]) -> Iterator[Figure]:
    """Tell how long calls take, and how much of that each way adds."""
    for measure, share, goal in SHARES:
        floor = Floor(what=STRAIGHT, value=percentile(samples[DIRECT], share))
        for name, took in samples.items():
            if name != DIRECT:
                value = percentile(took, share)
                yield Figure(case=case, measure=f"{name}, {measure}", value=value, unit="ms", floor=floor)
        least = added(samples, name=RELAY, share=share)
        # None where the machine's mood was worse while nothing was in between.
        relay = Floor(what=RELAY_ADDS, value=least) if least > 0 else None
        value = added(samples, name=KUBEMOOT, share=share)
        yield Figure(case=case, measure=f"{KUBEMOOT} adds, {measure}", value=value, unit="ms", goal=goal, floor=relay)
    if LITELLM in samples:
        ours, theirs = (added(samples, name=name, share=0.5) for name in (KUBEMOOT, LITELLM))
        measure = f"adds, to what {LITELLM} adds"
        yield Figure(case=case, measure=measure, value=ours / theirs, unit="x", goal=SHARE_OF_LITELLM)


def throughput(*, case: str, rates: Mapping[str, Rate], valkey_cpu_s: float) -> Iterator[Figure]:
    """Tell how many calls come through, and what each takes of a core."""
    floor = Floor(what=STRAIGHT, value=rates[DIRECT].per_s)
    for name, rate in rates.items():
        if name != DIRECT:
            goal = CALLS_GOAL_PER_S if name == KUBEMOOT else None
            yield Figure(
                case=case, measure=name, value=rate.per_s, unit="/s", goal=goal, better=Better.HIGHER, floor=floor
            )
    nginx = Floor(what=NGINX_CPU, value=rates[NGINX].cpu_us) if NGINX in rates else None
    for name, rate in rates.items():
        if name not in (DIRECT, NGINX):
            goal = US / CALLS_GOAL_PER_S if name == KUBEMOOT else None
            measure = f"CPU of {name}"
            yield Figure(case=case, measure=measure, value=rate.cpu_us, unit="us each", goal=goal, floor=nginx)
    valkey_us = valkey_cpu_s / max(rates[KUBEMOOT].count, 1) * US
    yield Figure(case=case, measure="CPU of Valkey", value=valkey_us, unit="us each")
    if LITELLM in rates:
        yield Figure(
            case=case,
            measure=f"{KUBEMOOT}'s calls to {LITELLM}'s",
            value=rates[KUBEMOOT].per_s / rates[LITELLM].per_s,
            unit="x",
            goal=TIMES_LITELLM,
            better=Better.HIGHER,
        )


def chunks(*, case: str, rates: Mapping[str, Rate]) -> Iterator[Figure]:
    """Tell how many pieces of streams a core passes on."""
    nginx = Floor(what=NGINX_CPU, value=rates[NGINX].per_core_s) if NGINX in rates else None
    for name, rate in rates.items():
        if name != NGINX:
            yield Figure(
                case=case,
                measure=f"{name}, per core",
                value=rate.per_core_s,
                unit="/s",
                goal=CHUNKS_GOAL_PER_S if name == KUBEMOOT else None,
                better=Better.HIGHER,
                floor=nginx,
            )


def streams(
    *, case: str, late_ms: Sequence[float], direct_ms: Sequence[float], pause_ms: float, spoilt: int, kib: float
) -> Iterator[Figure]:
    """Tell how many streams were not all there, how late pieces were, and what an open stream holds."""
    yield Figure(case=case, measure="with a piece lost or swapped", value=spoilt, unit="", goal=0)
    late = sum(each > pause_ms for each in late_ms)
    yield Figure(case=case, measure="pieces later than the next was sent", value=late, unit="", goal=0)
    for measure, share in (("median", 0.5), ("p99", 0.99)):
        floor = Floor(what=STRAIGHT, value=percentile(direct_ms, share))
        value = percentile(late_ms, share)
        yield Figure(case=case, measure=f"on the way, {measure}", value=value, unit="ms", floor=floor)
    yield Figure(case=case, measure="memory of each", value=kib, unit="KiB", goal=STREAM_GOAL_KIB)


def leaving(*, case: str, took_ms: Sequence[float]) -> Iterator[Figure]:
    """Tell when the slot of a client that left is free."""
    for measure, share, goal in (("median", 0.5, None), ("p99", 0.99, LEAVER_GOAL_MS)):
        yield Figure(case=case, measure=f"slot free, {measure}", value=percentile(took_ms, share), unit="ms", goal=goal)


def left_out(missing: Mapping[str, str]) -> Iterator[Figure]:
    """Name whoever could not take part, and why."""
    for name, why in missing.items():
        yield Figure(case=name, measure=why, value=None, unit="")
