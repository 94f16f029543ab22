"""The one registry of engines that Kubemoot drives.

A kind that is not in it is accepted as a resource and reported as not driven.
"""

from collections.abc import Mapping

from providers.core.engines.base import Engine
from providers.core.engines.ollama import OllamaEngine
from providers.core.types import EngineKind

ENGINES: Mapping[EngineKind, Engine] = {EngineKind.OLLAMA: OllamaEngine()}
