"""What a simulated machine can do, and what it has in memory from its start."""

from dataclasses import dataclass

from providers.simulator.catalog import SimulatedModel, by_weights
from providers.simulator.kinds import ServerKind


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineConfig:
    """What the machine can do. `speed` makes loads and answers so many times faster; keep-alives stay as written.

    `context_length` is what one slot has; at Ollama a call may ask for another. With an `api_key` all but what tells
    its health wants that key.
    """

    memory_mib: int
    models: dict[str, SimulatedModel]
    slots: int = 1
    max_queue: int = 512
    load_mib_per_s: float = 1024.0
    tokens_per_s: float = 40.0
    prompt_tokens_per_s: float = 2000.0
    answer_tokens: int = 48
    unload_s: float = 0.2
    keep_alive_s: float = 300.0
    context_length: int = 4096
    version: str = "0.12.0"
    speed: float = 1.0
    api_key: str = ""
    kind: ServerKind = ServerKind.OLLAMA


def residents(config: EngineConfig) -> tuple[SimulatedModel, ...]:
    """List what is in memory from the start. vLLM lets nothing run from host memory: all of it must fit the card.

    Raises:
        ValueError: there is nothing that it could serve, or not enough memory.
    """
    if not config.kind.never_loads:
        return ()
    if not config.models:
        raise ValueError(f"a server of the kind {config.kind} has a model in memory from its start: name one")
    models = tuple(first for first, *_ in by_weights(config.models).values())
    if config.kind is ServerKind.LLAMACPP_SINGLE:
        return models[:1]
    needed_mib = sum(model.footprint_mib for model in models)
    if needed_mib > config.memory_mib:
        raise ValueError(
            f"a server of the kind {config.kind} has all its models in memory from its start: they take "
            f"{needed_mib} MiB, and it has {config.memory_mib} MiB; name fewer models or give it more memory"
        )
    return models
