"""What a model's name and size suggest about it: guesses that a person sees and mends before they count."""

import re
from dataclasses import dataclass

from providers.core.footprint import estimate_mib

PARAMS = re.compile(r"(?<![a-z0-9.])(?:(\d+)x)?(\d+(?:\.\d+)?)([bm])(?![a-z0-9])")
NOT_IN_LABELS = re.compile(r"[^a-z0-9_.-]+")

SMALL_B, LARGE_B = 10, 25
SMALL_MIB, LARGE_MIB = 8 * 1024, 17 * 1024
CAPABILITIES = (
    ("coding", ("coder", "codellama", "codestral", "devstral", "starcoder", "codegemma")),
    ("vision", ("vision", "llava", "-vl", "moondream", "minicpm-v")),
    ("embedding", ("embed", "bge-", "minilm", "arctic-embed")),
    ("reasoning", ("deepseek-r1", "qwq", "gpt-oss", "thinking", "reason", "magistral")),
    ("math", ("math",)),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestion:
    """Labels for a model as they would be written, and the memory it should take; None or empty: no idea."""

    family: str
    params: str
    latency_class: str
    capabilities: tuple[str, ...]
    vram_mib: int | None


def suggest(*, model: str, size_mib: int | None) -> Suggestion:
    """Guess what kind of model this is."""
    name, _, tag = model.lower().rpartition("/")[2].partition(":")
    in_name = PARAMS.search(name)
    found = PARAMS.search(tag) or in_name
    family = name[: in_name.start()] if in_name and in_name.start() else name
    return Suggestion(
        family=NOT_IN_LABELS.sub("-", family).strip("-._")[:63].rstrip("-._"),
        params=found[0] if found else "",
        latency_class=_latency_class(billions=_billions(found) if found else None, size_mib=size_mib),
        capabilities=tuple(
            capability for capability, marks in CAPABILITIES if any(mark in model.lower() for mark in marks)
        ),
        vram_mib=None if size_mib is None else estimate_mib(size_mib=size_mib),
    )


def _billions(found: re.Match[str]) -> float:
    experts, size, unit = found.groups()
    return int(experts or 1) * float(size) / (1 if unit == "b" else 1000)


def _latency_class(*, billions: float | None, size_mib: int | None) -> str:
    """Small models are quick, large ones take their time; between them is the middle."""
    value, small, large = (billions, SMALL_B, LARGE_B) if billions is not None else (size_mib, SMALL_MIB, LARGE_MIB)
    if value is None:
        return ""
    return "low" if value < small else "medium" if value < large else "high"
