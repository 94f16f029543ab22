"""One spelling per model identifier, so that names from files, calls and engines meet.

The shortest spelling is the canonical one: `qwen3` for `qwen3:latest`, `qwen3:8b` for `library/qwen3:8b`.
A name from another registry keeps its host: `hf.co/acme/Tiny-GGUF` is not the library's `Tiny-GGUF`.
"""

from providers.core.types import EngineKind

DEFAULT_REGISTRY = "registry.ollama.ai/"
DEFAULT_LIBRARY = "library/"
DEFAULT_TAG = ":latest"


def normalise(*, kind: EngineKind, name: str) -> str:
    """Give the canonical spelling of a model identifier; only Ollama has more than one."""
    name = name.strip()
    if kind is not EngineKind.OLLAMA:
        return name
    return name.removeprefix(DEFAULT_REGISTRY).removeprefix(DEFAULT_LIBRARY).removesuffix(DEFAULT_TAG)
