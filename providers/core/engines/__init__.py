"""The one registry of engines: how each kind is driven."""

from collections.abc import Mapping

from providers.core.engines.base import Engine
from providers.core.engines.llamacpp import LlamaCppEngine
from providers.core.engines.ollama import OllamaEngine
from providers.core.engines.serving import OPENAI, VLLM
from providers.core.types import EngineKind

ENGINES: Mapping[EngineKind, Engine] = {
    EngineKind.OLLAMA: OllamaEngine(),
    EngineKind.VLLM: VLLM,
    EngineKind.LLAMACPP: LlamaCppEngine(),
    EngineKind.OPENAI: OPENAI,
}
