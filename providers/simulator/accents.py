"""How the engines differ where all speak OpenAI's dialect: names, thoughts, errors, the beginning of a stream."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from providers.simulator import wire
from providers.simulator.catalog import SimulatedModel
from providers.simulator.engine import SimulatedEngine


@dataclass(frozen=True, slots=True, kw_only=True)
class Accent:
    """One engine's way with OpenAI's dialect.

    `named` looks up the model that a request wants, and gives it with the name that the answer bears.
    `opening` is the delta before the first token of a chat; without one, every delta says the role.
    `unable` is the status for a model that cannot do what is asked of it.
    """

    named: Callable[[SimulatedEngine, dict[str, Any]], tuple[SimulatedModel, str]]
    error: Callable[[int, str], dict[str, Any]]
    thought_field: str
    fingerprint: str | None
    opening: dict[str, Any] | None
    reads_template_arguments: bool
    embeds_with_every_model: bool
    unable: int


def _as_asked(engine: SimulatedEngine, body: dict[str, Any]) -> tuple[SimulatedModel, str]:
    return wire.find_model(engine, body), wire.name_in(body)


OLLAMA = Accent(
    named=_as_asked,
    error=wire.openai_error,
    thought_field="reasoning",
    fingerprint="fp_ollama",
    opening=None,
    reads_template_arguments=False,
    embeds_with_every_model=True,
    unable=400,
)
