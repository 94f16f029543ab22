"""Measurements in the text form that Prometheus reads."""

from collections.abc import Mapping
from dataclasses import dataclass

KIND = "text/plain; version=0.0.4"


@dataclass(frozen=True, slots=True, kw_only=True)
class Gauge:
    """One number of a server, or one for each set of labels, which are written already."""

    name: str
    about: str
    values: Mapping[str, float]


def labels(**values: str) -> str:
    """Write labels; what would end a value early is escaped."""
    pairs = [f'{name}="{_escaped(value)}"' for name, value in values.items()]
    return "{" + ",".join(pairs) + "}"


def written(*gauges: Gauge) -> bytes:
    """Write gauges, each with its meaning and its type before its values."""
    lines = []
    for gauge in gauges:
        lines += [f"# HELP {gauge.name} {gauge.about}", f"# TYPE {gauge.name} gauge"]
        lines += [f"{gauge.name}{label} {value}" for label, value in gauge.values.items()]
    return "\n".join([*lines, ""]).encode()


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
