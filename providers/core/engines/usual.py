"""Where engines usually listen, and how each is known: by an answer that only it gives."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from providers.core.types import EngineKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Usual:
    """An engine's usual port, the path that tells it from others, and the path that lists its models.

    What is asked of answers reads decoded JSON; whatever it stumbles over is the answer of another program.
    """

    kind: EngineKind
    port: int
    path: str
    is_it: Callable[[Any], bool]
    models_path: str
    models_of: Callable[[Any], list[str]]
    can_load: Callable[[Any], bool]
    slots_of: Callable[[Any], int | None] = lambda _: None


def _ollama_models(answer: Any) -> list[str]:
    return [str(model["name"]) for model in answer["models"]]


def _openai_models(answer: Any) -> list[str]:
    return [str(model["id"]) for model in answer["data"]]


USUAL = (
    Usual(
        kind=EngineKind.OLLAMA,
        port=11434,
        path="/api/version",
        is_it=lambda answer: "version" in answer,
        models_path="/api/tags",
        models_of=_ollama_models,
        can_load=lambda _: True,
    ),
    Usual(
        kind=EngineKind.LLAMACPP,
        port=8080,
        path="/props",
        is_it=lambda answer: "total_slots" in answer or answer["role"] == "router",
        models_path="/v1/models",
        models_of=_openai_models,
        can_load=lambda answer: "total_slots" not in answer,
        slots_of=lambda answer: int(answer["total_slots"]) if "total_slots" in answer else None,
    ),
    Usual(
        kind=EngineKind.VLLM,
        port=8000,
        path="/v1/models",
        is_it=lambda answer: any(model["owned_by"] == "vllm" for model in answer["data"]),
        models_path="/v1/models",
        models_of=_openai_models,
        can_load=lambda _: False,
    ),
)
