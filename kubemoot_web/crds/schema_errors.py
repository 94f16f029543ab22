"""What the schemas refuse, in words: the field's path and what to write instead."""

import re
from collections.abc import Iterator
from difflib import get_close_matches
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from kubemoot_web.crds import kinds
from kubemoot_web.crds.schemas import Schema

Path = tuple[str | int, ...]

PLAIN_STEP = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
MODEL_OR_SERVER = re.compile(r"model|server|provider|endpoint|llm|gpu|node", re.IGNORECASE)
AGENT_NAMES_NO_MODEL = (
    "an agent never names a model or a server: write what it can do in spec.capabilities, and let its crew's "
    "CrewSchedulingPolicy (qualityBias, rules) choose among the Models"
)


def field_text(path: Path) -> str:
    """Write a field's path the way Kubernetes does."""
    text = ""
    for step in path:
        if isinstance(step, int) or not PLAIN_STEP.fullmatch(step):
            text += f"[{step}]"
        else:
            text += f".{step}" if text else step
    return text


def problems(*, error: ValidationError, schema: type[Schema], kind: str, root: Path) -> Iterator[tuple[Path, str]]:
    """Turn what a schema refused into fields and sentences. `root` is where the schema's object stands."""
    for problem in error.errors(include_url=False):
        steps = problem["loc"]
        on_key = bool(steps) and steps[-1] == "[key]"
        path = steps[:-1] if on_key else steps
        yield (*root, *path), _sentence(problem, schema=schema, kind=kind, path=path)


def _sentence(problem: Any, *, schema: type[Schema], kind: str, path: Path) -> str:
    context = problem.get("ctx", {})
    match problem["type"]:
        case "extra_forbidden":
            return _unknown_field(schema=schema, kind=kind, path=path)
        case "missing":
            return "is required"
        case "value_error":
            return str(context["error"])
        case "literal_error":
            return f"must be one of {context['expected'].replace(chr(39), '')}"
        case "greater_than_equal":
            return f"must be {context['ge']} or more"
        case "greater_than":
            return f"must be more than {context['gt']}"
        case "less_than_equal":
            return f"must be {context['le']} or less"
        case "too_short":
            return "must not be empty"
        case "list_type":
            return "must be a list"
        case "dict_type" | "model_type" | "model_attributes_type":
            return "must be an object"
        case _:
            return str(problem["msg"])


def _unknown_field(*, schema: type[Schema], kind: str, path: Path) -> str:
    if kind == kinds.AGENT.name and MODEL_OR_SERVER.search(str(path[-1])):
        return AGENT_NAMES_NO_MODEL
    known = _fields_around(schema, path)
    close = get_close_matches(str(path[-1]), known, n=1, cutoff=0.7)
    hint = f"did you mean {close[0]}?" if close else f"known here: {', '.join(known)}"
    return f"is no field of {kind} {kinds.VERSION}; {hint}"


def _fields_around(schema: type[Schema], path: Path) -> list[str]:
    """List the fields of the object that a path's last step stands in."""
    here: Any = schema
    for step in path[:-1]:
        if isinstance(step, int):
            continue
        field = next((f for name, f in here.model_fields.items() if step in (name, f.alias)), None)
        inner = _model_in(field.annotation) if field is not None else None
        if inner is None:
            return []
        here = inner
    return [f.alias or name for name, f in here.model_fields.items() if f.annotation is not Any]


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for arg in get_args(annotation) if (found := _model_in(arg)) is not None), None)
