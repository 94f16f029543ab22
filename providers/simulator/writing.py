"""Writing an answer at the pace of the machine: its place in the queue, its tokens, and what may go wrong with it."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from providers.simulator import wire
from providers.simulator.asking import Asked
from providers.simulator.catalog import SimulatedModel
from providers.simulator.engine import NotLoaded, QueueFull, SimulatedEngine
from providers.simulator.sending import JSON, Cut, Reply
from providers.simulator.shapes import Ended, Piece, Shape

THOUGHTS = 3


@dataclass(slots=True, kw_only=True)
class Place:
    """A call in its slot: how long its load took, and how many tokens were written for it."""

    loaded_s: float
    tokens: int = 0


async def write(engine: SimulatedEngine, asked: Asked, shape: Shape, reply: Reply, *, path: str) -> None:
    """Wait for a place, then write the answer, streamed or whole.

    Raises:
        Cut: a fault wants the connection broken here.
    """
    async with in_place(
        engine, model=asked.model, num_ctx=asked.num_ctx, keep_alive=asked.keep_alive, path=path
    ) as place:
        begun = engine.now()
        await engine.faults.lifted("wedge")
        await engine.pause(asked.prompt_tokens / engine.config.prompt_tokens_per_s)
        written: list[Piece] = []
        for piece in _pieces(asked):
            if await _breaks(engine, asked, shape, reply, after=place.tokens):
                return
            await engine.faults.lifted("wedge")
            await engine.pause(1 / engine.config.tokens_per_s)
            place.tokens += 1
            if asked.streams:
                await reply.part(shape.piece(piece), kind=shape.kind)
            else:
                written.append(piece)
        ended = Ended(
            text="".join(piece.text for piece in written),
            thought="".join(piece.thought for piece in written),
            tool=asked.tool,
            tokens=place.tokens,
            load_s=place.loaded_s,
            whole_s=place.loaded_s + engine.now() - begun,
        )
        if asked.streams:
            await reply.part(shape.end(ended), kind=shape.kind, is_last=True)
        else:
            await _send_whole(engine, shape, ended, reply)


@asynccontextmanager
async def in_place(
    engine: SimulatedEngine, *, model: SimulatedModel, num_ctx: int | None, keep_alive: float | None, path: str
) -> AsyncIterator[Place]:
    """Wait in the engine's queue for the model and one of its slots, and write down what became of the call."""
    journal = engine.journal
    journal.call_started(at=engine.now(), model=model.name, path=path, num_ctx=num_ctx)
    place = Place(loaded_s=0.0)
    how = "failed"
    try:
        _refuse(engine)
        async with _queued(engine, model, num_ctx, keep_alive) as place.loaded_s:
            yield place
        how = "done"
    except (NotLoaded, QueueFull):
        how = "refused"
        raise
    except asyncio.CancelledError:
        how = "aborted"
        raise
    finally:
        journal.call_ended(at=engine.now(), model=model.name, how=how, tokens=place.tokens)


def _refuse(engine: SimulatedEngine) -> None:
    if engine.faults.take("fail_calls"):
        raise wire.WireError(500, "simulated failure")
    if engine.faults.is_on("retry503"):
        raise wire.WireError(503, "simulated overload", retry_after=round(engine.faults.seconds("retry503")))


@asynccontextmanager
async def _queued(
    engine: SimulatedEngine, model: SimulatedModel, num_ctx: int | None, keep_alive: float | None
) -> AsyncIterator[float]:
    arrived = engine.now()
    engine.enter_queue()
    is_waiting = True
    try:
        async with engine.hold(model=model, num_ctx=num_ctx, keep_alive_s=keep_alive) as copy:
            loaded_s = engine.now() - arrived
            async with copy.slot():
                engine.leave_queue()
                is_waiting = False
                yield loaded_s
    finally:
        if is_waiting:
            engine.leave_queue()


def _pieces(asked: Asked) -> Iterator[Piece]:
    if asked.tool is not None:
        yield Piece(tool=asked.tool)
        return
    for number in range(THOUGHTS if asked.thinks else 0):
        yield Piece(thought=wire.word(number))
    for number in range(asked.count):
        before = '{"answer": "' if asked.is_json and number == 0 else ""
        after = '"}' if asked.is_json and number == asked.count - 1 else ""
        yield Piece(text=before + wire.word(number) + after)


async def _breaks(engine: SimulatedEngine, asked: Asked, shape: Shape, reply: Reply, *, after: int) -> bool:
    """Break a stream where a fault wants it; say whether it is over."""
    faults = engine.faults
    if not asked.streams or after == 0:
        return False
    if faults.is_on("cut") and after >= faults.seconds("cut"):
        raise Cut
    if faults.is_on("error_inside") and after >= faults.seconds("error_inside"):
        await reply.part(shape.broke("simulated failure"), kind=shape.kind, is_last=True)
        return True
    if faults.is_on("no_end") and after >= faults.seconds("no_end"):
        await reply.part(b"", kind=shape.kind, is_last=True)
        return True
    return False


async def _send_whole(engine: SimulatedEngine, shape: Shape, ended: Ended, reply: Reply) -> None:
    body = json.dumps(shape.whole(ended)).encode()
    if engine.faults.is_on("cut"):
        await reply.half(body, kind=JSON)
        raise Cut
    await reply.whole(200, body, kind=JSON)
