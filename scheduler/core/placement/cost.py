"""What unloading and then loading costs, in seconds (scheduling rules, section 3)."""

from collections.abc import Sequence

from scheduler.core.placement.eviction import Victim
from scheduler.core.prices import FAILURE_S
from scheduler.core.snapshot import Server

UNLOAD_S = 1.0


def evict_cost(*, server: Server, footprint_mib: int, victims: Sequence[Victim]) -> float:
    """Price a load that unloads first: its time, each victim's likely reload, the risk."""
    if len(victims) == 1:
        # Mostly so.
        (one,) = victims
        unloads = UNLOAD_S + server.load_seconds(one.footprint_mib) * one.need.again_soon
        return server.load_seconds(footprint_mib) + unloads + FAILURE_S * server.failure_rate
    unloads = sum(UNLOAD_S + server.load_seconds(v.footprint_mib) * v.need.again_soon for v in victims)
    return server.load_seconds(footprint_mib) + unloads + FAILURE_S * server.failure_rate
