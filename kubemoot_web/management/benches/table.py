"""A bench's figures as a table for people and as JSON for programs."""

from collections.abc import Sequence
from typing import Any

from kubemoot_web.management.benches.figures import Better, Figure

HEAD = ("case", "measure", "value", "goal", "", "floor", "times floor")
MARKS = {None: "", True: "ok", False: "missed"}
PRECISE_BELOW = 10


def table(figures: Sequence[Figure]) -> str:
    """Lay out figures in columns, and below them what each floor is."""
    rows = [HEAD, *(_row(figure) for figure in figures)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEAD))]
    lines = ["  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    lines.insert(1, "  ".join("-" * width for width in widths))
    floors = dict.fromkeys(figure.floor.what for figure in figures if figure.floor is not None)
    return "\n".join((*lines, *(f"floor: {what}" for what in floors)))


def document(*, bench: str, figures: Sequence[Figure]) -> dict[str, Any]:
    """Write figures as JSON types."""
    return {
        "bench": bench,
        "figures": [
            {
                "case": figure.case,
                "measure": figure.measure,
                "value": figure.value,
                "unit": figure.unit,
                "goal": figure.goal,
                "better": figure.better.value,
                "reached": figure.is_reached,
                "floor": None if figure.floor is None else {"what": figure.floor.what, "value": figure.floor.value},
            }
            for figure in figures
        ],
    }


def _row(figure: Figure) -> tuple[str, ...]:
    sign = "<=" if figure.better is Better.LOWER else ">="
    goal = "" if figure.goal is None else f"{sign} {_number(figure.goal)}"
    floor, times = "", ""
    if figure.value is None:
        return figure.case, figure.measure, "-", goal, "", "", ""
    if figure.floor is not None:
        floor = f"{_number(figure.floor.value)} {figure.unit}"
        low, high = sorted((figure.value, figure.floor.value))
        times = f"{_number(high / low)}x" if low else ""
    value = f"{_number(figure.value)} {figure.unit}".rstrip()
    return figure.case, figure.measure, value, goal, MARKS[figure.is_reached], floor, times


def _number(value: float) -> str:
    return f"{value:,.2f}" if abs(value) < PRECISE_BELOW else f"{value:,.0f}"
