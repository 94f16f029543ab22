"""The CustomResourceDefinitions of all kinds, made from the schemas. Pure.

A CRD wants a *structural* schema: no references, no unions, every field typed; what pydantic writes is brought into
that form here. A cluster fills in defaults and checks types; the finer rules are checked when Kubemoot reads an object.
"""

from collections.abc import Mapping
from typing import Any

from kubemoot_web.crds.kinds import GROUP, KINDS, VERSION, Kind
from kubemoot_web.crds.schemas import SPECS

KEPT = ("type", "description", "default", "enum", "minimum", "maximum", "minLength", "maxLength", "minItems")
FREE = {"x-kubernetes-preserve-unknown-fields": True}
COLUMNS: Mapping[str, tuple[tuple[str, str, str], ...]] = {
    "ModelServer": (("Type", "string", ".spec.type"), ("Phase", "string", ".status.phase")),
    "Model": (("Model", "string", ".spec.model"), ("State", "string", ".status.state")),
    "Crew": (("Agents", "integer", ".status.agentCount"), ("Phase", "string", ".status.phase")),
    "Agent": (("Role", "string", ".spec.discussRole"), ("Phase", "string", ".status.phase")),
    "CrewSchedulingPolicy": (("Crew", "string", ".spec.crewRef"), ("Error", "string", ".status.validationError")),
}


def definitions() -> list[dict[str, Any]]:
    """Make the CRD of every kind."""
    return [definition(kind) for kind in KINDS]


def definition(kind: Kind) -> dict[str, Any]:
    """Make the CRD of one kind."""
    schema = SPECS[kind.name].model_json_schema(by_alias=True)
    spec = structural(schema, definitions=schema.get("$defs", {}))
    body: dict[str, Any] = {
        "type": "object",
        "required": ["spec"],
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"type": "object"},
            "spec": spec,
            "status": {"type": "object", **FREE},
        },
    }
    version: dict[str, Any] = {
        "name": VERSION,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": body},
        "subresources": {"status": {}},
    }
    if kind.name in COLUMNS:
        columns = [{"name": name, "type": type, "jsonPath": path} for name, type, path in COLUMNS[kind.name]]
        version["additionalPrinterColumns"] = columns
    names: dict[str, Any] = {
        "kind": kind.name,
        "listKind": f"{kind.name}List",
        "plural": kind.plural,
        "singular": kind.singular,
    }
    short = [name for name in kind.short if name != kind.singular]
    if short:
        names["shortNames"] = short
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{kind.plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced" if kind.namespaced else "Cluster",
            "names": names,
            "versions": [version],
        },
    }


def structural(schema: Mapping[str, Any], *, definitions: Mapping[str, Any]) -> dict[str, Any]:
    """Bring a JSON schema into the structural form."""
    schema = _resolved(schema, definitions)
    made = {key: schema[key] for key in KEPT if key in schema}
    if "const" in schema:
        made["enum"] = [schema["const"]]
    if "exclusiveMinimum" in schema:
        made |= {"minimum": schema["exclusiveMinimum"], "exclusiveMinimum": True}
    if "type" not in schema:
        return {**made, **FREE}
    if schema["type"] == "array":
        made["items"] = structural(schema["items"], definitions=definitions)
    if "properties" in schema:
        made["properties"] = {
            name: structural(field, definitions=definitions) for name, field in schema["properties"].items()
        }
        if schema.get("required"):
            made["required"] = list(schema["required"])
    elif schema["type"] == "object":
        values = schema.get("additionalProperties")
        made |= (
            {"additionalProperties": structural(values, definitions=definitions)} if isinstance(values, dict) else FREE
        )
    return made


def _resolved(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> dict[str, Any]:
    """Follow references, and drop the null of an optional field: a CRD's field may simply be left out."""
    resolved = dict(schema)
    options = [option for option in schema.get("anyOf", ()) if option.get("type") != "null"]
    inner = options[0] if len(options) == 1 else None
    if "$ref" in schema:
        inner = definitions[schema["$ref"].rpartition("/")[2]]
    if inner is not None:
        resolved = {**_resolved(inner, definitions), **{key: schema[key] for key in KEPT if key in schema}}
    if resolved.get("default", ...) is None:
        del resolved["default"]
    return resolved
