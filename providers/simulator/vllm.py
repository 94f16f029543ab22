"""vLLM's face: all models of the catalog are in memory from the start to the end, and served by their exact names."""

from typing import Any

from providers.simulator import openai_calls, wire
from providers.simulator.accents import Accent
from providers.simulator.catalog import SimulatedModel, by_weights
from providers.simulator.engine import SimulatedEngine
from providers.simulator.gauges import KIND, Gauge, labels, written
from providers.simulator.sending import Reply

VERSION = "0.11.0-sim"
ERROR_KINDS = {400: "BadRequestError", 404: "NotFoundError", 503: "ServiceUnavailableError"}


class VllmFace:
    """Routes requests as vLLM does."""

    def __init__(self, *, engine: SimulatedEngine) -> None:
        """Serve an engine."""
        self._engine = engine

    async def answer(self, method: str, path: str, body: bytes, reply: Reply) -> None:
        """Answer one request."""
        match method, path:
            case "GET", "/health":
                await reply.whole(200, b"", kind="text/plain")
            case "GET", "/version":
                await reply.json(200, {"version": VERSION})
            case "GET", openai_calls.MODELS:
                await reply.json(200, self._listed())
            case "GET", "/metrics":
                await reply.whole(200, self._metrics(), kind=KIND)
            case "GET", "/load":
                await reply.json(200, {"server_load": self._engine.journal.in_flight.total()})
            case _ if not await openai_calls.answer(self._engine, ACCENT, method, path, body, reply):
                await reply.json(404, {"detail": "Not Found"})

    def error(self, path: str, status: int, text: str) -> dict[str, Any]:  # noqa: ARG002 -- Ollama's face needs it
        """Write an error; all paths have one dialect."""
        return _error(status, text)

    async def close(self) -> None:
        """End nothing: there is nothing in the background."""

    def _listed(self) -> dict[str, Any]:
        tags = by_weights(self._engine.config.models).values()
        return {
            "object": "list",
            "data": [self._entry(tag, root=first) for first, *others in tags for tag in (first, *others)],
        }

    def _entry(self, model: SimulatedModel, *, root: SimulatedModel) -> dict[str, Any]:
        return {
            "id": model.name,
            "object": "model",
            "created": openai_calls.CREATED,
            "owned_by": "vllm",
            "root": root.name,
            "parent": None,
            "max_model_len": self._engine.config.context_length,
        }

    def _metrics(self) -> bytes:
        copies = {labels(engine="0", model_name=copy.model.name): copy for copy in self._engine.copies.values()}
        return written(
            Gauge(
                name="vllm:num_requests_running",
                about="Requests that are being answered.",
                values={label: float(copy.answering) for label, copy in copies.items()},
            ),
            Gauge(
                name="vllm:num_requests_waiting",
                about="Requests that wait for their turn.",
                values={label: float(copy.deferred) for label, copy in copies.items()},
            ),
        )


def _error(status: int, text: str) -> dict[str, Any]:
    kind = ERROR_KINDS.get(status, "InternalServerError")
    return {"error": {"message": text, "type": kind, "param": None, "code": status}}


def _served(engine: SimulatedEngine, body: dict[str, Any]) -> tuple[SimulatedModel, str]:
    """Look up the model that a call names, and the first name of its weights, which answers bear.

    Raises:
        WireError: 400 without a name, 404 for one that is not served.
    """
    name = wire.name_in(body)
    model = engine.config.models.get(name)
    if model is None:
        raise wire.WireError(404, f"The model `{name}` does not exist.")
    first = by_weights(engine.config.models)[model.digest][0]
    return first, first.name


ACCENT = Accent(
    named=_served,
    error=_error,
    thought_field="reasoning_content",
    fingerprint=None,
    opening={"role": "assistant", "content": ""},
    reads_template_arguments=True,
    embeds_with_every_model=False,
    unable=400,
)
