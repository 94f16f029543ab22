"""Read side: rows -> values. Synchronous; asynchronous callers wrap a function whole, so that it is one trip."""

from collections.abc import Collection, Mapping
from typing import Any

from providers.core.endpoint_aliases import canonical_key
from providers.core.endpoint_key import endpoint_base
from providers.core.model_names import normalise
from providers.core.naming import DEFAULT_NAMESPACE, bound_server, server_name, split_server_name
from providers.core.resource_groups import resource_group_of
from providers.core.specs import ModelSpec, ServerSpec
from providers.core.types import EngineKind
from providers.models import EndpointAlias, Model, ModelServer


def servers() -> tuple[ServerSpec, ...]:
    """List the registered servers by name."""
    return tuple(
        _server(namespace, name, spec)
        for namespace, name, spec in ModelServer.objects.values_list("namespace", "name", "spec")
    )


def endpoint_keys(*, servers: Collection[str]) -> dict[str, str]:
    """Map servers to the identity of their endpoint, those that are registered and have one; aliases are followed."""
    bare = {split_server_name(server)[1] for server in servers}
    rows = ModelServer.objects.filter(name__in=bare)
    keys = {
        server_name(namespace=namespace, name=name): key
        for namespace, name, key in rows.values_list("namespace", "name", "endpoint_key")
        if key is not None
    }
    known = endpoint_aliases() if keys else {}
    return {server: canonical_key(key=keys[server], aliases=known) for server in servers if server in keys}


def endpoint_aliases() -> dict[str, str]:
    """Map the identities that operators said are another one's to that one."""
    return dict(EndpointAlias.objects.values_list("alias_key", "canonical_key"))


def models() -> tuple[ModelSpec, ...]:
    """List the registered models, each with its canonical identifier."""
    kinds = {server.name: server.kind for server in servers()}
    return tuple(
        _model(namespace, name, labels, spec, kinds)
        for namespace, name, labels, spec in Model.objects.values_list("namespace", "name", "labels", "spec")
    )


def declared_footprints() -> dict[str, int]:
    """Map models to the memory they are declared to take, MiB; the greatest where objects of one model differ."""
    found: dict[str, int] = {}
    for model in models():
        if model.vram_mib is not None:
            found[model.model] = max(found.get(model.model, 0), model.vram_mib)
    return found


def _server(namespace: str, name: str, spec: Mapping[str, Any]) -> ServerSpec:
    scheduling = spec.get("scheduling", {})
    return ServerSpec(
        name=server_name(namespace=namespace, name=name),
        kind=EngineKind(spec["type"]),
        endpoint=endpoint_base(spec["endpoint"]),
        secret=_secret(namespace, spec.get("secretRef")),
        memory_mib=scheduling.get("memoryMiB"),
        reserve_mib=scheduling.get("reserveMiB"),
        weight=scheduling.get("weight", 100),
        max_parallel=scheduling.get("maxParallel"),
        context_length=scheduling.get("contextLength"),
        max_concurrent=scheduling.get("maxConcurrent"),
        interactive_reserve=scheduling.get("interactiveReserve", 0),
        resource_group=resource_group_of(namespace=namespace, spec=spec),
        call_timeout_s=scheduling.get("callTimeoutSeconds", 600),
        aborts_on_disconnect=scheduling.get("abortsOnDisconnect", True),
        quarantine_on_ambiguous=scheduling.get("quarantineOnAmbiguous", False),
        fail_mode=scheduling.get("failMode", "closed"),
        telemetry_url=spec.get("telemetry", {}).get("url"),
    )


def _secret(namespace: str, reference: Mapping[str, str] | None) -> str | None:
    if reference is None:
        return None
    named = f"{reference['name']}/{reference['key']}"
    return named if namespace == DEFAULT_NAMESPACE else f"{namespace}/{named}"


def _model(
    namespace: str, name: str, labels: Mapping[str, str], spec: Mapping[str, Any], kinds: Mapping[str, EngineKind]
) -> ModelSpec:
    server = bound_server(namespace=namespace, reference=spec.get("serverRef"))
    # An unbound model, or one whose server comes later, is read as Ollama would: it drops what only Ollama adds.
    kind = kinds.get(server, EngineKind.OLLAMA) if server is not None else EngineKind.OLLAMA
    return ModelSpec(
        name=f"{namespace}/{name}",
        model=normalise(kind=kind, name=spec["model"]),
        labels=labels,
        server=server,
        vram_mib=spec.get("vramMib"),
        context_length=spec.get("contextLength"),
    )
