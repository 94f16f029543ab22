"""What operators registered, as values. Names are those of providers.core.naming; sizes MiB, times seconds."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from providers.core.types import EngineKind


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceGroup:
    """Servers that share something which slows them all down, and how many calls may run on all of them at once.

    Each of them names the same group with the same number. A group is named as servers are.
    """

    name: str
    max_concurrent: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSpec:
    """A registered server. `endpoint` is the base address that an engine's API paths are appended to.

    `secret` names the key that it wants: `name/key`, before it the namespace unless that is `default`.
    """

    name: str
    kind: EngineKind
    endpoint: str
    secret: str | None = None
    memory_mib: int | None = None
    reserve_mib: int | None = None
    weight: float = 100
    max_parallel: int | None = None
    context_length: int | None = None
    max_concurrent: int | None = None
    interactive_reserve: int = 0
    resource_group: ResourceGroup | None = None
    call_timeout_s: float = 600
    aborts_on_disconnect: bool = True
    quarantine_on_ambiguous: bool = False
    fail_mode: str = "closed"
    telemetry_url: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSpec:
    """A registered model. `model` is its canonical identifier; `server` the one it is bound to, if any."""

    name: str
    model: str
    labels: Mapping[str, str] = field(default_factory=dict)
    server: str | None = None
    vram_mib: int | None = None
    context_length: int | None = None
