"""What each way to a place costs, in seconds (scheduling rules, section 3)."""

from collections.abc import Sequence

from scheduler.core.placement.eviction import Victim
from scheduler.core.snapshot import Server

UNUSED_ROOM_S = 2.0
FAILURE_S = 60.0
SECOND_COPY_CALLS = 2
UNLOAD_S = 1.0


def load_cost(*, server: Server, footprint_mib: int, is_second_copy: bool) -> float:
    """Price a load into free memory: its time, the room it leaves unused, the risk, and a second copy's price."""
    assert server.usable_mib is not None
    unused = UNUSED_ROOM_S * (server.usable_mib - footprint_mib) / server.usable_mib
    second = SECOND_COPY_CALLS * server.call_seconds if is_second_copy else 0.0
    return server.load_seconds(footprint_mib) + unused + FAILURE_S * server.failure_rate + second


def evict_cost(*, server: Server, footprint_mib: int, victims: Sequence[Victim]) -> float:
    """Price a load that unloads first: its time, each victim's likely reload, the risk."""
    unloads = sum(UNLOAD_S + server.load_seconds(v.footprint_mib) * v.need.again_soon for v in victims)
    return server.load_seconds(footprint_mib) + unloads + FAILURE_S * server.failure_rate
