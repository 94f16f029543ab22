"""The router of llama.cpp: one server for all models of the catalog, each loaded and unloaded on request alone.

It runs as with `--models-max 0 --no-models-autoload`: it puts no model out by itself, and refuses a call for one that
is not loaded, so that a wrong placement shows.
"""

from typing import Any

from providers.simulator import llamacpp, openai_calls, wire
from providers.simulator.catalog import SimulatedModel, by_weights
from providers.simulator.engine import SimulatedEngine
from providers.simulator.requested_loads import LoadStatus, RequestedLoads
from providers.simulator.sending import Reply

PROPS = {
    "role": "router",
    "max_instances": 0,
    "models_autoload": False,
    "model_alias": "llama-server",
    "model_path": "none",
    "default_generation_settings": {"params": None, "n_ctx": 0},
    "build_info": llamacpp.BUILD,
}


class LlamaRouterFace:
    """Routes requests as llama.cpp's router does."""

    def __init__(self, *, engine: SimulatedEngine) -> None:
        """Serve an engine."""
        self._engine = engine
        self._loads = RequestedLoads(engine=engine)

    async def answer(self, method: str, path: str, body: bytes, reply: Reply) -> None:
        """Answer one request."""
        match method, path:
            case "GET", ("/health" | "/v1/health"):
                await reply.json(200, llamacpp.HEALTHY)
            case "GET", "/props":
                await reply.json(200, PROPS)
            case "GET", ("/models" | openai_calls.MODELS):
                await reply.json(200, self._listed())
            case "POST", "/models/load":
                self._load(wire.parsed(body))
                await reply.json(200, {"success": True})
            case "POST", "/models/unload":
                self._unload(wire.parsed(body))
                await reply.json(200, {"success": True})
            case _ if not await openai_calls.answer(self._engine, ACCENT, method, path, body, reply):
                await reply.json(404, llamacpp.error(404, "File Not Found"))

    def error(self, path: str, status: int, text: str) -> dict[str, Any]:  # noqa: ARG002 -- Ollama's face needs it
        """Write an error; all paths have one dialect."""
        return llamacpp.error(status, text)

    async def close(self) -> None:
        """Give up the loads that still run."""
        await self._loads.close()

    def _load(self, body: dict[str, Any]) -> None:
        model = _found(self._engine, body)
        if model is None:
            raise wire.WireError(404, "File Not Found")
        if self._loads.status(model) is not LoadStatus.UNLOADED:
            raise wire.WireError(400, "model is already running")
        self._loads.start(model)

    def _unload(self, body: dict[str, Any]) -> None:
        model = _found(self._engine, body)
        if model is None:
            raise wire.WireError(400, "model is not found")
        if self._loads.status(model) is LoadStatus.UNLOADED:
            raise wire.WireError(400, "model is not running")
        self._loads.stop(model)

    def _listed(self) -> dict[str, Any]:
        tags = by_weights(self._engine.config.models)
        return {"object": "list", "data": [self._entry(first, others) for first, *others in tags.values()]}

    def _entry(self, model: SimulatedModel, others: list[SimulatedModel]) -> dict[str, Any]:
        return {
            "id": model.name,
            "aliases": [other.name for other in others],
            "tags": [],
            "object": "model",
            "owned_by": "llamacpp",
            "created": openai_calls.CREATED,
            "status": self._status(model),
            "architecture": {"input_modalities": ["text"], "output_modalities": ["text"]},
            "source": "models_dir",
            "can_remove": False,
        }

    def _status(self, model: SimulatedModel) -> dict[str, Any]:
        config = self._engine.config
        context = llamacpp.whole_context(config)
        ended = {"exit_code": 1, "failed": True} if self._loads.has_failed(model) else {}
        return {
            "value": self._loads.status(model),
            **ended,
            "args": [
                *("llama-server", "--alias", model.name, "--ctx-size", str(context)),
                *("--model", llamacpp.path_of(model), "--parallel", str(config.slots)),
            ],
            "preset": f"[{model.name}]\nctx-size = {context}\n",
        }


def _called(engine: SimulatedEngine, body: dict[str, Any]) -> tuple[SimulatedModel, str]:
    """Look up the model that a call names, and its first name, which answers bear.

    Raises:
        WireError: 400, also for an unknown one: the real router keeps 404 for loads.
    """
    if not body.get("model"):
        raise wire.WireError(400, "model name is missing from the request")
    model = _found(engine, body)
    if model is None:
        raise wire.WireError(400, f"model '{body['model']}' not found")
    return model, model.name


def _found(engine: SimulatedEngine, body: dict[str, Any]) -> SimulatedModel | None:
    named = engine.config.models.get(str(body.get("model")))
    return None if named is None else by_weights(engine.config.models)[named.digest][0]


ACCENT = llamacpp.accent(_called)
