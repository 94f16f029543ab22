"""What both forms of llama.cpp's server have in common: its errors and its way with OpenAI's dialect."""

from collections.abc import Callable
from typing import Any

from providers.simulator.accents import Accent
from providers.simulator.catalog import SimulatedModel
from providers.simulator.config import EngineConfig
from providers.simulator.engine import SimulatedEngine

BUILD = "b1-sim"
HEALTHY = {"status": "ok"}
ERROR_KINDS = {
    400: "invalid_request_error",
    404: "not_found_error",
    501: "not_supported_error",
    503: "unavailable_error",
}


def error(status: int, text: str) -> dict[str, Any]:
    """Write an error as llama.cpp does: OpenAI's form, with the status as a number inside."""
    kind = ERROR_KINDS.get(status, "server_error")
    return {"error": {"code": status, "message": text, "type": kind}}


def accent(named: Callable[[SimulatedEngine, dict[str, Any]], tuple[SimulatedModel, str]]) -> Accent:
    """Give llama.cpp's way with OpenAI's dialect; its two forms differ in whom a request's name names."""
    return Accent(
        named=named,
        error=error,
        thought_field="reasoning_content",
        fingerprint=BUILD,
        opening={"role": "assistant", "content": None},
        reads_template_arguments=True,
        embeds_with_every_model=False,
        unable=501,
    )


def path_of(model: SimulatedModel) -> str:
    """Give the file that a model lies in."""
    return f"models/{model.name.replace('/', '-').replace(':', '-')}.gguf"


def whole_context(config: EngineConfig) -> int:
    """Work out the context that a server is started with: its slots share it, each has an equal part."""
    return config.context_length * config.slots
