"""The fleet that the race is about: four small servers, four models, short leases, and engines that are sets in Redis.

An engine holds what was really loaded. It counts each moment at which that is more than its memory.
"""

from typing import Any

from redis import Redis as SyncRedis
from redis.asyncio import Redis

from providers.core.specs import ResourceGroup
from scheduler.core.config import SchedulerConfig
from scheduler.core.ledger import ServerConfig

SIZES = {"a": 15, "b": 20, "c": 25, "d": 40}
TOTAL = {"gpu-1": 60, "gpu-2": 60, "gpu-3": 45, "gpu-4": 45}
CONFIG = SchedulerConfig(
    ticket_lease_s=1.5, waiter_lease_s=4.0, runner_lease_s=1.0, plan_limit_s=2.0, intent_limit_s=2.0, load_block_s=0.1
)
LONGEST_LEASE_S = 4.0
KEY, KEY_LIMIT = "km-race", 2
"""A client key that callers of all processes share, and how many tickets it may hold."""
GROUP = ResourceGroup(name="bus", max_concurrent=2)
"""Two of the servers share a bus."""

LOAD = """
redis.call('SADD', KEYS[1], ARGV[1])
local sizes, held = cjson.decode(ARGV[2]), 0
for _, model in ipairs(redis.call('SMEMBERS', KEYS[1])) do held = held + sizes[model] end
if held > tonumber(ARGV[3]) then redis.call('INCR', KEYS[2]) end
return held
"""


def servers() -> list[ServerConfig]:
    """List the servers."""
    common = {"kind": "ollama", "reserve_mib": 0}
    more: dict[str, dict[str, Any]] = {
        "gpu-1": {"slots": 2},
        "gpu-2": {"slots": 2, "max_concurrent": 3, "interactive_reserve": 1},
        "gpu-3": {"slots": 1, "resource_group": GROUP},
        "gpu-4": {"slots": 1, "resource_group": GROUP},
    }
    return [ServerConfig(name=n, endpoint=n, total_mib=total, **common, **more[n]) for n, total in TOTAL.items()]


class Engines:
    """What the engines really hold."""

    def __init__(self, *, client: "Redis", name: str) -> None:
        self._client = client
        self._name = name

    async def load(self, *, server: str, model: str, sizes: str) -> None:
        """Bring a model into memory, whether there is room or not."""
        keys = (self._key(server), f"{self._name}:overfull")
        await self._client.eval(LOAD, 2, *keys, model, sizes, str(TOTAL[server]))  # type: ignore[misc]

    async def unload(self, *, server: str, model: str) -> None:
        """Put a model out."""
        await self._client.srem(self._key(server), model)  # type: ignore[misc]

    async def listed(self, *, server: str) -> list[str]:
        """Name what is in memory."""
        return sorted(model.decode() for model in await self._client.smembers(self._key(server)))  # type: ignore[misc]

    def _key(self, server: str) -> str:
        return f"{self._name}:engine:{server}"


def overfull(*, client: "SyncRedis", name: str) -> int:
    """Count the moments at which an engine held more than its memory."""
    return int(client.get(f"{name}:overfull") or 0)  # type: ignore[arg-type]
