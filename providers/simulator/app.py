"""The HTTP application in front of a simulated engine: control, faults of the whole server, and the face of its kind.

A client that leaves ends what was done for it, unless a fault lets the engine work on.
"""

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from providers.simulator import wire
from providers.simulator.engine import LoadBroke, NotLoaded, QueueFull, SimulatedEngine
from providers.simulator.faces import Face
from providers.simulator.kinds import ServerKind
from providers.simulator.llamacpp_router import LlamaRouterFace
from providers.simulator.llamacpp_single import LlamaServerFace
from providers.simulator.ollama_face import OllamaFace
from providers.simulator.sending import Cut, Reply, Send
from providers.simulator.vllm import VllmFace

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Scope = MutableMapping[str, Any]
MAX_BODY_BYTES = 64 * 1024 * 1024
PAGE = b"<html><body>It works!</body></html>"
FACES: dict[ServerKind, Callable[..., Face]] = {
    ServerKind.OLLAMA: OllamaFace,
    ServerKind.LLAMACPP: LlamaRouterFace,
    ServerKind.LLAMACPP_SINGLE: LlamaServerFace,
    ServerKind.VLLM: VllmFace,
}


KEYLESS = frozenset({"/health", "/v1/health"})


class SimulatorApp:
    """Serves one simulated engine with the face of its kind."""

    def __init__(self, *, engine: SimulatedEngine, on_refuse: Callable[[float], None]) -> None:
        """Serve an engine; `on_refuse` closes the port for so many seconds."""
        self._engine = engine
        self._face = FACES[engine.config.kind](engine=engine)
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

    async def close(self) -> None:
        """End what goes on in the background."""
        await self._face.close()

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
        elif not self._may_ask(scope, path):
            await reply.json(401, self._face.error(path, 401, "Unauthorized"))
        elif faults.is_on("error500"):
            await reply.json(500, self._face.error(path, 500, "simulated failure"))
        else:
            await self._answer_or_refuse(method, path, body, reply)

    def _may_ask(self, scope: Scope, path: str) -> bool:
        """Say whether a request carries the key, where the server wants one."""
        key = self._engine.config.api_key
        return not key or path in KEYLESS or (b"authorization", f"Bearer {key}".encode()) in scope["headers"]

    async def _answer_or_refuse(self, method: str, path: str, body: bytes, reply: Reply) -> None:
        """Answer in the dialect of the path. A cut answer is left as it is: the server then breaks the connection."""
        retry_after = None
        try:
            await self._face.answer(method, path, body, reply)
        except wire.WireError as error:
            status, text, retry_after = error.status, str(error), error.retry_after
        except QueueFull:
            status, text = 503, "server busy, please try again: maximum pending requests exceeded"
        except NotLoaded as error:
            status, text = (503, "Loading model") if error.is_loading else (400, "model is not loaded")
        except LoadBroke:
            status, text = 500, "the model could not be loaded"
        except Cut:
            return
        else:
            return
        await reply.json(status, self._face.error(path, status, text), retry_after=retry_after)

    async def _control(self, method: str, path: str, body: bytes, reply: Reply) -> None:
        engine = self._engine
        match method, path:
            case "GET", "/_sim/state":
                await reply.json(200, self.state())
            case "POST", "/_sim/faults":
                try:
                    wanted = wire.parsed(body)
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
            "kind": engine.config.kind,
            "memoryMib": engine.config.memory_mib,
            "freeMib": engine.free_mib,
            "slots": engine.config.slots,
            "loaded": [copy.model.name for copy in engine.copies.values() if copy.settled.is_set()],
            "loading": [copy.model.name for copy in engine.copies.values() if not copy.settled.is_set()],
            "faults": engine.faults.shown(),
            **engine.journal.shown(),
        }


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
