"""Answering calls at a simulated engine: loads, unloads, text and embeddings, each at the pace of the machine."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from providers.simulator import wire
from providers.simulator.catalog import SimulatedModel
from providers.simulator.engine import QueueFull, SimulatedEngine
from providers.simulator.sending import Reply

NANOSECONDS = 1_000_000_000
EMBEDDING_SIZE = 8


async def answer_text(engine: SimulatedEngine, body: dict[str, Any], reply: Reply, *, is_chat: bool) -> None:
    """Answer /api/generate or /api/chat; without a prompt it only loads or unloads."""
    model = wire.find_model(engine, body)
    keep_alive = wire.keep_alive_seconds(body.get("keep_alive"))
    has_prompt = bool(body.get("messages") if is_chat else body.get("prompt"))
    if not has_prompt and keep_alive == 0:
        engine.unload(model=model)
        await reply.json(200, _last_line(body, is_chat=is_chat, reason="unload"))
        return
    if not model.can_generate:
        raise wire.WireError(400, f'"{model.name}" does not support generate')
    if not has_prompt:
        await _load(engine, body, model, keep_alive)
        await reply.json(200, _last_line(body, is_chat=is_chat, reason="load"))
        return
    async with _place(engine, body, model, keep_alive) as waited_s:
        await _write(engine, body, reply, is_chat=is_chat, waited_s=waited_s)


async def answer_embed(engine: SimulatedEngine, body: dict[str, Any], reply: Reply) -> None:
    """Answer /api/embed; with an empty input it only loads or unloads."""
    model = wire.find_model(engine, body)
    keep_alive = wire.keep_alive_seconds(body.get("keep_alive"))
    given = body.get("input")
    texts = given if isinstance(given, list) else [given] if given else []
    empty = {"model": body["model"], "embeddings": [], "total_duration": 0, "load_duration": 0, "prompt_eval_count": 0}
    if not texts and keep_alive == 0:
        engine.unload(model=model)
        await reply.json(200, empty)
        return
    if not texts:
        await _load(engine, body, model, keep_alive)
        await reply.json(200, empty)
        return
    async with _place(engine, body, model, keep_alive) as waited_s:
        tokens = wire.tokens_in(body)
        await engine.pause(tokens / engine.config.prompt_tokens_per_s)
        vectors = [[(len(str(text)) + n) % 7 / 7 for n in range(EMBEDDING_SIZE)] for text in texts]
        durations = {"total_duration": _ns(waited_s), "load_duration": _ns(waited_s), "prompt_eval_count": tokens}
        await reply.json(200, {**empty, "embeddings": vectors, **durations})


async def _load(engine: SimulatedEngine, body: dict[str, Any], model: SimulatedModel, keep_alive: float | None) -> None:
    engine.enter_queue()
    try:
        async with engine.hold(model=model, num_ctx=wire.context_asked(body), keep_alive_s=keep_alive):
            pass
    finally:
        engine.leave_queue()


@asynccontextmanager
async def _place(
    engine: SimulatedEngine, body: dict[str, Any], model: SimulatedModel, keep_alive: float | None
) -> AsyncIterator[float]:
    """Wait in the engine's queue for the model and one of its slots; give the seconds it took to load."""
    journal = engine.journal
    arrived = engine.now()
    journal.call_started(at=arrived, model=model.name)
    how = "failed"
    try:
        async with _queued(engine, body, model, keep_alive) as loaded_s:
            yield loaded_s
        how = "done"
    except QueueFull:
        how = "refused"
        raise
    except asyncio.CancelledError:
        how = "aborted"
        raise
    finally:
        journal.call_ended(at=engine.now(), model=model.name, how=how)


@asynccontextmanager
async def _queued(
    engine: SimulatedEngine, body: dict[str, Any], model: SimulatedModel, keep_alive: float | None
) -> AsyncIterator[float]:
    arrived = engine.now()
    engine.enter_queue()
    is_waiting = True
    try:
        async with engine.hold(model=model, num_ctx=wire.context_asked(body), keep_alive_s=keep_alive) as copy:
            loaded_s = engine.now() - arrived
            async with copy.slots:
                engine.leave_queue()
                is_waiting = False
                yield loaded_s
    finally:
        if is_waiting:
            engine.leave_queue()


async def _write(
    engine: SimulatedEngine, body: dict[str, Any], reply: Reply, *, is_chat: bool, waited_s: float
) -> None:
    prompt_tokens = wire.tokens_in(body)
    await engine.pause(prompt_tokens / engine.config.prompt_tokens_per_s)
    options = body.get("options") if isinstance(body.get("options"), dict) else {}
    wanted = (options or {}).get("num_predict")
    count = wanted if isinstance(wanted, int) and wanted > 0 else engine.config.answer_tokens
    streams = body.get("stream") is not False
    text = ""
    for number in range(count):
        await engine.pause(1 / engine.config.tokens_per_s)
        if streams:
            await reply.line(_line(body, wire.word(number), is_chat=is_chat))
        else:
            text += wire.word(number)
    last = _last_line(
        body,
        is_chat=is_chat,
        reason="stop",
        text=text,
        load_duration=_ns(waited_s),
        total_duration=_ns(waited_s + count / engine.config.tokens_per_s / engine.config.speed),
        prompt_eval_count=prompt_tokens,
        eval_count=count,
    )
    if streams:
        await reply.line(last, is_last=True)
    else:
        await reply.json(200, last)


def _line(body: dict[str, Any], text: str, *, is_chat: bool) -> dict[str, Any]:
    head = {"model": body.get("model"), "created_at": wire.stamp(wire.wall_clock())}
    answer = {"message": {"role": "assistant", "content": text}} if is_chat else {"response": text}
    return {**head, **answer, "done": False}


def _last_line(body: dict[str, Any], *, is_chat: bool, reason: str, text: str = "", **counts: int) -> dict[str, Any]:
    return {**_line(body, text, is_chat=is_chat), "done": True, "done_reason": reason, **counts}


def _ns(seconds: float) -> int:
    return int(seconds * NANOSECONDS)
