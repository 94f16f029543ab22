"""OpenAI's dialect under /v1, which every kind of server speaks, each with its accent.

As at the real engines no call here can carry a context size or a keep-alive: it uses the default context. Ollama
therefore reloads a model that was loaded with another one.
"""

import base64
import struct
from typing import Any

from providers.simulator import wire
from providers.simulator.accents import Accent
from providers.simulator.asking import asked_openai
from providers.simulator.calls import embed
from providers.simulator.engine import SimulatedEngine
from providers.simulator.sending import Reply
from providers.simulator.shapes import OpenAIShape
from providers.simulator.writing import write

PREFIX = "/v1/"
CHAT = "/v1/chat/completions"
MODELS = "/v1/models"
TEXTS = (CHAT, "/v1/completions")
EMBEDDINGS = "/v1/embeddings"
CREATED = 1_767_225_600


async def answer(engine: SimulatedEngine, accent: Accent, method: str, path: str, body: bytes, reply: Reply) -> bool:
    """Answer a call of this dialect; False when the path is not one of its calls."""
    if method == "POST" and path in TEXTS:
        await _answer_text(engine, accent, wire.parsed(body), reply, path=path)
    elif (method, path) == ("POST", EMBEDDINGS):
        await _answer_embeddings(engine, accent, wire.parsed(body), reply)
    else:
        return False
    return True


async def _answer_text(
    engine: SimulatedEngine, accent: Accent, body: dict[str, Any], reply: Reply, *, path: str
) -> None:
    is_chat = path == CHAT
    if not body.get("messages" if is_chat else "prompt"):
        raise wire.WireError(400, "there is nothing to answer")
    asked = asked_openai(engine, body, accent)
    wanted = body.get("stream_options")
    shape = OpenAIShape(
        asked=asked,
        accent=accent,
        number=engine.journal.calls,
        is_chat=is_chat,
        with_usage=isinstance(wanted, dict) and wanted.get("include_usage") is True,
    )
    await write(engine, asked, shape, reply, path=path)


async def _answer_embeddings(engine: SimulatedEngine, accent: Accent, body: dict[str, Any], reply: Reply) -> None:
    model, name = accent.named(engine, body)
    if model.can_generate and not accent.embeds_with_every_model:
        raise wire.WireError(accent.unable, f'"{model.name}" does not support embeddings')
    if not wire.inputs_in(body):
        raise wire.WireError(400, "invalid input")
    vectors, _ = await embed(engine, {**body, "keep_alive": None}, model, num_ctx=None, path=EMBEDDINGS)
    packed = body.get("encoding_format") == "base64"
    data = [
        {"object": "embedding", "index": index, "embedding": _packed(vector) if packed else vector}
        for index, vector in enumerate(vectors)
    ]
    tokens = wire.tokens_in(body)
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    await reply.json(200, {"object": "list", "data": data, "model": name, "usage": usage})


def listed_models(engine: SimulatedEngine) -> dict[str, Any]:
    """List what is on the disk as OpenAI does."""
    return {"object": "list", "data": [_listed(model.listed_name) for model in engine.config.models.values()]}


def listed_model(engine: SimulatedEngine, name: str) -> dict[str, Any]:
    """Describe one model as OpenAI does."""
    wire.find_model(engine, {"model": name})
    return _listed(name)


def _listed(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": CREATED, "owned_by": "library"}


def _packed(vector: list[float]) -> str:
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()
