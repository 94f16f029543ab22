"""What clients list: models and agents, in both dialects, from this process's own picture. No engine is asked.

Beside what each dialect prescribes, a model says `status` (loaded, loading, unloaded) and on which `servers` it is.
"""

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from kubemoot_web.gateway.wanted import AGENT
from providers.core.model_names import DEFAULT_TAG, normalise
from providers.core.naming import agent_name, split_agent_name
from providers.core.types import EngineKind
from scheduler.core.ledger import ServerRecord
from scheduler.core.types import LoadUnderWay

OWNER = "kubemoot"
ARCHITECTURE = "unknown"
"""Clients look for a model's context length under the name of its architecture."""
LAST_RESORT_VERSION = "0.12.0"
"""Where no engine said its own: clients switch features off for one that is missing or very low."""
FAR_AHEAD = "2100-01-01T00:00:00.000000+00:00"
"""A date for what nobody unloads by the clock, one that every client's parser reads."""
LONG_AGO = "2026-01-01T00:00:00.000000+00:00"
CREATED = 1_767_225_600
"""The same moment in Unix time: engines do not say when a model was made."""
MIB = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """A name that a call may give as its model. `servers` are those that have it in memory, else on disk."""

    name: str
    status: str
    servers: tuple[str, ...]
    size_mib: int | None = None
    context_length: int | None = None
    is_agent: bool = False


def listed_models(
    *,
    servers: Mapping[str, ServerRecord],
    loads: Collection[LoadUnderWay],
    registered: Collection[str],
    footprints: Mapping[str, int | None],
) -> tuple[Listed, ...]:
    """List every model that is registered, in memory or on a disk, by name; warm and cold."""
    warm: dict[str, list[str]] = {}
    cold: dict[str, list[str]] = {}
    contexts: dict[str, int] = {}
    for name, server in sorted(servers.items()):
        for copy in server.seen.residents:
            for model in copy.names:
                warm.setdefault(model, []).append(name)
                if copy.context_length is not None:
                    contexts.setdefault(model, copy.context_length)
        for model in server.seen.models or ():
            cold.setdefault(model, []).append(name)
    loading: dict[str, list[str]] = {}
    for load in loads:
        loading.setdefault(load.model, []).append(load.server)
    return tuple(
        Listed(
            name=model,
            status="loaded" if model in warm else "loading" if model in loading else "unloaded",
            servers=tuple(warm.get(model) or loading.get(model) or cold.get(model) or ()),
            size_mib=footprints.get(model),
            context_length=contexts.get(model),
        )
        for model in sorted({*warm, *cold, *loading, *registered})
    )


def listed_agents(names: Collection[str]) -> tuple[Listed, ...]:
    """List agents by the names that calls give them."""
    return tuple(Listed(name=f"{AGENT}{name}", status="agent", servers=(), is_agent=True) for name in sorted(names))


def listed_one(*, name: str, listed: Collection[Listed]) -> Listed | None:
    """Find what a call names so: with or without a tag or namespace, and a model in whichever case, it is one thing."""
    called = _listed_as(name)
    exact = next((one for one in listed if one.name in (name, called)), None)
    if exact is not None:
        return exact
    return next((one for one in listed if not one.is_agent and one.name.casefold() == called.casefold()), None)


def _listed_as(name: str) -> str:
    if name.startswith(AGENT):
        namespace, bare = split_agent_name(name.removeprefix(AGENT).removesuffix(DEFAULT_TAG))
        return f"{AGENT}{agent_name(namespace=namespace, name=bare)}"
    return normalise(kind=EngineKind.OLLAMA, name=name)


def openai_model(one: Listed) -> dict[str, Any]:
    """Write one name as OpenAI does."""
    return {
        "id": one.name,
        "object": "model",
        "created": CREATED,
        "owned_by": OWNER,
        "status": one.status,
        "servers": list(one.servers),
    }


def openai_list(listed: Collection[Listed]) -> dict[str, Any]:
    """Write the list as OpenAI does."""
    return {"object": "list", "data": [openai_model(one) for one in listed]}


def ollama_tags(listed: Collection[Listed]) -> dict[str, Any]:
    """Write what is on the disks as Ollama does."""
    return {"models": [_ollama_model(one) for one in listed]}


def ollama_ps(listed: Collection[Listed]) -> dict[str, Any]:
    """Write what is in memory as Ollama does."""
    return {
        "models": [
            _ollama_model(one)
            | {
                "expires_at": FAR_AHEAD,
                "size_vram": (one.size_mib or 0) * MIB,
                "context_length": one.context_length or 0,
            }
            for one in listed
            if one.status == "loaded"
        ]
    }


def ollama_version(servers: Collection[ServerRecord]) -> dict[str, str]:
    """Give the lowest version of the Ollama servers: what a client may rely on wherever its call runs."""
    versions = [
        server.seen.version
        for server in servers
        if server.seen.ready and server.seen.version and server.config.kind == EngineKind.OLLAMA
    ]
    return {"version": min(versions, key=_parts, default=LAST_RESORT_VERSION)}


def ollama_show(*, servers: Collection[ServerRecord], model: str) -> dict[str, Any] | None:
    """Describe a model that only engines have which are not asked such a thing; None where none that is ready has it.

    What the model can do is not known here: its engine refuses in words of its own what it cannot.
    """
    others = (server for server in servers if server.seen.ready and server.config.kind != EngineKind.OLLAMA)
    having = [server for server in others if _has(server, model)]
    if not having:
        return None
    copies = (copy for server in having for copy in server.seen.residents if model in copy.names)
    context = next((copy.context_length for copy in copies if copy.context_length), None)
    return {
        "details": _details(),
        "model_info": {"general.architecture": ARCHITECTURE}
        | ({} if context is None else {f"{ARCHITECTURE}.context_length": context}),
        "capabilities": ["completion", "tools"],
        "parameters": "",
        "template": "",
    }


def _has(server: ServerRecord, model: str) -> bool:
    return model in (server.seen.models or ()) or any(model in copy.names for copy in server.seen.residents)


def _ollama_model(one: Listed) -> dict[str, Any]:
    """Write one name. Clients want a digest, and that it stays; the engines' own differ by server."""
    name = one.name if one.is_agent else _tagged(one.name)
    return {
        "name": name,
        "model": name,
        "modified_at": LONG_AGO,
        "size": (one.size_mib or 0) * MIB,
        "digest": hashlib.sha256(one.name.encode()).hexdigest(),
        "details": _details(),
        "status": one.status,
        "servers": list(one.servers),
    }


def _details() -> dict[str, Any]:
    return {
        "parent_model": "",
        "format": "gguf",
        "family": "",
        "families": [],
        "parameter_size": "",
        "quantization_level": "",
    }


def _tagged(model: str) -> str:
    """Write a model's name as Ollama lists it: some clients look for a name with its tag, none for one without."""
    return model if ":" in model.rpartition("/")[2] else f"{model}{DEFAULT_TAG}"


def _parts(version: str) -> tuple[int, ...]:
    """Order versions by their numbers; what is none counts as nothing."""
    return tuple(int(part) if part.isdigit() else 0 for part in version.split("-")[0].split("."))
