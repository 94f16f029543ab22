"""Looks for model servers on this machine's usual ports. It registers nothing."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from providers.core.engines.base import HttpCall
from providers.core.engines.usual import USUAL, Usual
from providers.core.types import TITLES, EngineKind
from providers.ports import EngineApi

PATIENCE_S = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A model server that answered, with the models that it lists.

    `can_load`: it brings more of them into its memory when told to. `slots`: how many calls it says it takes at once.
    """

    kind: EngineKind
    title: str
    endpoint: str
    models: tuple[str, ...]
    can_load: bool = True
    slots: int | None = None


async def look_around(
    *, engine: EngineApi, ports: Mapping[str, int] | None = None, own_port: int | None = None
) -> tuple[Found, ...]:
    """Ask the usual ports of this machine, all at once. `ports` replaces the usual port of a kind."""
    wanted = [(usual, (ports or {}).get(usual.kind, usual.port)) for usual in USUAL]
    asked = await asyncio.gather(*(_ask(engine, usual, port) for usual, port in wanted if port != own_port))
    return tuple(found for found in asked if found is not None)


async def _ask(engine: EngineApi, usual: Usual, port: int) -> Found | None:
    """Ask one port; whatever is no such engine is nothing."""
    endpoint = f"http://127.0.0.1:{port}"
    try:
        told = await _read(engine, endpoint=endpoint, path=usual.path)
        if not usual.is_it(told):
            return None
        listed = usual.models_of(await _read(engine, endpoint=endpoint, path=usual.models_path))
        can_load, slots = usual.can_load(told), usual.slots_of(told)
    except (ValueError, KeyError, TypeError):
        return None
    models = tuple(dict.fromkeys(listed))
    return Found(
        kind=usual.kind,
        title=TITLES[usual.kind],
        endpoint=endpoint,
        models=models,
        can_load=can_load,
        slots=slots,
    )


async def _read(engine: EngineApi, *, endpoint: str, path: str) -> Any:
    """Read JSON.

    Raises:
        ValueError: nobody answers with JSON.
    """
    reply = await engine.send(endpoint=endpoint, call=HttpCall(method="GET", path=path, timeout_s=PATIENCE_S))
    if reply.status != 200 or reply.trouble is not None:
        raise ValueError(path)
    return json.loads(reply.body)
