"""`manage.py bench gateway`: what a call costs on its way through, beside others on the same way to the same engine.

House rules: whoever is compared is measured in turns within one run; engine and callers are processes of their own that
cost little; beside time on the wall stands time on the CPU, which a busy machine does not spoil.
"""

from argparse import ArgumentParser
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kubemoot_web.management.benches import gateway_figures as figures
from kubemoot_web.management.benches.apart import allow_many_files, apart, done_apart
from kubemoot_web.management.benches.contenders import DIRECT, KUBEMOOT, LITELLM, Contender, Field, contenders
from kubemoot_web.management.benches.fast_engine import fast_engine
from kubemoot_web.management.benches.figures import Figure, Progress
from kubemoot_web.management.benches.gateway_figures import Rate
from kubemoot_web.management.benches.http_callers import MS, at_a_pace, flat_out
from kubemoot_web.management.benches.http_streams import Heard, leave, listen
from kubemoot_web.management.benches.own_valkey import process_of
from kubemoot_web.management.benches.processes import cpu_seconds, family_cpu_seconds, resident_kib

PACE_PER_S = 50.0
TOKENS = 8
RELAYED_STREAMS = 100
RELAYED_PAUSE_MS = 20
OPEN_PAUSE_MS = 1000
LOOK_S = 0.1


class GatewayBench:
    """A call through the gateway, and what it costs."""

    name = "gateway"
    help = "Call an engine through the gateway, through nginx, a plain view and LiteLLM, and directly, in turns."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the arguments."""
        parser.add_argument("--seconds", type=float, default=3.0, help="how long each takes its turn (default: 3)")
        parser.add_argument("--rounds", type=int, default=3, help="how many turns each has (default: 3)")
        parser.add_argument("--callers", type=int, default=32, help="callers where calls are counted (default: 32)")
        parser.add_argument("--streams", type=int, default=1000, help="streams open at once (default: 1000)")
        parser.add_argument("--leavers", type=int, default=30, help="clients that leave in the middle (default: 30)")
        parser.add_argument(
            "--without-litellm", action="store_true", help="leave LiteLLM out: it is installed for the bench otherwise"
        )

    def run(self, *, options: Mapping[str, Any], progress: Progress) -> Sequence[Figure]:
        """Measure."""
        allow_many_files()
        has_litellm = not options["without_litellm"]
        with fast_engine() as engine, contenders(engine=engine, has_litellm=has_litellm, progress=progress) as field:
            return [
                *_calls(field=field, options=options, progress=progress),
                *_chunks(field=field, seconds=options["seconds"], progress=progress),
                *_streams(field=field, count=options["streams"], seconds=options["seconds"], progress=progress),
                *_leaving(field=field, times=options["leavers"], progress=progress),
                *figures.left_out(field.missing),
            ]


def _calls(*, field: Field, options: Mapping[str, Any], progress: Progress) -> Iterator[Figure]:
    """Measure calls at a pace and calls as fast as they come, everybody in turns."""
    seconds, callers = options["seconds"], options["callers"]
    samples: dict[str, list[float]] = defaultdict(list)
    rates: dict[str, Rate] = {}
    valkey, valkey_s = process_of(field.valkey), 0.0
    for turn in range(options["rounds"]):
        progress(f"Turn {turn + 1} of {options['rounds']}: {PACE_PER_S:g} calls/s, then {callers} callers ...")
        for each in field.contenders:
            samples[each.name] += done_apart(at_a_pace, each.target, PACE_PER_S, seconds, TOKENS)
        for each in field.contenders:
            used = cpu_seconds(valkey)
            rate = _flat_out(each, callers=callers, seconds=seconds)
            rates[each.name] = rates[each.name] + rate if each.name in rates else rate
            valkey_s += cpu_seconds(valkey) - used if each.name == KUBEMOOT else 0.0
    yield from figures.latency(case=f"{PACE_PER_S:g} calls/s", samples=samples)
    yield from figures.throughput(case=f"{callers} callers", rates=rates, valkey_cpu_s=valkey_s)


def _flat_out(contender: Contender, *, callers: int, seconds: float) -> Rate:
    used = _cpu(contender)
    count, took = done_apart(flat_out, contender.target, callers, seconds, TOKENS)
    return Rate(count=count, seconds=took, cpu_s=_cpu(contender) - used)


def _chunks(*, field: Field, seconds: float, progress: Progress) -> Iterator[Figure]:
    """Count the pieces that a core passes on. Each is sent on its own: in one packet many would cost what one does."""
    progress(f"{RELAYED_STREAMS} streams, a piece every {RELAYED_PAUSE_MS} ms on each ...")
    tokens = int(seconds * MS / RELAYED_PAUSE_MS)
    rates = {}
    for each in field.contenders:
        if each.name not in (DIRECT, LITELLM):  # which is far from keeping up: its pieces would come in packets
            used = _cpu(each)
            heard: Heard = done_apart(listen, each.target, RELAYED_STREAMS, tokens, RELAYED_PAUSE_MS)
            rates[each.name] = Rate(count=len(heard.late_ms), seconds=seconds, cpu_s=_cpu(each) - used)
    pace = RELAYED_STREAMS * MS / RELAYED_PAUSE_MS
    yield from figures.chunks(case=f"{pace:,.0f} pieces/s", rates=rates)


def _streams(*, field: Field, count: int, seconds: float, progress: Progress) -> Iterator[Figure]:
    """Keep many streams open, and look at every piece."""
    progress(f"{count:,} open streams, first to the engine, then through the gateway ...")
    tokens = max(2, int(3 * seconds * MS / OPEN_PAUSE_MS))
    direct: Heard = done_apart(listen, field[DIRECT].target, count, tokens, OPEN_PAUSE_MS)
    ours = field[KUBEMOOT]
    assert ours.pid is not None
    before = most = resident_kib(ours.pid)
    with apart(listen, ours.target, count, tokens, OPEN_PAUSE_MS) as listening:
        while not listening.is_done(within_s=LOOK_S):
            most = max(most, resident_kib(ours.pid))
        heard: Heard = listening.result()
    yield from figures.streams(
        case=f"{count:,} streams",
        late_ms=heard.late_ms,
        direct_ms=direct.late_ms,
        pause_ms=OPEN_PAUSE_MS,
        spoilt=heard.spoilt,
        kib=(most - before) / count,
    )


def _leaving(*, field: Field, times: int, progress: Progress) -> Iterator[Figure]:
    """Leave in the middle of a stream, and see when the ledger has the slot back."""
    progress(f"{times} clients that leave in the middle ...")
    took = done_apart(leave, field[KUBEMOOT].target, field.valkey, times)
    yield from figures.leaving(case="a client that leaves", took_ms=took)


def _cpu(contender: Contender) -> float:
    return 0.0 if contender.pid is None else family_cpu_seconds(contender.pid)
