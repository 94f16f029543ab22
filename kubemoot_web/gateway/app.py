"""The gateway: a small ASGI application in front of Django, for clients of OpenAI, Ollama and Anthropic.

No middleware of Django's runs for these calls, and none holds a thread: a call costs what placing it and passing its
bytes on costs. Everything else goes on to Django.
"""

import json
from dataclasses import dataclass, replace
from typing import Any

from django.conf import settings

from kubemoot_web.access.keys import key_principal, presented_key
from kubemoot_web.access.limits import capped, may_name, may_speak_for
from kubemoot_web.access.principal import Forbidden, Principal
from kubemoot_web.gateway.asking import BadAsk, estimated_tokens, read_asked
from kubemoot_web.gateway.describing import described
from kubemoot_web.gateway.dialects import ROUTES, Dialect, Operation, Route, dialect_of, tidied
from kubemoot_web.gateway.errors import INSIDE, error_answer
from kubemoot_web.gateway.hints import hint_answer
from kubemoot_web.gateway.json_edit import Document, NotAnObject
from kubemoot_web.gateway.line import BodyTooLarge, BodyTooSlow, ClientGone, Line, Receive, Scope, Send
from kubemoot_web.gateway.listing import (
    Listed,
    listed_agents,
    listed_models,
    listed_one,
    ollama_ps,
    ollama_tags,
    ollama_version,
    openai_list,
    openai_model,
)
from kubemoot_web.gateway.mishaps import note_mishap
from kubemoot_web.gateway.relaying import SOON_S, Relaying
from kubemoot_web.gateway.room import NoRoom, Room, Rooms
from kubemoot_web.gateway.wanted import (
    NoSuchModel,
    in_other_case,
    is_known,
    names_of,
    patience_of,
    wanted_of,
    wishes_of,
)
from scheduler import bootstrap
from scheduler.bootstrap import Runtime
from scheduler.core.calls import Call
from scheduler.ports import LedgerUnavailable, UnknownAgent
from scheduler.services.callers import NothingMatches, Wanted, call_of

