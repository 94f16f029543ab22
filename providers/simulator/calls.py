"""Answering Ollama's own calls at a simulated engine: loads, unloads, text and embeddings."""

from typing import Any

from providers.simulator import wire
from providers.simulator.asking import asked_natively, generator
from providers.simulator.catalog import SimulatedModel
from providers.simulator.engine import SimulatedEngine
from providers.simulator.sending import Reply
from providers.simulator.shapes import NANOSECONDS, OllamaShape
from providers.simulator.writing import in_place, write

CHAT = "/api/chat"
EMBEDDING_SIZE = 8


async def answer_text(engine: SimulatedEngine, body: dict[str, Any], reply: Reply, *, path: str) -> None:
    """Answer /api/generate or /api/chat; without a prompt it only loads or unloads."""
    model = wire.find_model(engine, body)
    keep_alive = wire.keep_alive_seconds(body.get("keep_alive"))
    is_chat = path == CHAT
    if body.get("messages") if is_chat else body.get("prompt"):
        asked = asked_natively(engine, body)
        await write(engine, asked, OllamaShape(asked=asked, is_chat=is_chat), reply, path=path)
        return
    if keep_alive == 0:
        engine.unload(model=model)
    else:
        await _load(engine, body, generator(engine, body), keep_alive)
    answer = {"message": {"role": "assistant", "content": ""}} if is_chat else {"response": ""}
    reason = "unload" if keep_alive == 0 else "load"
    await reply.json(200, {**wire.head(wire.name_in(body)), **answer, "done": True, "done_reason": reason})


async def answer_embed(engine: SimulatedEngine, body: dict[str, Any], reply: Reply, *, path: str) -> None:
    """Answer /api/embed; with an empty input it only loads or unloads."""
    model = wire.find_model(engine, body)
    keep_alive = wire.keep_alive_seconds(body.get("keep_alive"))
    texts = wire.inputs_in(body)
    empty = {"model": body["model"], "embeddings": [], "total_duration": 0, "load_duration": 0, "prompt_eval_count": 0}
    if not texts and keep_alive == 0:
        engine.unload(model=model)
        await reply.json(200, empty)
        return
    if not texts:
        await _load(engine, body, model, keep_alive)
        await reply.json(200, empty)
        return
    vectors, loaded_s = await embed(engine, body, model, num_ctx=wire.context_asked(body), path=path)
    took = {"total_duration": int(loaded_s * NANOSECONDS), "load_duration": int(loaded_s * NANOSECONDS)}
    await reply.json(200, {**empty, "embeddings": vectors, **took, "prompt_eval_count": wire.tokens_in(body)})


async def answer_one_embedding(engine: SimulatedEngine, body: dict[str, Any], reply: Reply, *, path: str) -> None:
    """Answer /api/embeddings, the older form: one prompt, one vector."""
    model = wire.find_model(engine, body)
    if not body.get("prompt"):
        await _load(engine, body, model, wire.keep_alive_seconds(body.get("keep_alive")))
        await reply.json(200, {"embedding": []})
        return
    asked = {**body, "input": body["prompt"], "prompt": None}
    (vector,), _ = await embed(engine, asked, model, num_ctx=wire.context_asked(body), path=path)
    await reply.json(200, {"embedding": vector})


async def embed(
    engine: SimulatedEngine, body: dict[str, Any], model: SimulatedModel, *, num_ctx: int | None, path: str
) -> tuple[list[list[float]], float]:
    """Wait for a place and work out the vectors of an input; give them with the seconds that the load took."""
    keep_alive = wire.keep_alive_seconds(body.get("keep_alive"))
    async with in_place(engine, model=model, num_ctx=num_ctx, keep_alive=keep_alive, path=path) as place:
        await engine.faults.lifted("wedge")
        await engine.pause(wire.tokens_in(body) / engine.config.prompt_tokens_per_s)
        lengths = [len(str(text)) for text in wire.inputs_in(body)]
        return [[(length + n) % 7 / 7 for n in range(EMBEDDING_SIZE)] for length in lengths], place.loaded_s


async def _load(engine: SimulatedEngine, body: dict[str, Any], model: SimulatedModel, keep_alive: float | None) -> None:
    engine.enter_queue()
    try:
        async with engine.hold(model=model, num_ctx=wire.context_asked(body), keep_alive_s=keep_alive):
            pass
    finally:
        engine.leave_queue()
