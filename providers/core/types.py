"""Values that describe model servers and what they said. MiB and Unix seconds throughout."""

from dataclasses import dataclass
from enum import StrEnum


class EngineKind(StrEnum):
    """The server software behind an endpoint, as `ModelServer.spec.type` spells it."""

    OLLAMA = "ollama"
    VLLM = "vllm"
    LLAMACPP = "llamacpp"
    OPENAI = "openai"


TITLES = {
    EngineKind.OLLAMA: "Ollama",
    EngineKind.LLAMACPP: "llama.cpp",
    EngineKind.VLLM: "vLLM",
    EngineKind.OPENAI: "OpenAI-compatible",
}
"""The names by which people call them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedCopy:
    """One model that a server holds in memory now.

    `model` is the normalised identifier; `aliases` are further identifiers on the same server with the same digest.
    `footprint_mib` counts accelerator memory alone, None where the engine does not say; `host_mib` is what spilled into
    host memory.
    `expires_at` None means the engine keeps it until told otherwise.
    """

    model: str
    footprint_mib: int | None
    host_mib: int = 0
    digest: str | None = None
    context_length: int | None = None
    expires_at: float | None = None
    aliases: tuple[str, ...] = ()

    @property
    def is_spilling(self) -> bool:
        """Say whether part of the model runs from host memory."""
        return self.host_mib > 0


@dataclass(frozen=True, slots=True, kw_only=True)
class AvailableModel:
    """One model on a server's disk. `size_mib` is the file's size, not what it takes when loaded."""

    model: str
    size_mib: int | None = None
    digest: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """What a server said in one probe. None means that it did not say, never zero.

    `slots` is how many calls it answers at once.
    """

    loaded: tuple[LoadedCopy, ...]
    available: tuple[AvailableModel, ...] | None
    version: str | None = None
    slots: int | None = None
