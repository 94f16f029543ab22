"""Ollama's wire forms: the lists, the dates, the keep-alive, the errors, the lines of an answer."""

import json
import re
from datetime import UTC, datetime, timedelta
from typing import Any

from providers.core.units import BYTES_PER_MIB
from providers.simulator.catalog import SimulatedModel, canonical
from providers.simulator.copies import Copy
from providers.simulator.engine import SimulatedEngine

FOR_EVER = timedelta(days=365 * 292)
DURATION = re.compile(r"([+-])?((?:\d+(?:\.\d*)?(?:ms|s|m|h))+)")
DURATION_PART = re.compile(r"(\d+(?:\.\d*)?)(ms|s|m|h)")
ERROR_KINDS = {400: "invalid_request_error", 404: "not_found_error"}
UNIT_S = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
WORDS = (
    "The",
    "cluster",
    "is",
    "busy",
    "so",
    "every",
    "answer",
    "takes",
    "its",
    "turn",
    "and",
    "comes",
    "word",
    "by",
    "word",
)


class WireError(Exception):
    """A request that is answered with an error."""

    def __init__(self, status: int, text: str, *, retry_after: int | None = None) -> None:
        """Keep the status, the text and when to come again."""
        super().__init__(text)
        self.status = status
        self.retry_after = retry_after


def openai_error(status: int, text: str) -> dict[str, Any]:
    """Write an error as OpenAI does."""
    kind = ERROR_KINDS.get(status, "api_error")
    return {"error": {"message": text, "type": kind, "param": None, "code": None}}


def parsed(body: bytes) -> dict[str, Any]:
    """Read the JSON object that a request consists of.

    Raises:
        WireError: 400, it is none.
    """
    try:
        value = json.loads(body or b"{}")
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise WireError(400, "the body is not a JSON object")
    return value


def keep_alive_seconds(value: Any) -> float | None:
    """Read a keep-alive: seconds as a number, or a duration with a unit. Below zero means for ever.

    Raises:
        WireError: 400, as for the text "-1", which has no unit.
    """
    if value is None:
        return None
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    match = DURATION.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise WireError(400, "keep_alive is no duration")
    seconds = sum(float(number) * UNIT_S[unit] for number, unit in DURATION_PART.findall(match[2]))
    return -seconds if match[1] == "-" else seconds


def name_in(body: dict[str, Any]) -> str:
    """Read the name of the model that a request wants.

    Raises:
        WireError: 400, there is none.
    """
    name = body.get("model") or body.get("name")
    if not isinstance(name, str) or not name:
        raise WireError(400, "model is required")
    return name


def find_model(engine: SimulatedEngine, body: dict[str, Any]) -> SimulatedModel:
    """Look up the model that a request names.

    Raises:
        WireError: 400 without a name, 404 for a model that is not on the disk.
    """
    name = name_in(body)
    model = engine.config.models.get(canonical(name))
    if model is None:
        raise WireError(404, f"model '{name}' not found")
    return model


def context_asked(body: dict[str, Any]) -> int | None:
    """Read the context size that a request asks for; leaving it out and sending 0 both mean the engine's default."""
    options = body.get("options")
    if not isinstance(options, dict):
        return None
    value = options.get("num_ctx")
    return value if isinstance(value, int) and value > 0 else None


def tags(engine: SimulatedEngine) -> dict[str, Any]:
    """List what is on the disk."""
    return {
        "models": [
            {
                **_identity(model),
                "modified_at": "2026-01-01T00:00:00.123456789Z",
                "size": model.size_mib * BYTES_PER_MIB,
            }
            for model in engine.config.models.values()
        ]
    }


def running(engine: SimulatedEngine) -> dict[str, Any]:
    """List what is in memory; a model that is still loading, or on its way out, is listed too."""
    return {"models": [_running_entry(engine, copy) for copy in engine.copies.values()]}


def show(model: SimulatedModel, *, context_length: int) -> dict[str, Any]:
    """Describe one model."""
    return {
        "details": _details(model),
        "capabilities": ["completion", "tools", "thinking"] if model.can_generate else ["embedding"],
        "model_info": {"general.architecture": "simulated", "simulated.context_length": context_length},
        "parameters": "",
        "template": "{{ .Prompt }}",
    }


def stamp(at: datetime) -> str:
    """Write a date with the nine fractional digits of the real engine."""
    return f"{at:%Y-%m-%dT%H:%M:%S}.{at.microsecond:06d}789Z"


def wall_clock() -> datetime:
    """Read the time of day."""
    return datetime.now(UTC)  # noqa: TID251 -- an engine has a clock of its own, and nothing of Kubemoot decides by this one


def head(name: str) -> dict[str, Any]:
    """Begin a line of an answer."""
    return {"model": name, "created_at": stamp(wall_clock())}


def word(number: int) -> str:
    """Give the text of one token. Each round of words ends with its number: some clients stop at endless repeats."""
    round_number, position = divmod(number, len(WORDS) + 1)
    return f"{round_number + 1}. " if position == len(WORDS) else f"{WORDS[position]} "


def inputs_in(body: dict[str, Any]) -> list[Any]:
    """List what is to be embedded: texts, or texts as lists of token numbers."""
    given = body.get("input")
    is_one = not isinstance(given, list) or (bool(given) and isinstance(given[0], int))
    return ([given] if given else []) if is_one else list(given or ())


def tokens_in(body: dict[str, Any]) -> int:
    """Count the tokens of a prompt, roughly: four characters each."""
    contents = [body.get("prompt"), body.get("system"), body.get("input")]
    contents += [m.get("content") for m in body.get("messages") or () if isinstance(m, dict)]
    return sum(_tokens(content) for content in contents)


def _tokens(content: Any) -> int:
    match content:
        case str():
            return len(content) // 4 + 1 if content else 0
        case int():
            return 1
        case list():
            return sum(_tokens(part) for part in content)
        case {"text": str(text)}:
            return _tokens(text)
        case _:
            return 0


def _running_entry(engine: SimulatedEngine, copy: Copy) -> dict[str, Any]:
    now = wall_clock()
    if copy.keep_alive_s < 0:
        expires = now + FOR_EVER
    elif copy.expiry is not None:
        expires = now + timedelta(seconds=copy.expiry.when() - engine.now())
    else:
        expires = now + timedelta(seconds=copy.keep_alive_s)
    entry = {
        **_identity(copy.model),
        "size": (copy.vram_mib + copy.host_mib) * BYTES_PER_MIB,
        "size_vram": copy.vram_mib * BYTES_PER_MIB,
        "expires_at": stamp(expires),
        "context_length": copy.num_ctx,
    }
    if copy.vram_mib == 0:
        del entry["size_vram"]
    return entry


def _identity(model: SimulatedModel) -> dict[str, Any]:
    return {
        "name": model.listed_name,
        "model": model.listed_name,
        "digest": model.digest,
        "details": _details(model),
    }


def _details(model: SimulatedModel) -> dict[str, Any]:
    return {"format": "gguf", "family": "simulated", "families": ["simulated"], "quantization_level": "Q4_K_M"}
