"""The server software that a simulated server can be."""

from enum import StrEnum


class ServerKind(StrEnum):
    """What a simulated server speaks, and who brings models into its memory.

    Ollama loads what is called. The router of llama.cpp loads what it is told to, and nothing else. A llama.cpp server
    of one model, and vLLM, have everything in memory from their start.
    """

    OLLAMA = "ollama"
    LLAMACPP = "llamacpp"
    LLAMACPP_SINGLE = "llamacpp-single"
    VLLM = "vllm"

    @property
    def loads_by_itself(self) -> bool:
        """Say whether a call for a model that is not in memory loads it, and evicts others to make room."""
        return self is ServerKind.OLLAMA

    @property
    def never_loads(self) -> bool:
        """Say whether its memory is as it was at its start for ever."""
        return self in (ServerKind.LLAMACPP_SINGLE, ServerKind.VLLM)
