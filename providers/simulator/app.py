"""The HTTP face of a simulated engine, as a plain ASGI application.

A client that leaves ends what was done for it, unless a fault lets the engine work on.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from providers.simulator import openai_calls, wire
from providers.simulator.calls import answer_embed, answer_one_embedding, answer_text
from providers.simulator.engine import LoadBroke, QueueFull, SimulatedEngine
from providers.simulator.sending import Cut, Reply, Send

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Scope = MutableMapping[str, Any]
MAX_BODY_BYTES = 64 * 1024 * 1024
GREETING = "Ollama is running"
PAGE = b"<html><body>It works!</body></html>"


class SimulatorApp:
    """Routes requests to one simulated engine."""

    def __init__(self, *, engine: SimulatedEngine, on_refuse: Callable[[float], None]) -> None:
        """Serve an engine; `on_refuse` closes the port for so many seconds."""
        self._engine = engine
        self._on_refuse = on_refuse
        self._running: set[asyncio.Task[None]] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, and stop when its client leaves, where nothing lets it go on."""
        body = await _read_body(receive)
        if body is None:
            return
        reply = Reply(send)
        work = asyncio.get_running_loop().create_task(self._answer(scope, body, reply))
        gone = asyncio.get_running_loop().create_task(_disconnected(receive))
        self._running.add(work)
        try:
            await asyncio.wait({work, gone}, return_when=asyncio.FIRST_COMPLETED)
            if self._engine.faults.is_on("works_on"):
                await asyncio.wait({work})
        finally:
            self._running.discard(work)
            for task in (work, gone):
                task.cancel()
            await asyncio.gather(work, gone, return_exceptions=True)

    async def abort_all(self) -> None:
        """End every request that is being answered, as a process that dies does."""
        running = tuple(self._running)
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    async def _answer(self, scope: Scope, body: bytes, reply: Reply) -> None:
        method, path = scope["method"], scope["path"]
        self._engine.journal.requests[f"{method} {path}"] += 1
        if path.startswith("/_sim/"):
            await self._control(method, path, body, reply)
            return
        faults = self._engine.faults
        await faults.lifted("hang")
        await asyncio.sleep(faults.seconds("slow"))
        if faults.is_on("nonsense"):
            await reply.whole(200, PAGE, kind="text/html")
        elif faults.is_on("error500"):
            await _refuse(reply, path, 500, "simulated failure")
        else:
            await self._answer_or_refuse(method, path, body, reply)

    async def _answer_or_refuse(self, method: str, path: str, body: bytes, reply: Reply) -> None:
        """Answer in the dialect of the path. A cut answer is left as it is: the server then breaks the connection."""
        try:
            if path.startswith(openai_calls.PREFIX):
                await self._route_openai(method, path, body, reply)
            else:
                await self._route(method, path, body, reply)
        except wire.WireError as error:
            await _refuse(reply, path, error.status, str(error), retry_after=error.retry_after)
        except QueueFull:
            await _refuse(reply, path, 503, "server busy, please try again: maximum pending requests exceeded")
        except LoadBroke:
            await _refuse(reply, path, 500, "the model could not be loaded")
        except Cut:
            return

    async def _route_openai(self, method: str, path: str, body: bytes, reply: Reply) -> None:
        name = path.removeprefix(f"{openai_calls.MODELS}/")
        if method == "POST" and path in openai_calls.TEXTS:
            await openai_calls.answer_openai_text(self._engine, _parsed(body), reply, path=path)
        elif (method, path) == ("POST", openai_calls.EMBEDDINGS):
            await openai_calls.answer_openai_embeddings(self._engine, _parsed(body), reply, path=path)
        elif (method, path) == ("GET", openai_calls.MODELS):
            await reply.json(200, openai_calls.listed_models(self._engine))
        elif method == "GET" and name != path:
            await reply.json(200, openai_calls.listed_model(self._engine, name))
        else:
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
                model = wire.find_model(self._engine, _parsed(body))
                await reply.json(200, wire.show(model, context_length=self._engine.config.context_length))
            case "POST", ("/api/generate" | "/api/chat"):
                await answer_text(self._engine, _parsed(body), reply, path=path)
            case "POST", "/api/embed":
                await answer_embed(self._engine, _parsed(body), reply, path=path)
            case "POST", "/api/embeddings":
                await answer_one_embedding(self._engine, _parsed(body), reply, path=path)
            case _, ("/api/pull" | "/api/push" | "/api/create" | "/api/copy" | "/api/delete"):
                await reply.json(403, {"error": "a simulated engine keeps the models it has"})
            case _:
                await reply.whole(404, b"404 page not found", kind="text/plain")

    async def _control(self, method: str, path: str, body: bytes, reply: Reply) -> None:
        engine = self._engine
        match method, path:
            case "GET", "/_sim/state":
                await reply.json(200, self.state())
            case "POST", "/_sim/faults":
                try:
                    wanted = _parsed(body)
                    engine.faults.switch({name: value for name, value in wanted.items() if name != "refuse"})
                except (ValueError, wire.WireError) as error:
                    await reply.json(400, {"error": str(error)})
                    return
                await reply.json(200, engine.faults.shown())
                if wanted.get("refuse"):
                    self._on_refuse(float(wanted["refuse"]))
            case _:
                await reply.json(404, {"error": "there are GET /_sim/state and POST /_sim/faults"})

    def state(self) -> dict[str, Any]:
        """Give what is and what happened, as JSON."""
        engine = self._engine
        return {
            "memoryMib": engine.config.memory_mib,
            "freeMib": engine.free_mib,
            "slots": engine.config.slots,
            "loaded": [copy.model.name for copy in engine.copies.values() if copy.settled.is_set()],
            "loading": [copy.model.name for copy in engine.copies.values() if not copy.settled.is_set()],
            "faults": engine.faults.shown(),
            **engine.journal.shown(),
        }


async def _refuse(reply: Reply, path: str, status: int, text: str, *, retry_after: int | None = None) -> None:
    is_openai = path.startswith(openai_calls.PREFIX)
    value = wire.openai_error(status, text) if is_openai else {"error": text}
    await reply.json(status, value, retry_after=retry_after)


def _parsed(body: bytes) -> dict[str, Any]:
    try:
        value = json.loads(body or b"{}")
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise wire.WireError(400, "the body is not a JSON object")
    return value


async def _read_body(receive: Receive) -> bytes | None:
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        body += message.get("body", b"")
        if len(body) > MAX_BODY_BYTES:
            return None
        if not message.get("more_body", False):
            return bytes(body)


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