GREETING = b"Ollama is running"
OURS = ("/v1/", "/api/")
DJANGOS = "/api/v1/"
MODELS = "/v1/models"
SHOW = "/api/show"
RESPONSES = "/v1/responses"
"""The API that some clients of OpenAI take by themselves, and leave when they are told to."""
MOST_OF_A_QUESTION = 64 * 1024
"""A question about a model is short."""
ADMIN_ONLY = frozenset({"/api/pull", "/api/create", "/api/copy", "/api/delete", "/api/push", "/api/blobs"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How large a body may be, what room all of them have, and how long a client waits before it hears a beat."""

    body_bytes: int
    rooms: Rooms
    silence_s: float


class Gateway:
    """Answers the calls of clients, and passes every other request on to Django."""

    def __init__(self, django: Any) -> None:
        """Remember where everything else goes, and read the limits: of the settings, each look costs a call dearly."""
        self._django = django
        self._limits = Limits(
            body_bytes=settings.KUBEMOOT.gateway_max_body_bytes,
            rooms=Rooms(limit=settings.KUBEMOOT.gateway_max_held_bytes),
            silence_s=settings.KUBEMOOT.gateway_hold_s,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        path = tidied(scope["path"])
        if path == "/" and not _is_browser(scope):
            await Line(scope=scope, receive=receive, send=send).answer(
                200, [(b"content-type", b"text/plain")], GREETING
            )
        elif f"{path}/".startswith(OURS) and not f"{path}/".startswith(DJANGOS):
            line = Line(scope=scope, receive=receive, send=send)
            await _answer(scope["method"], path, line, self._limits)
        else:
            await self._django(scope, receive, send)


async def _answer(method: str, path: str, line: Line, limits: Limits) -> None:
    dialect = dialect_of(path=path, headers=line.headers)
    try:
        await _serve(method, path, line, limits)
    except BadAsk as error:
        await _refuse(line, dialect, "bad-request", error.message, param=error.param)
    except _Unauthorized as error:
        await _refuse(line, dialect, "unauthorized", str(error))
    except Forbidden as error:
        await _refuse(line, dialect, "forbidden", error.message)
    except (NoSuchModel, NothingMatches, UnknownAgent) as error:
        await _refuse(line, dialect, "model-not-found", str(error), param="model")
    except BodyTooLarge as error:
        await _refuse(line, dialect, "too-large-body", str(error))
    except BodyTooSlow as error:
        await _refuse(line, dialect, "too-slow-body", str(error))
    except NoRoom as error:
        await _refuse(line, dialect, "bodies-full", str(error), retry_after_s=SOON_S)
    except LedgerUnavailable as error:
        await _refuse(line, dialect, "ledger-unavailable", str(error))
    except ClientGone:
        return
    except Exception as error:  # whatever it is, a client hears of it in its own dialect
        if line.is_begun:
            raise
        note_mishap(error)
        await _refuse(line, dialect, "internal", INSIDE)


async def _serve(method: str, path: str, line: Line, limits: Limits) -> None:
    route = ROUTES.get(path)
    if path in ADMIN_ONLY or path.startswith("/api/blobs/"):
        raise Forbidden("Models are not pulled, made or deleted through Kubemoot: do it on the server itself.")
    principal = await _principal(line)
    if route is not None and method == "POST":
        principal.require("call")
        _require_plain(line)
        room = Room(limits.rooms)
        try:
            relaying = await _call(route, principal, line, limits, room)
            if relaying is not None:
                await relaying.run()
        finally:
            room.give_back()
        return
    principal.require("read", "call")
    if path == SHOW and method == "POST":
        await _show(principal, line)
    elif method not in ("GET", "HEAD") or not await _list(path, principal, line):
        instead = " Have your client use the chat completions API." if path == RESPONSES else ""
        dialect = dialect_of(path=path, headers=line.headers)
        await _refuse(line, dialect, "not-found", f"The gateway has no {method} {path}.{instead}")


async def _call(route: Route, principal: Principal, line: Line, limits: Limits, room: Room) -> Relaying | None:
    """Make a call of a model ready to be carried, which alone holds its body from then on; None: it is answered."""
    body = await line.body(limit=limits.body_bytes, room=room)
    asked = read_asked(dialect=route.dialect, operation=route.operation, body=body)
    if route.operation is Operation.COUNT_TOKENS:
        await _json(line, {"input_tokens": estimated_tokens(asked.fields)})
        return None
    wishes = wishes_of(line.headers)
    rt = await bootstrap.runtime()
    wanted = wanted_of(caller=_caller(principal), model=asked.model, wishes=wishes, prompt_tokens=asked.prompt_tokens)
    call = await _owned_call(rt, principal, await _known(rt, wanted))
    models = [each.model for each in call.candidates]
    told = hint_answer(asked, models=models, servers=rt.ledger.replica.servers.values())
    if told is not None:
        await _json(line, told)
        return None
    asked.fold_up()
    patience = patience_of(
        wishes=wishes, own_s=call.wait_limit_s, usual_s=rt.config.wait_limit_s, silence_s=limits.silence_s
    )
    return Relaying(
        doors=rt.doors,
        line=line,
        asked=asked,
        room=room,
        call=replace(call, wait_limit_s=patience.wait_s),
        id=rt.ids(),
        wait_s=patience.wait_s,
        hold_s=patience.silence_s,
    )


def _require_plain(line: Line) -> None:
    if line.headers.get("content-encoding", "identity").strip().lower() not in ("", "identity"):
        raise BadAsk("The body is compressed (Content-Encoding): send it as it is.")


def _caller(principal: Principal) -> str:
    """Say whose call it is that names no agent."""
    return principal.agent or principal.name


async def _known(rt: Runtime, wanted: Wanted) -> Wanted:
    """See that somebody has the model that is named, asking the database only where no server has; and spell it so."""
    servers = rt.ledger.replica.servers.values()
    if wanted.model is None or is_known(model=wanted.model, registered=(), servers=servers):
        return wanted
    registered = await rt.callers.models()
    if is_known(model=wanted.model, registered=registered, servers=()):
        return wanted
    spelled = in_other_case(model=wanted.model, names=names_of(registered=registered, servers=servers))
    if spelled is None:
        raise NoSuchModel(f'model "{wanted.model}" not found: no server has it. GET /v1/models lists what there is.')
    return replace(wanted, model=spelled)


async def _owned_call(rt: Runtime, principal: Principal, wanted: Wanted) -> Call:
    """Look up what may serve a call, and make of it what the key allows. A call of no agent is its own crew's."""
    call = await call_of(catalog=rt.callers, wanted=wanted)
    principal.require_agent(agent=call.agent, crew=principal.crew if wanted.agent is None else call.crew or None)
    return capped(principal=principal, call=call)


async def _list(path: str, principal: Principal, line: Line) -> bool:
    """Answer one of the lists from this process's picture; False where the path is none."""
    rt = await bootstrap.runtime()
    if path == "/api/version":
        await _json(line, ollama_version(rt.ledger.replica.servers.values()))
    elif path in ("/api/tags", "/api/ps", MODELS):
        listed = await _listed(rt, principal)
        write = {"/api/tags": ollama_tags, "/api/ps": ollama_ps, MODELS: openai_list}[path]
        await _json(line, write(listed))
    elif path.startswith(f"{MODELS}/"):
        name = path.removeprefix(f"{MODELS}/")
        one = listed_one(name=name, listed=await _listed(rt, principal))
        if one is None:
            raise NoSuchModel(f'model "{name}" not found. GET /v1/models lists what there is.')
        await _json(line, openai_model(one))
    else:
        return False
    return True


async def _show(principal: Principal, line: Line) -> None:
    """Describe a model; of an agent, the model that it prefers."""
    try:
        fields = Document(await line.body(limit=MOST_OF_A_QUESTION)).fields
    except NotAnObject as error:
        raise BadAsk(f"the body {error}") from None
    name = fields.get("model") or fields.get("name")
    if not isinstance(name, str):
        raise BadAsk("The field model must be the name of a model.", "model")
    rt = await bootstrap.runtime()
    wanted = wanted_of(caller=_caller(principal), model=name, wishes=wishes_of(line.headers), prompt_tokens=None)
    call = await _owned_call(rt, principal, await _known(rt, wanted))
    body = await described(rt=rt, model=call.candidates[0].model)
    if body is None:
        raise NoSuchModel(f'model "{name}" not found: no server that answers now has it.')
    await line.answer(200, [(b"content-type", b"application/json")], body)


async def _listed(rt: Runtime, principal: Principal) -> tuple[Listed, ...]:
    """List what a key may call."""
    replica = rt.ledger.replica
    models = listed_models(
        servers=replica.servers,
        loads=tuple(replica.loads.values()),
        registered=await rt.callers.models(),
        footprints=replica.footprints,
    )
    mine = tuple(one for one in models if may_name(principal=principal, model=one.name))
    agents = [each.name for each in await rt.callers.agents() if may_speak_for(principal=principal, agent=each)]
    return (*mine, *listed_agents(agents))


class _Unauthorized(Exception):
    """The request carries no key that is anybody's."""


async def _principal(line: Line) -> Principal:
    key = presented_key(line.raw_headers)
    principal = None if key is None else await key_principal(key)
    if principal is None:
        raise _Unauthorized(
            "Send a key of Kubemoot as the API key of your client (Authorization: Bearer). The page Connect makes one."
        )
    return principal


async def _json(line: Line, document: Any) -> None:
    await line.answer(200, [(b"content-type", b"application/json")], json.dumps(document).encode())


async def _refuse(
    line: Line,
    dialect: Dialect,
    code: str,
    message: str,
    *,
    param: str | None = None,
    retry_after_s: float | None = None,
) -> None:
    await line.answer(*error_answer(dialect, code, message, param=param, retry_after_s=retry_after_s))


def _is_browser(scope: Scope) -> bool:
    accept = next((value for name, value in scope["headers"] if name == b"accept"), b"")
    return b"text/html" in accept or scope["method"] not in ("GET", "HEAD")
