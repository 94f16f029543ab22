"""Looks for model servers on this machine's usual ports, and writes what it finds as a file that can be applied."""

import asyncio
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from kubemoot_web.crds.kinds import API_VERSION
from kubemoot_web.management.http_json import exchange

PATIENCE_S = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Usual:
    """Where an engine usually listens, and how it is known: a path that only this engine answers so."""

    kind: str
    title: str
    port: int
    path: str
    is_it: Callable[[Any], bool]
    models_path: str
    models_of: Callable[[Any], list[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A model server that answered."""

    kind: str
    title: str
    endpoint: str
    models: tuple[str, ...]


def _ollama_models(answer: Any) -> list[str]:
    return [str(model["name"]) for model in answer["models"]]


def _openai_models(answer: Any) -> list[str]:
    return [str(model["id"]) for model in answer["data"]]


USUAL = (
    Usual(
        kind="ollama",
        title="Ollama",
        port=11434,
        path="/api/version",
        is_it=lambda answer: "version" in answer,
        models_path="/api/tags",
        models_of=_ollama_models,
    ),
    Usual(
        kind="llamacpp",
        title="llama.cpp",
        port=8080,
        path="/props",
        is_it=lambda answer: "total_slots" in answer,
        models_path="/v1/models",
        models_of=_openai_models,
    ),
    Usual(
        kind="vllm",
        title="vLLM",
        port=8000,
        path="/v1/models",
        is_it=lambda answer: any(model["owned_by"] == "vllm" for model in answer["data"]),
        models_path="/v1/models",
        models_of=_openai_models,
    ),
)


async def look_around(*, ports: Mapping[str, int] | None = None, own_port: int | None = None) -> tuple[Found, ...]:
    """Ask the usual ports of this machine, all at once. `ports` replaces the usual port of a kind."""
    wanted = [(usual, (ports or {}).get(usual.kind, usual.port)) for usual in USUAL]
    asked = await asyncio.gather(*(_ask(usual, port) for usual, port in wanted if port != own_port))
    return tuple(found for found in asked if found is not None)


async def _ask(usual: Usual, port: int) -> Found | None:
    """Ask one port; whatever is no such engine is nothing."""
    endpoint = f"http://127.0.0.1:{port}"
    try:
        status, answer = await exchange(method="GET", url=endpoint + usual.path, timeout_s=PATIENCE_S)
        if status != 200 or not usual.is_it(answer):
            return None
        _, listed = await exchange(method="GET", url=endpoint + usual.models_path, timeout_s=PATIENCE_S)
        models = tuple(dict.fromkeys(usual.models_of(listed)))
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return Found(kind=usual.kind, title=usual.title, endpoint=endpoint, models=models)


def manifest(found: tuple[Found, ...]) -> str:
    """Write what was found as resources: a ModelServer for each, and its models."""
    servers = [
        _document("ModelServer", server.kind, {"type": server.kind, "endpoint": server.endpoint}) for server in found
    ]
    models = {_name(model): _document("Model", _name(model), {"model": model}) for s in found for model in s.models}
    return yaml.safe_dump_all([*servers, *models.values()], sort_keys=False)


def _document(kind: str, name: str, spec: dict[str, str]) -> dict[str, Any]:
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": {"name": name}, "spec": spec}


def _name(model: str) -> str:
    """Make a resource's name of a model's identifier."""
    return re.sub(r"[^a-z0-9]+", "-", model.lower()).strip("-")[:63].rstrip("-") or "model"
