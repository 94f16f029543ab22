"""Writes model servers that were found on this machine as a file that can be applied."""

from typing import Any

import yaml

from kubemoot_web.crds.kinds import API_VERSION
from kubemoot_web.crds.names import object_name
from providers.core.suggestions import suggest
from providers.services.discovery import Found

FIRST = """\
# What answers on this machine. Under spec of each ModelServer say how much memory its GPUs have, in MiB (nvidia-smi
# prints it as memory.total): nothing is loaded on a server without it. A router of llama.cpp does not tell sizes: there
# each Model needs its vramMib too.
#   scheduling: {memoryMiB: 24576}
"""


def manifest(found: tuple[Found, ...]) -> str:
    """Write what was found as resources: a ModelServer for each, and its models with the labels they suggest."""
    servers = [_document("ModelServer", server.kind.value, _spec(server)) for server in found]
    names = {object_name(model): model for server in found for model in server.models}
    models = [_document("Model", name, {"model": model}, labels=_labels(model)) for name, model in names.items()]
    return FIRST + yaml.safe_dump_all([*servers, *models], sort_keys=False)


def _spec(server: Found) -> dict[str, Any]:
    spec: dict[str, Any] = {"type": server.kind.value, "endpoint": server.endpoint}
    return spec if server.slots is None else spec | {"scheduling": {"maxParallel": server.slots}}


def _labels(model: str) -> dict[str, str]:
    guess = suggest(model=model, size_mib=None)
    labels = {"family": guess.family, "params": guess.params, "latencyClass": guess.latency_class}
    return {name: value for name, value in labels.items() if value}


def _document(kind: str, name: str, spec: dict[str, Any], *, labels: dict[str, str] | None = None) -> dict[str, Any]:
    metadata = {"name": name, "labels": labels} if labels else {"name": name}
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": metadata, "spec": spec}
