"""A llama.cpp server of one model: the first of the catalog, in memory from the start to the end.

As the real one it never asks which model a request names, and answers with its own.
"""

from typing import Any

from providers.core.units import BYTES_PER_MIB
from providers.simulator import llamacpp, openai_calls
from providers.simulator.catalog import SimulatedModel
from providers.simulator.copies import Copy
from providers.simulator.engine import SimulatedEngine
from providers.simulator.gauges import KIND, Gauge, written
from providers.simulator.sending import Reply


class LlamaServerFace:
    """Routes requests as llama.cpp's server of one model does."""

    def __init__(self, *, engine: SimulatedEngine) -> None:
        """Serve an engine."""
        self._engine = engine

    async def answer(self, method: str, path: str, body: bytes, reply: Reply) -> None:
        """Answer one request."""
        match method, path:
            case "GET", ("/health" | "/v1/health"):
                await reply.json(200, llamacpp.HEALTHY)
            case "GET", "/props":
                await reply.json(200, self._props())
            case "GET", ("/models" | openai_calls.MODELS):
                await reply.json(200, {"object": "list", "data": [self._entry()]})
            case "GET", "/slots":
                await reply.json(200, self._slots())
            case "GET", "/metrics":
                await reply.whole(200, self._metrics(), kind=KIND)
            case _ if not await openai_calls.answer(self._engine, ACCENT, method, path, body, reply):
                await reply.json(404, llamacpp.error(404, "File Not Found"))

    def error(self, path: str, status: int, text: str) -> dict[str, Any]:  # noqa: ARG002 -- Ollama's face needs it
        """Write an error; all paths have one dialect."""
        return llamacpp.error(status, text)

    async def close(self) -> None:
        """End nothing: there is nothing in the background."""

    @property
    def _copy(self) -> Copy:
        (copy,) = self._engine.copies.values()
        return copy

    def _props(self) -> dict[str, Any]:
        config, model = self._engine.config, self._copy.model
        return {
            "default_generation_settings": {"n_ctx": config.context_length},
            "total_slots": config.slots,
            "model_path": llamacpp.path_of(model),
            "model_alias": model.name,
            "chat_template": "",
            "modalities": {"vision": False},
            "build_info": llamacpp.BUILD,
            "is_sleeping": False,
        }

    def _entry(self) -> dict[str, Any]:
        model = self._copy.model
        return {
            "id": model.name,
            "aliases": [],
            "tags": [],
            "object": "model",
            "created": openai_calls.CREATED,
            "owned_by": "llamacpp",
            "meta": {
                "vocab_type": 1,
                "n_vocab": 1000,
                "n_ctx_train": 32768,
                "n_embd": 640,
                "n_params": 1,
                "size": model.size_mib * BYTES_PER_MIB,
            },
        }

    def _slots(self) -> list[dict[str, Any]]:
        config, busy = self._engine.config, self._copy.answering
        return [{"id": n, "n_ctx": config.context_length, "is_processing": n < busy} for n in range(config.slots)]

    def _metrics(self) -> bytes:
        copy = self._copy
        return written(
            Gauge(name="llamacpp:requests_processing", about="Requests that have a slot.", values={"": copy.answering}),
            Gauge(name="llamacpp:requests_deferred", about="Requests without one.", values={"": copy.deferred}),
        )


def _only(engine: SimulatedEngine, body: dict[str, Any]) -> tuple[SimulatedModel, str]:
    """Give the one model, and write down when a request names another."""
    (copy,) = engine.copies.values()
    named = body.get("model")
    if named not in (None, copy.model.name):
        engine.journal.note("misnamed", at=engine.now(), model=copy.model.name, named=str(named))
    return copy.model, copy.model.name


ACCENT = llamacpp.accent(_only)
