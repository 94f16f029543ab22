"""Which path of an engine a call takes, with which body, and who reads the answer."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from kubemoot_web.gateway import openai_answers as openai
from kubemoot_web.gateway import translate_openai
from kubemoot_web.gateway.anthropic_answers import MessageStream, message_body
from kubemoot_web.gateway.asking import EMBEDDINGS, Asked, estimated_tokens
from kubemoot_web.gateway.dialects import PATHS, Dialect, Operation, Route
from kubemoot_web.gateway.json_edit import REMOVE, Change
from kubemoot_web.gateway.json_reader import JsonReader
from kubemoot_web.gateway.ndjson_reader import NdjsonReader
from kubemoot_web.gateway.ollama_answers import OllamaStream, document_body, embed_body, embed_old_body
from kubemoot_web.gateway.ollama_request import KEEP_FOR_EVER, written
from kubemoot_web.gateway.openai_reader import Events, answer_reader, embedding_reader
from kubemoot_web.gateway.readers import AnswerReader
from kubemoot_web.gateway.say_openai import said_on_openai
from kubemoot_web.gateway.sse_reader import SseReader
from kubemoot_web.gateway.translate_anthropic import messages_request, tool_wishes
from kubemoot_web.gateway.translated import StreamWriter, TranslatedBody, TranslatedStream
from providers.core.types import EngineKind

CHAT_PATH: Final = "/api/chat"
GENERATE_PATH: Final = "/api/generate"
EMBED_PATH: Final = "/api/embed"

RELOADING: Final = ("num_batch", "num_gpu", "main_gpu", "num_thread", "use_mmap")
"""Options by which, besides the context, Ollama tells one copy of a model from another: it loads anew for each."""

_no_id = re.compile(r"[^A-Za-z0-9_-]").sub


@dataclass(frozen=True, slots=True, kw_only=True)
class Upstream:
    """A request to an engine, and the reader of its answer (of status 200 alone)."""

    path: str
    body: bytes = field(repr=False)
    reader: AnswerReader = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """What the chosen place says about a request. `model` is what the engine calls it."""

    engine: EngineKind
    model: str
    context_length: int | None
    frame: openai.Frame
    clock: Callable[[], float]


def upstream(
    asked: Asked,
    *,
    engine: EngineKind,
    model: str,
    context_length: int | None,
    is_context_set: bool,
    call_id: str,
    clock: Callable[[], float],
) -> Upstream:
    """Choose path, body and reader for a call that runs `model` on this engine.

    1. What the engine speaks itself goes there almost untouched, and its answer comes back so.
    2. But the OpenAI wire cannot say a context size to Ollama, which would load the model again with its own default:
       where an operator has set one, the call is said on Ollama's own wire, and the answer is said back.
    3. The Anthropic dialect is said to Ollama on its own wire.
    4. Every other engine speaks OpenAI's wire alone: a call of Ollama's dialect is said on it, and the answer is read
       as Ollama's documents, which are written to the client.
    5. So is a call of Anthropic's dialect, by way of what would be said to Ollama.

    `context_length` is the resident copy's, as far as known; `is_context_set`: an operator has set the server's.
    `clock` says when an answer was made, and how long it took where the engine does not say.

    Raises:
        BadAsk: the call asks for what this engine cannot do.
    """
    frame = openai.Frame(id=_no_id("-", call_id), created=int(clock()), model=asked.model)
    place = _Place(engine=engine, model=model, context_length=context_length, frame=frame, clock=clock)
    match asked.dialect:
        case Dialect.OPENAI if engine is not EngineKind.OLLAMA or not is_context_set:  # 1
            return _openai_untouched(asked, place)
        case Dialect.OPENAI:  # 2
            return _openai_translated(asked, place)
        case Dialect.OLLAMA if engine is EngineKind.OLLAMA:  # 1
            return _ollama_untouched(asked, place)
        case Dialect.ANTHROPIC if engine is EngineKind.OLLAMA:  # 3
            return _anthropic_translated(asked, place)
        case Dialect.OLLAMA:  # 4
            return _ollama_on_openai(asked, place)
        case Dialect.ANTHROPIC:  # 5
            return _anthropic_on_openai(asked, place)


def _openai_untouched(asked: Asked, place: _Place) -> Upstream:
    changes: dict[tuple[str, ...], Change] = {("model",): place.model}
    injects = asked.stream and not asked.wants_usage and asked.operation is not Operation.EMBED
    if injects:
        changes["stream_options", "include_usage"] = True
    shown = _shown(asked, place)
    reader: AnswerReader = JsonReader(dialect=Dialect.OPENAI, shown=shown)
    if asked.stream:
        reader = SseReader(shown=shown, drops_usage=injects)
    return Upstream(path=_path(asked), body=asked.document.edited(changes), reader=reader)


def _ollama_untouched(asked: Asked, place: _Place) -> Upstream:
    changes: dict[tuple[str, ...], Change] = {("model",): place.model, ("keep_alive",): KEEP_FOR_EVER}
    changes["options", "num_ctx"] = place.context_length or REMOVE
    changes |= {("options", name): REMOVE for name in RELOADING}
    shown = _shown(asked, place)
    reader: AnswerReader = JsonReader(dialect=Dialect.OLLAMA, shown=shown)
    if asked.stream:
        reader = NdjsonReader(shown=shown)
    return Upstream(path=_path(asked), body=asked.document.edited(changes), reader=reader)


def _openai_translated(asked: Asked, place: _Place) -> Upstream:
    frame, wants_usage = place.frame, asked.wants_usage
    model, context = place.model, place.context_length
    stream: StreamWriter
    match asked.operation:
        case Operation.CHAT:
            path, body = CHAT_PATH, translate_openai.chat_request(asked, model=model, context_length=context)
            stream, whole = openai.ChatStream(frame=frame, wants_usage=wants_usage), openai.chat_body(frame)
        case Operation.COMPLETION:
            path, body = GENERATE_PATH, translate_openai.completion_request(asked, model=model, context_length=context)
            stream, whole = openai.CompletionStream(frame=frame, wants_usage=wants_usage), openai.completion_body(frame)
        case _:
            body = translate_openai.embedding_request(asked, model=model, context_length=context)
            write = openai.embedding_body(frame, as_base64=asked.fields.get("encoding_format") == "base64")
            return Upstream(path=EMBED_PATH, body=body, reader=TranslatedBody(dialect=Dialect.OPENAI, write=write))
    reader: AnswerReader = TranslatedBody(dialect=Dialect.OPENAI, write=whole)
    if asked.stream:
        reader = TranslatedStream(dialect=Dialect.OPENAI, writer=stream)
    return Upstream(path=path, body=body, reader=reader)


def _anthropic_translated(asked: Asked, place: _Place) -> Upstream:
    request = messages_request(asked, model=place.model, context_length=place.context_length)
    reader: AnswerReader = TranslatedBody(dialect=Dialect.ANTHROPIC, write=_message_body(place))
    if asked.stream:
        reader = TranslatedStream(dialect=Dialect.ANTHROPIC, writer=_message_stream(asked, place))
    return Upstream(path=CHAT_PATH, body=written(request), reader=reader)


def _ollama_on_openai(asked: Asked, place: _Place) -> Upstream:
    operation, clock, shown = asked.operation, place.clock, asked.model
    said = said_on_openai(
        operation=operation,
        fields=asked.fields,
        engine=place.engine,
        model=place.model,
        context_length=place.context_length,
        stream=asked.stream,
    )
    reader: AnswerReader
    if operation in EMBEDDINGS:
        write = embed_body(shown) if operation is Operation.EMBED else embed_old_body
        reader = TranslatedBody(dialect=Dialect.OLLAMA, write=write, read=embedding_reader(clock))
    elif asked.stream:
        writer = OllamaStream(operation=operation, model=shown, clock=clock)
        reader = TranslatedStream(dialect=Dialect.OLLAMA, writer=writer, read=Events(clock=clock))
    else:
        write = document_body(operation=operation, model=shown, clock=clock)
        reader = TranslatedBody(dialect=Dialect.OLLAMA, write=write, read=answer_reader(clock))
    return Upstream(path=said.path, body=written(said.request), reader=reader)


def _anthropic_on_openai(asked: Asked, place: _Place) -> Upstream:
    pivot = messages_request(asked, model=place.model, context_length=place.context_length)
    said = said_on_openai(
        operation=Operation.CHAT,
        fields=pivot,
        engine=place.engine,
        model=place.model,
        context_length=place.context_length,
        stream=asked.stream,
    )
    wishes = tool_wishes(asked) if "tools" in said.request else {}
    clock = place.clock
    reader: AnswerReader = TranslatedBody(
        dialect=Dialect.ANTHROPIC, write=_message_body(place), read=answer_reader(clock)
    )
    if asked.stream:
        writer = _message_stream(asked, place)
        reader = TranslatedStream(dialect=Dialect.ANTHROPIC, writer=writer, read=Events(clock=clock))
    return Upstream(path=said.path, body=written(said.request | wishes), reader=reader)


def _message_body(place: _Place) -> Callable[[dict[str, Any]], bytes]:
    return message_body(id=place.frame.id, model=place.frame.model)


def _message_stream(asked: Asked, place: _Place) -> MessageStream:
    return MessageStream(id=place.frame.id, model=place.frame.model, tokens=estimated_tokens(asked.fields))


def _path(asked: Asked) -> str:
    return PATHS[Route(asked.dialect, asked.operation)]


def _shown(asked: Asked, place: _Place) -> str | None:
    return None if asked.model == place.model else asked.model
