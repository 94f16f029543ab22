"""Writes model servers that were found on this machine as a file that can be applied."""

from typing import Any

import yaml

from kubemoot_web.crds.kinds import API_VERSION
from kubemoot_web.crds.names import object_name
from providers.services.discovery import Found


def manifest(found: tuple[Found, ...]) -> str:
    """Write what was found as resources: a ModelServer for each, and its models."""
    servers = [
        _document("ModelServer", server.kind.value, {"type": server.kind.value, "endpoint": server.endpoint})
        for server in found
    ]
    names = {object_name(model): model for server in found for model in server.models}
    models = [_document("Model", name, {"model": model}) for name, model in names.items()]
    return yaml.safe_dump_all([*servers, *models], sort_keys=False)


def _document(kind: str, name: str, spec: dict[str, str]) -> dict[str, Any]:
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": {"name": name}, "spec": spec}
