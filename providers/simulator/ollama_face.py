"""Ollama's face: its own paths, and those of OpenAI under /v1 on the same port."""

from typing import Any

from providers.simulator import accents, openai_calls, wire
from providers.simulator.calls import answer_embed, answer_one_embedding, answer_text
from providers.simulator.engine import SimulatedEngine
from providers.simulator.sending import Reply

GREETING = "Ollama is running"


class OllamaFace:
    """Routes requests as Ollama does."""

    def __init__(self, *, engine: SimulatedEngine) -> None:
        """Serve an engine."""
        self._engine = engine

    async def answer(self, method: str, path: str, body: bytes, reply: Reply) -> None:
        """Answer in the dialect of the path."""
        if path.startswith(openai_calls.PREFIX):
            await self._route_openai(method, path, body, reply)
        else:
            await self._route(method, path, body, reply)

    def error(self, path: str, status: int, text: str) -> dict[str, Any]:
        """Write an error in the dialect of the path."""
        return wire.openai_error(status, text) if path.startswith(openai_calls.PREFIX) else {"error": text}

    async def close(self) -> None:
        """End nothing: loads belong to the calls that wait for them."""

    async def _route_openai(self, method: str, path: str, body: bytes, reply: Reply) -> None:
        name = path.removeprefix(f"{openai_calls.MODELS}/")
        if (method, path) == ("GET", openai_calls.MODELS):
            await reply.json(200, openai_calls.listed_models(self._engine))
        elif method == "GET" and name != path:
            await reply.json(200, openai_calls.listed_model(self._engine, name))
        elif not await openai_calls.answer(self._engine, accents.OLLAMA, method, path, body, reply):
            await reply.whole(404, b"404 page not found", kind="text/plain")

    async def _route(self, method: str, path: str, body: bytes, reply: Reply) -> None:
        match method, path:
            case ("GET" | "HEAD", "/"):
                await reply.whole(200, GREETING.encode(), kind="text/plain")
            case ("GET" | "HEAD", "/api/version"):
                await reply.json(200, {"version": self._engine.config.version})
            case "GET", "/api/tags":
                await reply.json(200, wire.tags(self._engine))
            case "GET", "/api/ps":
                await reply.json(200, wire.running(self._engine))
            case "POST", "/api/show":
                model = wire.find_model(self._engine, wire.parsed(body))
                await reply.json(200, wire.show(model, context_length=self._engine.config.context_length))
            case "POST", ("/api/generate" | "/api/chat"):
                await answer_text(self._engine, wire.parsed(body), reply, path=path)
            case "POST", "/api/embed":
                await answer_embed(self._engine, wire.parsed(body), reply, path=path)
            case "POST", "/api/embeddings":
                await answer_one_embedding(self._engine, wire.parsed(body), reply, path=path)
            case _, ("/api/pull" | "/api/push" | "/api/create" | "/api/copy" | "/api/delete"):
                await reply.json(403, {"error": "a simulated engine keeps the models it has"})
            case _:
                await reply.whole(404, b"404 page not found", kind="text/plain")
